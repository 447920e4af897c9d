"""Waiting for a signal: few questions, no lost arrivals, an end in any case (B11, B12)."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise

import pytest

from pytest_agentmail import world as words
from pytest_agentmail.errors import ProviderError, UnexpectedMail
from pytest_agentmail.providers.faulty import WakingFaultyProvider
from pytest_agentmail.signals.queue import SignalQueue
from pytest_agentmail.signals.signal import SignalStatus
from pytest_agentmail.stores.memory import MemoryStore

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
    assert all(later - earlier >= 2 for earlier, later in pairwise(asked_at))
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
    assert queue.wait(signal) is result
    assert result.advice.startswith(
        "Expired: 1 s have passed, but time stood still at 2026-10-21T12:00:00+00:00: something "
        "froze it, so no moment in between came. "
    )


def test_a_wait_in_a_later_life_does_not_call_its_check_the_first(asking, clock):
    queue = asking([])
    queue.check(queue.expect("verification", checks=2, within=10))
    life = asking([])
    result = life.wait(life.expect("verification"))
    assert reasons(result) == ["first_check", "scheduled"]


def test_a_notice_makes_a_provider_be_asked_that_tells_nothing_itself(asking, world, clock):
    message = world.deliver(ADA)
    queue = asking([], [], [], [], [], [message])
    signal = queue.expect("verification")
    clock.at(10, lambda: queue.notify(signal))
    result = queue.wait(signal)
    assert result.message is message
    assert clock.seconds == 10
    assert reasons(result)[-1] == "after_wakeup"


def test_hb_54_notices_come_often_and_out_of_order_and_there_is_one_find(asking, world, clock):
    """HB-54: five notices, the newer mail's first: one find, the newer mail's code."""
    older, newer = world.deliver(ADA, body="Code: 111222"), world.deliver(ADA)
    queue = asking([], [newer, older])
    signal = queue.expect("verification")
    for number in range(5):
        clock.at(0.1 + number / 100, lambda: queue.notify(signal))
    result = queue.wait(signal)
    assert (result.message, result.also_matched) == (newer, (older,))
    assert result.signal.checks == 2
    assert len(queue.provider.asked) == 2


def test_notices_keep_the_least_distance_between_two_checks(asking, clock):
    """I4: a flood of notices cannot empty the budget at once."""
    queue = asking([])
    signal = queue.expect("verification", checks=10, within=100)
    for number in range(400):
        clock.at(number / 100, lambda: queue.notify(signal))
    result = queue.wait(signal)
    times = [query.at for query in result.signal.history]
    assert all((b - a).total_seconds() >= 0.5 for a, b in pairwise(times))


def test_a_notice_before_the_wait_counts(world, clock, queue):
    signal = queue.expect("verification")
    queue.check(signal)
    queue.notify(signal)
    clock.at(2, lambda: world.deliver(ADA))
    result = queue.wait(signal)
    assert result.status is SignalStatus.FOUND


def test_expect_none_passes_when_the_time_is_over(clock, queue):
    assert queue.expect_none("second_mail", within=30).status is SignalStatus.EXPIRED
    assert clock.seconds == 30


def test_expect_none_fails_at_the_first_match(world, clock, queue):
    clock.at(3, lambda: world.deliver(ADA, subject="Confirm 483920"))
    with pytest.raises(UnexpectedMail) as caught:
        queue.expect_none("second_mail", subject="Confirm", within=30)
    assert clock.seconds == 3
    assert str(caught.value) == (
        "mail came for 'second_mail' to ada@agentmail.example that must not\n"
        "unwanted: subject contains 'Confirm'\n"
        "  - +3.000 s m1 'Confirm ••••••' from shop@app.example\n"
        "next: find out what sent it, or let it count as older with newer_than="
    )


def test_expect_none_says_nothing_where_nothing_is_known(asking):
    """I3."""
    with pytest.raises(ProviderError, match="the mail provider failed with 503"):
        asking(ProviderError("503")).expect_none("second_mail", within=5)


def test_mail_after_the_end_is_late_and_changes_nothing(world, clock, queue):
    signal = queue.expect("verification", subject="Confirm", within=10)
    assert queue.late(signal) == []
    ended = queue.wait(signal)
    late = world.deliver(ADA)
    world.deliver(ADA, subject="Welcome")
    assert queue.late(signal) == [late]
    assert queue.check(signal) is ended


@waits
def test_a_look_that_missed_known_mail_is_repeated_on_schedule(world, clock, queue, wait):
    """B12: an index that is behind; the answer is not put off to the deadline."""
    provider = WakingFaultyProvider(queue.provider, clock, [words.provider_is_stale(times=3)])
    queue = SignalQueue(provider, MemoryStore(), clock, run_id="run-one", mailbox=ADA)
    clock.at(1, lambda: world.deliver(ADA))
    result = wait(queue, queue.expect("verification"))
    assert result.status is SignalStatus.FOUND
    assert clock.seconds < 10


@waits
def test_an_address_that_is_not_ours_ends_in_a_provider_error(queue, wait):
    result = wait(queue, queue.expect("verification", mailbox="x@else.example"))
    assert (result.status, result.signal.last_error) == ("provider_error", "no_such_mailbox")


def test_a_task_asks_a_slow_provider_from_a_thread(asking, clock):
    queue = asking([])
    threads = []
    search = queue.provider.search
    queue.provider.search = lambda **query: (
        threads.append(threading.current_thread()),
        search(**query),
    )[1]
    wait_in_a_task(queue, queue.expect("verification", within=1))
    assert threading.main_thread() not in threads
    wait(queue, queue.expect("other", within=1))
    assert threads[-1] is threading.main_thread()
