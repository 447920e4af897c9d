"""Minutes of waiting, in milliseconds: every wait of the agents takes virtual time."""

import asyncio

import pytest

from pytest_agentmail import MailHistory, world

from .agent import GaveUpError, agent, agent_async
from .polling import polls, polls_async

pytestmark = pytest.mark.agentmail(clock="virtual")

each_agent = pytest.mark.parametrize("agent", [agent, agent_async])
each_poller = pytest.mark.parametrize("agent", [polls, polls_async])


# Agents that wait for a signal.


@each_agent
@pytest.mark.mail_fault(world.mail_delayed(119))
def test_mail_that_comes_after_119_seconds_is_in_time(agent_run, request_mail, agent):
    report = agent_run.drive(agent, request_mail)

    assert report.result == "100001"
    assert agent_run.clock.monotonic() == 119


@each_agent
@pytest.mark.mail_fault(world.mail_dropped(1))
def test_after_two_minutes_the_agent_asks_once_more(agent_run, request_mail, agent):
    report = agent_run.drive(agent, request_mail)

    assert report.result == "100002"
    assert [signal.status for signal in report.signals] == ["expired", "found"]
    assert agent_run.clock.monotonic() == 120


@each_agent
@pytest.mark.mail_fault(world.mail_dropped(2))
def test_after_four_minutes_the_agent_gives_up(agent_run, request_mail, agent):
    with pytest.raises(GaveUpError, match=r"^Expired: 120 s have passed\. Something was done"):
        agent_run.drive(agent, request_mail)

    assert agent_run.clock.monotonic() == 240
    assert agent_run.report.calls["request_mail"].completed == 2


@each_agent
@pytest.mark.mail_fault(world.mail_delayed(5))
@pytest.mark.provider_fault(world.provider_fails("503", for_=60))
def test_a_provider_that_is_down_for_a_minute_is_asked_again(agent_run, request_mail, agent):
    report = agent_run.drive(agent, request_mail)

    assert report.result == "100001"
    assert len(report.sent) == 1
    [signal] = report.signals
    assert [query.code for query in signal.history][-2:] == ["503", None]


@each_agent
@pytest.mark.provider_fault(world.provider_fails("503", for_=600))
def test_a_provider_that_stays_down_is_no_reason_to_send_again(agent_run, request_mail, agent):
    with pytest.raises(GaveUpError, match=r"^The provider failed with 503 .* do not have the mail"):
        agent_run.drive(agent, request_mail)

    assert len(agent_run.sent) == 1


@each_agent
@pytest.mark.provider_fault(world.provider_rate_limits(retry_after=45))
def test_retry_after_is_obeyed(agent_run, request_mail, agent):
    report = agent_run.drive(agent, request_mail)

    assert report.result == "100001"
    first, second = report.signals[0].history
    assert first.code == "429"
    assert (second.at - first.at).total_seconds() == 45


# Agents with a loop of their own: `time.sleep`, `asyncio.sleep` and asyncio's timeouts.


@each_poller
@pytest.mark.mail_fault(world.mail_delayed(101))
def test_a_poller_finds_the_mail_at_its_next_look(agent_run, request_mail, agent):
    assert agent_run.drive(agent, request_mail).result == "100001"
    assert agent_run.clock.monotonic() == 105


@each_poller
@pytest.mark.mail_fault(world.mail_delayed(121))
def test_a_poller_gives_up_after_two_minutes(agent_run, request_mail, agent):
    with pytest.raises(TimeoutError):
        agent_run.drive(agent, request_mail)
    assert agent_run.clock.monotonic() == 120


@each_poller
@pytest.mark.provider_fault(world.provider_rate_limits(retry_after=45))
def test_a_poller_obeys_retry_after(agent_run, request_mail, agent):
    assert agent_run.drive(agent, request_mail).result == "100001"
    assert agent_run.clock.monotonic() == 45


# `async def` tests, whose event loop follows the run's clock (see conftest.py).


@pytest.mark.asyncio
@pytest.mark.mail_fault(world.mail_delayed(119))
async def test_a_whole_async_test_is_virtual(agent_run, request_mail):
    waiting = asyncio.create_task(agent_async(agent_run, request_mail))

    await asyncio.sleep(118)
    assert not waiting.done()
    await asyncio.sleep(1)

    assert await waiting == "100001"


@pytest.mark.asyncio
@pytest.mark.mail_fault(world.mail_delayed(119))
async def test_an_async_test_drives_a_blocking_agent(agent_run, request_mail):
    report = await agent_run.drive_async(agent, request_mail)

    assert report.result == "100001"
    assert agent_run.clock.monotonic() == 119


# Without an app: the world itself writes the mail.


def test_mail_that_comes_too_late_is_noted_and_changes_nothing(mail_world):
    history = MailHistory(world.mail_arrives(after=121, code="777777"))
    with mail_world.open_run(history) as run:
        expected = run.signals.expect("verification_email", within=120)
        assert run.signals.wait(expected).status == "expired"

        run.clock.advance(1)

        [late] = run.signals.late(expected)
        assert late.code == "777777"
        assert run.signals.check(expected).status == "expired"
