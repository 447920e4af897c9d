"""What the sink saw of a run: accepted, refused, under way; over real SMTP."""

from __future__ import annotations

import smtplib

import pytest

from pytest_agentmail import world
from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.mail.acceptance import AcceptanceLog, Underway


@pytest.fixture(scope="module")
def mail_world():
    with MailWorld() as mail_world:
        yield mail_world


@pytest.fixture
def run(mail_world):
    with mail_world.new_run() as run:
        yield run


@pytest.fixture
def other(mail_world):
    with mail_world.new_run() as run:
        yield run


def log_of(run):
    return run.ledger.mail_log


def mail(subject="Confirm your account", code="483920"):
    return f"From: shop@app.example\r\nSubject: {subject}\r\n\r\nCode: {code}\r\n"


def send(run, *to, **kwargs):
    with smtplib.SMTP(run.sink.host, run.sink.port) as client:
        client.sendmail("shop@app.example", to or [run.mailbox.address], mail(**kwargs))


def test_what_was_accepted_by_criteria(run, other):
    send(run, subject="Welcome")
    send(run)
    send(other)
    [accepted] = log_of(run).accepted(run.run_id, {"subject": "confirm"})
    assert accepted == (run.sent[1].content.fingerprint, run.sent[1].received_at)
    assert len(log_of(run).accepted(run.run_id, {})) == 2


def test_a_criterion_that_is_none_is_an_error(run):
    with pytest.raises(TypeError, match="colour"):
        log_of(run).accepted(run.run_id, {"colour": "blue"})


def test_lost_mail_was_accepted_and_a_copy_is_the_same_mail(run):
    run.mail_fault(world.mail_dropped(1), world.mail_duplicated(2, apart=0))
    for _ in range(3):
        send(run)
    accepted = log_of(run).accepted(run.run_id, {})
    assert len(accepted) == 3
    assert len({each.content for each in accepted}) == 1


def test_the_copies_of_a_later_delivery_do_not_make_two_sends(run):
    run.mail_fault(world.mail_duplicated(3, apart=0))
    send(run)
    assert len(run.mailbox.messages) == 3
    assert len(log_of(run).accepted(run.run_id, {})) == 1


def test_a_refusal_is_noted_for_its_run_by_the_clock_of_that_run(mail_world, other):
    with mail_world.new_run(clock="virtual") as run:
        run.mail_fault(world.smtp_refuses(451, at="RCPT"), world.smtp_refuses(550, at="DATA"))
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            send(run)
        with pytest.raises(smtplib.SMTPDataError):
            send(run)
        at = run.clock.now()
        assert log_of(run).refusals(run.run_id) == ((451, at), (550, at))
        assert log_of(other).refusals(other.run_id) == ()


def test_a_refusal_before_anybody_was_named_is_of_the_run_whose_sink_it_is(mail_world, other):
    with mail_world.new_run(own_sink=True) as run:
        run.mail_fault(world.smtp_refuses(451, at="MAIL"))
        with pytest.raises(smtplib.SMTPSenderRefused):
            send(run)
        assert [each.code for each in log_of(run).refusals(run.run_id)] == [451]
        assert log_of(other).refusals(other.run_id) == ()


def test_a_refusal_for_somebody_unknown_is_nobodys(run):
    with smtplib.SMTP(run.sink.host, run.sink.port) as client:
        client.ehlo()
        assert client.docmd("FROBNICATE")[0] == 500
    assert log_of(run).refusals(run.run_id) == ()


def test_a_client_that_has_not_named_anybody_may_send_to_every_run(run, other):
    with smtplib.SMTP(run.sink.host, run.sink.port) as client:
        client.ehlo()
        assert connections(run, other) == (1, 1)
        client.mail("shop@app.example")
        assert connections(run, other) == (1, 1)
        client.rcpt(run.mailbox.address)
        assert connections(run, other) == (1, 0)
        client.rcpt(other.mailbox.address)
        assert connections(run, other) == (1, 1)
        client.data(mail())
        client.noop()  # which is answered once the mail has been announced
        assert connections(run, other) == (0, 0)
        client.mail("shop@app.example")
        client.rcpt("nobody@elsewhere.example")
        assert connections(run, other) == (0, 0)


def test_a_client_of_a_sink_of_its_own_sends_to_that_run(mail_world, other):
    with (
        mail_world.new_run(own_sink=True) as run,
        smtplib.SMTP(run.sink.host, run.sink.port) as client,
    ):
        client.ehlo()
        assert connections(run, other) == (1, 0)


def connections(*runs):
    return tuple(log_of(run).open_connections(run.run_id) for run in runs)


def test_a_run_that_has_ended_has_no_refusals(fresh_world):
    small = fresh_world()
    under_way = Underway(small.post_office)
    log = AcceptanceLog(small.post_office, under_way)
    small.lease("ada")
    under_way.addresses("client", "ada@agentmail.example")
    under_way.refuses("client", 451)
    assert len(log.refusals("run-one")) == 1
    small.post_office.release(small.post_office.mailboxes("run-one"), test="test")
    under_way.refuses("client", 451)
    assert log.refusals("run-one") == ()


def test_said_again_that_it_rests_means_nothing(fresh_world):
    small = fresh_world()
    under_way = Underway(small.post_office)
    under_way.connects("client")
    under_way.rests("client")
    under_way.rests("client")
    assert under_way.count("run-one") == 0
