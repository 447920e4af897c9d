"""Waiting for a signal: few questions, no lost arrivals, an end in any case (B11, B12)."""

from __future__ import annotations

import asyncio

import pytest

from pytest_agentmail.errors import ProviderError
from pytest_agentmail.signals.signal import SignalStatus

ADA = "ada@agentmail.example"


def wait(queue, signal):
    return queue.wait(signal)


def wait_in_a_task(queue, signal):
    return asyncio.run(queue.wait_async(signal))


waits = pytest.mark.parametrize("wait", [wait, wait_in_a_task])


def reasons(result):
    return [query.reason for query in result.signal.history]


@waits
def test_it_sleeps_until_matching_mail_comes(world, clock, queue, wait):
    signal = queue.expect("verification", subject="Confirm")
    clock.at(20, lambda: world.deliver(ADA, subject="News"))
    clock.at(45, lambda: world.deliver(ADA))
    result = wait(queue, signal)
    assert (result.status, clock.seconds) == (SignalStatus.FOUND, 45)
    assert reasons(result) == ["first_check", "after_wakeup"]


@waits
def test_without_mail_it_looks_at_both_ends_of_its_time(clock, queue, wait):
    result = wait(queue, queue.expect("verification", within=120))
    assert (result.status, result.cause, clock.seconds) == ("expired", "deadline", 120)
    assert reasons(result) == ["first_check", "scheduled"]


def test_mail_that_comes_at_the_deadline_is_found(world, clock, queue):
    signal = queue.expect("verification", within=120)
    clock.at(120, lambda: world.deliver(ADA))
    assert queue.wait(signal).status is SignalStatus.FOUND


def test_mail_between_looking_and_sleeping_is_not_lost(world, clock, queue):
    signal = queue.expect("verification")
    look = queue.provider.search

    def look_then_deliver(**query):
        found = look(**query)
        queue.provider.search = look
        world.deliver(ADA)
        return found

    queue.provider.search = look_then_deliver
    assert queue.wait(signal).status is SignalStatus.FOUND
    assert clock.seconds == 0


def test_a_provider_that_tells_nothing_is_asked_again_with_pauses(asking, world, clock):
    message = world.deliver(ADA)
    queue = asking([], [], [], [message])
    result = queue.wait(queue.expect("verification"))
    assert result.message is message
    assert reasons(result) == ["first_check", "scheduled", "scheduled", "scheduled"]
    assert 3.5 <= clock.seconds < 3.5 * 1.1


def test_the_last_check_is_kept_for_the_deadline(asking, clock):
    queue = asking([])
    result = queue.wait(queue.expect("verification", checks=4, within=300))
    assert (result.cause, result.signal.checks, clock.seconds) == ("deadline", 4, 300)


def test_hb_48_a_provider_that_asks_for_rest_is_left_alone(asking, world, clock):
    """HB-48: 429 with Retry-After three times, then the mail; no call within the rest."""
    asked_at = []
    message = world.deliver(ADA)
    queue = asking(*[ProviderError("429", retry_after=2)] * 3, [message])
    search = queue.provider.search

    def timed(**query):
        asked_at.append(clock.seconds)
        return search(**query)

    queue.provider.search = timed
    result = queue.wait(queue.expect("verification"))
    assert (result.status, len(asked_at)) == (SignalStatus.FOUND, 4)
    assert all(later - earlier >= 2 for earlier, later in zip(asked_at, asked_at[1:], strict=False))
    assert reasons(result)[1:] == ["error_recovery"] * 3


def test_hb_48_a_provider_that_never_recovers_is_not_called_expired(asking):
    """HB-48; I3."""
    queue = asking(ProviderError("429", retry_after=2))
    result = queue.wait(queue.expect("verification"))
    assert (result.status, result.final) == (SignalStatus.PROVIDER_ERROR, True)
    assert result.signal.checks <= 10


def test_waiting_again_gives_the_same_answer_at_once(world, clock, queue):
    signal = queue.expect("verification")
    world.deliver(ADA)
    first = queue.wait(signal)
    assert queue.wait(signal) is first
    assert clock.seconds == 0


def test_a_clock_that_stands_still_ends_the_wait_all_the_same(clock, queue):
    """HB-62: frozen time is no reason to hang."""
    signal = queue.expect("verification", within=1)
    stopped = clock.now()
    clock.now = lambda: stopped
    result = queue.wait(signal)
    assert (result.status, clock.seconds) == (SignalStatus.EXPIRED, 1)
    assert queue.close(signal) is result


def test_a_wait_in_a_later_life_does_not_call_its_check_the_first(asking, clock):
    queue = asking([])
    queue.check(queue.expect("verification", checks=2, within=10))
    life = asking([])
    result = life.wait(life.expect("verification"))
    assert reasons(result) == ["first_check", "scheduled"]
