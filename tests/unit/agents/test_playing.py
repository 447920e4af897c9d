"""Histories played in a run, under its virtual clock."""

from __future__ import annotations

import pytest

from pytest_agentmail import world
from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.agents.playing import Playing
from pytest_agentmail.clock.agenda import Agenda, Event
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


def test_a_history_played_after_the_first_signal_begins_at_once(mail_world):
    with mail_world.open_run(clock="virtual") as run:
        signal = run.signals.expect("verification", subject="Confirm")
        run.clock.sleep(7)
        start = run.clock.now()
        run.play(MailHistory(world.mail_arrives(after=45)))
        result = run.drive(lambda run: run.signals.wait(signal)).result
        assert (result.message.received_at - start).total_seconds() == 45


def test_a_second_history_adds_to_the_first(mail_world):
    with mail_world.open_run(MailHistory(world.mail_arrives(after=30))) as run:
        start = run.clock.now()
        run.play(MailHistory(world.mail_arrives(after=10)))
        run.signals.expect("verification")
        run.clock.sleep(1)
        run.play(MailHistory(world.mail_arrives(after=1)))
        run.clock.sleep(60)
        times = [(m.received_at - start).total_seconds() for m in run.mailbox.messages]
        assert times == [2, 10, 30]
        assert len({m.message_id for m in run.mailbox.messages}) == 3


def test_an_event_that_is_under_way_when_it_is_planned_anew_brings_its_mail_once():
    arrived, planned = [], []

    class Clock:
        def call_later(self, seconds, callback):
            planned.append(callback)
            return Event(0, callback, Agenda())

    playing = Playing(Clock(), lambda number, arrival: arrived.append(number))
    playing.add([world.mail_arrives(), world.mail_arrives(after=5)])
    playing.on_signal()
    playing.on_request()
    for callback in planned:  # those of the signal, which were cancelled too late, first
        callback()
    assert arrived == [1, 2]


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
