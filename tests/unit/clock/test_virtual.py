"""A clock on which waiting costs nothing."""

from __future__ import annotations

import math
import re
import threading
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta, timezone

import pytest

from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.virtual import VirtualClock
from pytest_agentmail.clock.wall import WALL
from pytest_agentmail.errors import ClockError

START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock():
    return VirtualClock(START)


def started(*bodies):
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    return threads


def join(threads):
    for thread in threads:
        thread.join()


def test_it_starts_where_it_is_told_in_utc():
    paris = timezone(timedelta(hours=1))
    assert VirtualClock(datetime(2031, 1, 1, 1, tzinfo=paris)).now() == datetime(
        2031, 1, 1, tzinfo=UTC
    )
    assert VirtualClock().monotonic() == 0


@pytest.mark.parametrize("ask", [VirtualClock, lambda when: VirtualClock().call_at(when, int)])
def test_a_naive_time_is_refused(ask):
    with pytest.raises(ClockError) as failure:
        ask(datetime(2030, 1, 1))
    assert str(failure.value) == (
        "a time on a virtual clock must be aware, but datetime.datetime(2030, 1, 1, 0, 0) has no"
        " time zone; add tzinfo=datetime.UTC"
    )


@pytest.mark.parametrize("name", ["settle_io", "idle_after", "held_limit", "max_jumps"])
@pytest.mark.parametrize("value", [-1, math.nan])
def test_a_limit_below_nothing_is_refused(name, value):
    with pytest.raises(ClockError) as failure:
        VirtualClock(**{name: value})
    assert str(failure.value) == (
        f"{name} of a virtual clock must be 0 or more, but it is {value!r}"
    )


def test_limits_may_be_infinite():
    clock = VirtualClock(idle_after=math.inf, held_limit=math.inf)
    parked, wakeup = clock.hold("not there yet"), Future()
    thread = threading.Thread(target=lambda: [parked.release(), ring(wakeup)])
    thread.start()
    assert clock.wait(wakeup, math.inf) is True
    thread.join()


def test_sleeping_takes_the_time_it_says_and_no_real_time(clock):
    before = WALL.monotonic()
    clock.sleep(86_400)
    assert clock.now() == START + timedelta(days=1)
    assert clock.monotonic() == 86_400
    assert clock.microseconds() == 86_400_000_000
    assert clock.timestamp() == (START + timedelta(days=1)).timestamp()
    assert WALL.monotonic() - before < 60


@pytest.mark.parametrize("seconds", [0, -1])
def test_no_time_and_less_is_no_sleep(clock, seconds):
    clock.sleep(seconds)
    assert clock.microseconds() == 0


def test_every_sleep_moves_on_however_short(clock):
    clock.sleep(1e-9)
    assert clock.microseconds() == 1


def test_sums_of_sleeps_are_exact(clock):
    for _ in range(1_000):
        clock.sleep(0.1)
    assert clock.microseconds() == 100_000_000


def test_nan_is_no_time(clock):
    with pytest.raises(ClockError, match="must be a number, but it is nan"):
        clock.wait(Future(), math.nan)


def test_a_wait_that_nothing_ends_takes_its_whole_time(clock):
    assert clock.wait(Future(), 120) is False
    assert clock.monotonic() == 120


def test_a_wait_ends_with_its_wakeup(clock):
    wakeup = Future()
    clock.call_later(119, lambda: ring(wakeup))
    assert clock.wait(wakeup, 120) is True
    assert clock.monotonic() == 119


def test_what_happened_already_is_not_waited_for(clock):
    wakeup = Future()
    ring(wakeup)
    assert clock.wait(wakeup, 120) is True
    assert clock.microseconds() == 0


def test_mail_that_is_there_at_the_deadline_wins(clock):
    wakeup = Future()
    clock.call_later(120, lambda: ring(wakeup))
    assert clock.wait(wakeup, 120) is True
    assert clock.monotonic() == 120


def test_a_wait_of_no_time_sees_what_is_due_now(clock):
    wakeup = Future()
    clock.call_later(0, lambda: ring(wakeup))
    assert clock.wait(wakeup, 0) is True
    assert clock.wait(Future(), 0) is False


def test_a_wait_without_an_end_is_ended_by_an_event(clock):
    wakeup = Future()
    clock.call_later(3600, lambda: ring(wakeup))
    assert clock.wait(wakeup, math.inf) is True


def test_events_come_in_order_of_time_then_of_scheduling(clock):
    seen = []
    for name, seconds in [("late", 9), ("first", 5), ("second", 5), ("early", 1)]:
        clock.call_later(seconds, lambda name=name: seen.append((name, clock.monotonic())))
    clock.sleep(9)
    assert seen == [("early", 1), ("first", 5), ("second", 5), ("late", 9)]


def test_an_event_may_schedule_another_at_its_own_time(clock):
    seen = []
    clock.call_later(5, lambda: clock.call_later(0, lambda: seen.append(clock.monotonic())))
    clock.sleep(5)
    assert seen == [5]


def test_an_event_that_was_cancelled_does_not_happen(clock):
    seen = []
    event = clock.call_later(5, lambda: seen.append("cancelled"))
    clock.call_at(START + timedelta(seconds=6), lambda: seen.append("kept"))
    event.cancel()
    event.cancel()
    clock.sleep(10)
    assert seen == ["kept"]


def test_an_event_in_the_past_happens_now(clock):
    seen = []
    clock.sleep(60)
    clock.call_at(START, lambda: seen.append(clock.monotonic()))
    clock.sleep(1)
    assert seen == [60]


def test_the_error_of_an_event_surfaces_where_somebody_waits(clock):
    clock.call_later(1, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        clock.sleep(5)
    clock.sleep(5)
    assert clock.monotonic() == 6


def test_an_event_cannot_wait(clock):
    clock.call_later(1, lambda: clock.sleep(3))
    with pytest.raises(ClockError) as failure:
        clock.sleep(5)
    assert str(failure.value) == (
        "an event of the world cannot wait on the clock that runs it, but it sleeps 3 s."
        " Schedule a further event instead: clock.call_later(seconds, callback)."
    )


def test_advancing_lets_everything_in_between_happen_in_order(clock):
    seen = []
    sleeper = threading.Thread(
        target=lambda: [clock.sleep(40) or seen.append(clock.monotonic()) for _ in range(3)]
    )
    with clock.hold("the sleeper is not there yet"):
        arrived = threading.Event()
        clock.call_later(50, lambda: seen.append(("event", clock.monotonic())))
        hold = clock.hold("the sleeper runs")

        def body():
            with clock.taken_over(hold):
                arrived.set()
                sleeper.run()

        threads = started(body)
        arrived.wait()
        clock.advance(100)
        assert seen == [40, ("event", 50), 80]
        assert clock.monotonic() == 100
        clock.advance(20)
    join(threads)
    assert seen[-1] == 120


def test_time_does_not_go_backwards(clock):
    with pytest.raises(ClockError) as failure:
        clock.advance(-1)
    assert str(failure.value) == ("time cannot go backwards, but advance was asked for -1 s")


def test_sleepers_in_many_threads_wake_in_order_of_time(clock):
    """Each at its own time, however the threads are scheduled."""
    seen = []
    holds = [clock.hold(f"sleeper {number}") for number in range(200)]

    def sleeper(number):
        with clock.taken_over(holds[number]):
            clock.sleep(200 - number)
            seen.append((clock.monotonic(), number))

    join(started(*(lambda n=n: sleeper(n) for n in range(200))))
    assert seen == [(200 - number, number) for number in reversed(range(200))]


def test_sleepers_due_together_wake_in_the_order_in_which_they_joined(clock):
    seen = []
    holds = [clock.hold(f"sleeper {number}") for number in range(20)]

    def sleeper(number):
        with clock.taken_over(holds[number]):
            for _ in range(3):
                clock.sleep(5)
                seen.append(number)

    join(started(*(lambda n=n: sleeper(n) for n in reversed(range(20)))))
    assert seen == list(range(20)) * 3


def test_a_running_thread_keeps_time_still(clock):
    """A participant that works for a while is not overtaken by one that sleeps."""
    begun, go_on = threading.Event(), threading.Event()
    seen = []

    def worker():
        with clock.participate("the worker"):
            begun.set()
            go_on.wait()
            seen.append(clock.monotonic())

    def sleeper():
        begun.wait()
        clock.sleep(60)
        seen.append(clock.monotonic())

    threads = started(worker, sleeper)
    begun.wait()
    clock_stood = clock.monotonic()
    go_on.set()
    join(threads)
    assert (clock_stood, seen) == (0, [0, 60])


def test_nothing_scheduled_is_an_error_that_names_who_waits():
    clock = VirtualClock(idle_after=0.01)
    with pytest.raises(ClockError) as failure:
        clock.wait(Future(), math.inf)
    assert re.fullmatch(
        r"virtual time cannot go on: everybody waits, nothing is scheduled and nothing is under way\."
        r"\nwaiting:"
        r"\n  - thread 'MainThread' waits up to inf s at test_virtual\.py:\d+ in"
        r" test_nothing_scheduled_is_an_error_that_names_who_waits"
        r"\nGive the wait a timeout, or schedule what it waits for\. If something outside is to end"
        r" it, take `clock\.hold\(reason\)` while that is under way\.",
        str(failure.value),
    )


def test_time_held_for_too_long_is_an_error_that_names_the_holds():
    clock = VirtualClock(held_limit=0.01)
    hold = clock.hold("SMTP connection 7")
    with pytest.raises(ClockError) as failure:
        clock.sleep(60)
    assert re.fullmatch(
        r"virtual time has been held for 0\.01 real seconds by:"
        r"\n  - SMTP connection 7 \(thread 'MainThread' at test_virtual\.py:\d+ in test_\w+\)"
        r"\nwaiting:"
        r"\n  - thread 'MainThread' sleeps 60 s at test_virtual\.py:\d+ in test_\w+"
        r"\nWhoever blocks on something that another waiter is to do keeps time from getting there;"
        r" let it wait through the clock, or release the hold\.",
        str(failure.value),
    )
    hold.release()
    clock.sleep(60)
    assert clock.monotonic() == 60


def test_polling_for_ever_is_an_error_with_a_count():
    clock = VirtualClock(START, max_jumps=1_000)
    polls = []

    def poll():
        while True:
            polls.append(clock.monotonic())
            clock.sleep(1 + len(polls) % 6)

    with pytest.raises(ClockError) as failure:
        poll()
    assert len(polls) == 1_001
    lines = str(failure.value).splitlines()
    assert lines[0] == (
        "virtual time moved on 1,000 times, to 2030-01-01T00:58:20+00:00, and nothing happened that"
        " anybody waits for. Somebody polls for ever:"
    )
    assert lines[1] == "  - 167 times: sleeps 2 s"
    assert lines[6] == "  - 166 times: others"
    assert lines[8].startswith("  - thread 'MainThread' sleeps 6 s at test_virtual.py:")
    assert lines[9] == "Give the polling an end, or raise `max_jumps` of the VirtualClock."


def test_what_was_waited_for_resets_the_count():
    clock = VirtualClock(max_jumps=10)
    for _ in range(100):
        wakeup = Future()
        clock.call_later(5, lambda wakeup=wakeup: ring(wakeup))
        assert clock.wait(wakeup, 60)


def test_polls_of_ever_other_lengths_are_counted_without_being_listed():
    clock = VirtualClock(max_jumps=500)

    def poll():
        for number in range(1_000):
            clock.sleep(1 + number / 1_000)

    with pytest.raises(ClockError, match="495 times: others"):
        poll()


def test_the_calendar_has_an_end(clock):
    with pytest.raises(ClockError) as failure:
        clock.sleep(1e12)
    lines = str(failure.value).splitlines()
    assert lines[0] == (
        "virtual time cannot go on: the next deadline lies beyond 9999-12-31T23:59:59.999999+00:00,"
        " the end of the calendar."
    )
    assert lines[-1] == "Use a shorter time, or `math.inf` for a wait without an end."
    assert clock.microseconds() == 0


def test_an_interrupted_wait_leaves_the_clock_usable(clock):
    def interrupt():
        raise KeyboardInterrupt

    clock.call_later(1, interrupt)
    with clock.participate("the agent"), pytest.raises(KeyboardInterrupt):
        clock.sleep(60)
    clock.sleep(60)
    assert clock.monotonic() == 61
