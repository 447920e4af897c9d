"""A run's ledger: opened when it is used, told of mailboxes and lives, read by reports."""

from __future__ import annotations

import re
import shutil
import smtplib

import pytest

from pytest_agentmail import world
from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.errors import BudgetExceeded, EffectUnknown, SettingsError, StoreUnavailable
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.runs.metrics import total
from pytest_agentmail.settings import Settings
from pytest_agentmail.stores.opening import open_store

MAIL = {"subject": "Confirm"}


@pytest.fixture(scope="module")
def mail_world():
    with MailWorld(Settings(clock="virtual")) as world:
        yield world


@pytest.fixture
def run(mail_world):
    with mail_world.open_run() as run:
        yield run


def send(run, code="483920", subject="Confirm your account", to=None):
    to = to or run.mailbox.address
    with smtplib.SMTP(run.sink.host, run.sink.port) as client:
        text = f"From: shop@app.example\r\nTo: {to}\r\nSubject: {subject}\r\n\r\nYour code is {code}, welcome aboard.\r\n"
        client.sendmail("shop@app.example", [to], text)


def send_foreign(run, other):
    """Comes to `run`, and is addressed to `other`."""
    text = f"From: shop@app.example\r\nTo: {other.mailbox.address}\r\nSubject: Confirm\r\n\r\n111111\r\n"
    with smtplib.SMTP(run.sink.host, run.sink.port) as client:
        client.sendmail("shop@app.example", [run.mailbox.address], text)


def agent(run, *, upto="verified", request=None):
    """Goes on from where the ledger stands, and stops at the state `upto`."""
    signal = run.signals.expect("verification_email", subject="Confirm")
    ask = run.ledger.once(request or (lambda: send(run)), name="request", sends_mail=MAIL)
    snapshot = run.ledger.snapshot
    while snapshot.verification != upto and snapshot.next_action != "finish":
        match snapshot.next_action:
            case "request_verification":
                ask()
                run.ledger.append("verification_requested")
            case "reconcile":
                ask()
            case "start_waiting":
                run.ledger.append("wait_started", signal_id=signal.signal_id)
            case "poll_inbox":
                run.ledger.record(run.signals.check(signal))
            case "validate_evidence":
                run.ledger.append("code_verified")
        snapshot = run.ledger.snapshot
    return snapshot.verification


# The ledger of a run.


def test_it_is_one_and_knows_the_mailbox(run):
    assert run.ledger is run.ledger
    snapshot = run.ledger.snapshot
    assert (snapshot.run_id, snapshot.recipient) == (run.run_id, run.mailbox.address)
    assert snapshot.lease_expires_at == run.mailbox.lease_expires_at
    assert snapshot.next_action == "request_verification"


def test_nothing_is_kept_of_a_run_that_does_not_use_it(mail_world):
    with mail_world.open_run() as run:
        assert (run.report.snapshot, run.report.metrics) == (None, None)
    assert run.report.metrics is None
    assert run.run_id not in {row.run_id for row in run._books._store.runs()}


def test_signals_and_ledger_are_in_one_store(run):
    run.signals.check(run.signals.expect("verification_email", checks=3))
    assert (run.ledger.snapshot.attempt, run.ledger.snapshot.attempts_left) == (1, 2)


def test_a_further_mailbox_is_the_runs_when_the_first_one_is_over(run):
    first = run.ledger.snapshot.recipient
    run.lease()
    assert run.ledger.snapshot.recipient == first
    run.clock.advance(4000)
    second = run.lease()
    assert run.ledger.snapshot.recipient == second.address
    assert [event.type for event in run.ledger.events()] == [
        "mailbox_leased", "lease_expired", "mailbox_leased",
    ]  # fmt: skip


def test_mailboxes_leased_before_it_was_opened_are_told_in_order(run):
    run.lease()
    assert run.ledger.snapshot.recipient == run.mailbox.address


def test_a_mailbox_of_another_run_is_not_told(run):
    run.ledger.append("lease_expired")
    run.lease(owned_by="run-other")
    assert run.ledger.version == 2


# Lives.


def test_each_further_drive_is_a_life_and_one_that_captured_the_ledger_writes_it_too(run):
    captured = run.ledger
    run.drive(agent, upto="requested")
    run.drive(lambda _: captured.append("decision_confirmed", prompt_version="7"))
    assert [event.life for event in captured.events()] == [1, 1, 2]
    assert captured.recovery.passed
    assert str(captured.rewind).endswith(
        "1 mails were accepted, and the ledger knows of 1 that were meant to be sent"
    )


def test_mail_that_is_foreign_is_no_send_of_the_run(mail_world, run):
    """I7: it neither answers the probe nor looks like a rewind."""
    with mail_world.open_run() as other:
        send_foreign(run, other)
        run.drive(agent)
    assert not run.ledger.rewind.rewound
    assert len(run.sent) == 2


def test_the_mail_log_is_the_probe_of_an_effect_that_was_cut_off(run):
    """I7: the mail is there, so it is not sent again."""

    class Cut(BaseException):
        pass

    def request():
        send(run)
        raise Cut

    with pytest.raises(Cut):
        run.drive(agent, request=request)
    report = run.drive(agent)
    assert report.snapshot.verification == "verified"
    assert len(report.sent) == 1


def test_a_mail_that_was_put_off_is_unknown_and_not_sent_again(run):
    run.mail_fault(world.smtp_refuses(451, at="RCPT"))
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        run.drive(agent)
    # The sink may not have noticed yet that the client has left; either is a reason not to send.
    unknown = "the mail was put off with 451 and may come again|a connection that may bring the mail is open"
    with pytest.raises(EffectUnknown, match=unknown):
        run.ledger.once(lambda: send(run), name="request", sends_mail=MAIL)()
    assert run.sent == []


def test_a_run_with_too_few_checks_is_not_resumed_but_reported(mail_world):
    """C11."""
    with mail_world.open_run(checks=2, resume_minimum=2, raises=False) as run:
        run.drive(agent, upto="waiting")
        run.signals.check(run.signals.all()[0])
        report = run.drive(agent)
    assert (report.finished, report.lives) == (False, 1)
    assert type(report.error) is BudgetExceeded
    assert str(report.error) == (
        f"run {run.run_id!r} is not resumed: 1 checks are left, and it takes 2; it stands at "
        f"waiting after 1 of 2 checks, last action wait_started, next would be poll_inbox"
    )


def test_a_ledger_that_was_set_back_is_found_out_before_anything_is_sent(mail_world, tmp_path):
    """I6, I7: the file is put back to before the request."""
    path, kept = tmp_path / "runs.db", tmp_path / "kept.db"
    with mail_world.open_run(store=f"sqlite:///{path}") as run:
        assert run.ledger.version == 1
        run.ledger.store.close()
        shutil.copy(path, kept)
        run.drive(agent, upto="requested")
        run.ledger.store.close()
        shutil.copy(kept, path)

        report = run.drive(agent)

        assert str(run.ledger.rewind) == (
            f"the ledger of run {run.run_id!r} was set back: the mail server accepted 1 of its "
            f"mails, the ledger knows of 0; effects it does not know are reconciled before "
            f"anything is sent"
        )
        assert report.snapshot.verification == "verified"
        assert len(report.sent) == 1


# Figures.


def test_the_figures_of_a_run_and_of_all_of_them(mail_world):
    """A11."""
    mail_world.take_figures()
    with mail_world.open_run() as run:
        with mail_world.open_run() as other:
            send_foreign(run, other)
            run.drive(agent, upto="requested")
            report = run.drive(agent)
        assert (report.metrics.resumes, report.metrics.resumes_succeeded) == (1, 1)
        assert (report.metrics.queries, report.metrics.discarded) == (1, 1)
        assert len(report.metrics.waits) == 1
    assert run.report.metrics == report.metrics
    [figures] = mail_world.take_figures()
    assert figures == report.metrics
    assert mail_world.take_figures() == []
    assert total([figures, figures]).discarded == 2


def test_a_ledger_that_another_process_keeps_is_read(run):
    """As an agent does that opens the store by itself."""
    ledger = Ledger.open(run._books._store, run_id=run.run_id, clock=run.clock)
    ledger.append("decision_confirmed", prompt_version="7")
    assert run.report.snapshot.context.prompt_version == "7"
    assert ledger.append("decision_confirmed", prompt_version="8").version == 2


# Stores.


def test_a_store_is_opened_once_and_closed_with_the_world(tmp_path):
    url = f"sqlite:///{tmp_path}/runs.db"
    with MailWorld(Settings(store=url)) as mail_world:
        with mail_world.open_run() as one, mail_world.open_run() as two:
            assert one.ledger.store is two.ledger.store
            assert (tmp_path / "runs.db-wal").exists()
        with mail_world.open_run(store="memory") as three:
            assert three.ledger.store is not one.ledger.store
    assert [path.name for path in tmp_path.iterdir()] == ["runs.db"]
    store = open_store(url)
    assert {row.run_id for row in store.runs()} == {one.run_id, two.run_id}
    store.close()


def test_sqlite_alone_is_a_file_in_a_folder_that_goes_away():
    with MailWorld(Settings(store="sqlite")) as mail_world, mail_world.open_run() as run:
        path = run.ledger.store.path
        assert path.exists()
    assert not path.parent.exists()


def test_postgresql(postgres_url, mail_world):
    with mail_world.open_run(store=postgres_url) as run:
        run.drive(agent, upto="requested")
        assert run.drive(agent).snapshot.verification == "verified"


def test_a_store_that_cannot_be_opened_is_named(mail_world, tmp_path):
    (tmp_path / "runs.db").write_text("no database")
    with (
        pytest.raises(Exception, match=re.escape(f"the store {tmp_path}/runs.db cannot be read")),
        mail_world.open_run(store=f"sqlite:///{tmp_path}/runs.db"),
    ):
        pass
    with (
        pytest.raises(
            SettingsError, match=re.escape(f"the store {tmp_path}/none/runs.db cannot be made")
        ),
        mail_world.open_run(store=f"sqlite:///{tmp_path}/none/runs.db"),
    ):
        pass
    with (
        pytest.raises(
            StoreUnavailable, match="PostgreSQL at postgresql://ada@/app cannot be reached"
        ),
        mail_world.open_run(store=f"postgresql://ada:s3cret@/app?host={tmp_path}"),
    ):
        pass


def test_a_store_that_breaks_down_at_the_end_does_not_keep_the_address(mail_world, tmp_path):
    path = tmp_path / "runs.db"
    opened = mail_world.new_run(store=f"sqlite:///{path}")
    run = opened.__enter__()
    run.ledger.store.close()
    path.rename(tmp_path / "away.db")
    with pytest.raises(StoreUnavailable):
        opened.__exit__(None, None, None)
    with mail_world.open_run() as other:
        assert other.lease(run.mailbox.address).address == run.mailbox.address
