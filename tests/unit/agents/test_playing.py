"""Histories played in a run, under its virtual clock."""

from __future__ import annotations

import pytest

from pytest_agentmail import world
from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.errors import SettingsError
from pytest_agentmail.scenarios.history import MailHistory


@pytest.fixture(scope="module")
def mail_world():
    with MailWorld() as mail_world:
        yield mail_world


def waiting(run):
    return run.signals.wait(run.signals.expect("verification", subject="Confirm"))


def requesting(run):
    """Expects, thinks for a while, and asks for the mail then."""
    request = run.tools.wrap(lambda: None, name="request", effect=True)
    signal = run.signals.expect("verification", subject="Confirm")
    run.clock.sleep(10)
    request()
    return run.signals.wait(signal)


def test_times_count_from_the_first_signal(mail_world):
    with mail_world.open_run(MailHistory(world.mail_arrives(after=45, code="118273"))) as run:
        start = run.clock.now()
        result = run.drive(waiting).result
        assert (result.message.code, result.signal.checks) == ("118273", 2)
        assert (result.message.received_at - start).total_seconds() == 45


def test_times_count_from_the_first_request_where_there_is_one(mail_world):
    with mail_world.open_run(MailHistory(world.mail_arrives(after=45))) as run:
        start = run.clock.now()
        result = run.drive(requesting).result
        assert (result.message.received_at - start).total_seconds() == 55


def test_what_has_arrived_before_the_request_does_not_arrive_again(mail_world):
    history = MailHistory(world.mail_arrives(after=5), world.mail_arrives(after=30))
    with mail_world.open_run(history) as run:
        start = run.clock.now()
        run.drive(requesting)
        run.clock.sleep(100)
        run.drive(requesting)
        run.clock.sleep(100)
        times = [(m.received_at - start).total_seconds() for m in run.mailbox.messages]
        assert times == [5, 40]


def test_mail_the_world_wrote_was_sent_by_nobody(mail_world):
    with mail_world.open_run(MailHistory(world.mail_arrives())) as run:
        report = run.drive(waiting)
        assert (report.sent, len(report.evidence)) == ([], 1)


@pytest.mark.parametrize("origin", ["other", "earlier"])
def test_mail_of_another_run_is_foreign(mail_world, origin):
    """I2."""
    history = MailHistory(
        world.mail_arrives(after=1, run=origin), world.mail_arrives(after=2, run=origin)
    )
    with mail_world.open_run(history, within=10) as run:
        result = run.drive(waiting).result
        assert (result.status, result.discarded) == ("expired", 2)


def test_faults_of_a_history_strike(mail_world):
    history = MailHistory(
        world.mail_arrives(after=1),
        world.mail_delayed(20),
        world.provider_fails("503", times=1),
    )
    with mail_world.open_run(history) as run:
        start = run.clock.now()
        result = run.drive(waiting).result
        assert result.status == "found"
        assert (run.clock.now() - start).total_seconds() == 21


def test_what_is_still_to_come_when_the_run_ends_does_not_come(mail_world):
    with mail_world.open_run(MailHistory(world.mail_arrives(after=5))) as run:
        run.signals.expect("verification")
    run.clock.sleep(10)
    assert run.mailbox.messages == []


def test_a_link_and_a_message_id_are_written_as_told(mail_world):
    history = MailHistory(
        world.mail_arrives(code=None, body="Hello.", link="https://app.example/c?t=1"),
        world.mail_arrives(message_id="<same@app.example>"),
    )
    with mail_world.open_run(history) as run:
        run.signals.expect("verification")
        run.clock.sleep(1)
        first, second = run.mailbox.messages
        assert first.link == "https://app.example/c?t=1"
        assert second.message_id == "<same@app.example>"


def test_arrivals_need_the_virtual_clock(mail_world):
    with (
        pytest.raises(SettingsError, match=r"MailHistory\(world.mail_arrives\(\)\) needs the"),
        mail_world.open_run(MailHistory(world.mail_arrives()), clock="real"),
    ):
        pass  # pragma: no cover
    with mail_world.open_run(MailHistory(world.mail_dropped()), clock="real") as run:
        run._mail.faults.next_fate()
