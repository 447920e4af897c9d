"""The corners of moving time that need exact timing."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import Future

import pytest

from pytest_agentmail.clock.agenda import Waiter
from pytest_agentmail.clock.driven import driving
from pytest_agentmail.clock.jumps import Jumps
from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.virtual import VirtualClock
from pytest_agentmail.clock.wall import WALL
from pytest_agentmail.errors import ClockError


def parked(clock):
    """Return once somebody waits on the clock."""
    while not clock.keeper._parked:
        WALL.sleep(0)


class RungWhileParking(Future):
    """Rung between the look at it and going to sleep."""

    def add_done_callback(self, fn):
        ring(self)
        super().add_done_callback(fn)


def test_a_wakeup_between_looking_and_sleeping_is_not_lost():
    clock = VirtualClock()
    assert clock.wait(RungWhileParking(), 60) is True
    assert clock.microseconds() == 0


class Speaker(Waiter):
    """A loop one of whose sockets has something to say."""

    rung = None

    def ring(self):
        self.rung()

    def readable(self):
        return not self.woken

    def describe(self):
        return "a speaker"


def test_a_loop_with_a_readable_socket_goes_first():
    """Time does not move over what lies ready in a socket of another thread's loop."""
    clock, seen, gate = VirtualClock(settle_io=0), [], threading.Event()
    hold = clock.hold("the loop runs")
    speaker = Speaker(None, "reads", (hold,), is_open=True)
    speaker.rung = lambda: [seen.append(clock.microseconds()), gate.set()]
    blocker = clock.hold("the other thread is not there yet")

    def loop():
        clock.keeper.park(speaker, lambda _: gate.wait())
        hold.release()

    thread = threading.Thread(target=loop)
    thread.start()
    parked(clock)
    with blocker:
        clock.sleep(60)
    gate.set()
    thread.join()
    assert seen == [0]


def test_time_counts_as_held_from_when_somebody_waits():
    clock = VirtualClock(held_limit=0.3)
    hold = clock.hold("a long step")
    WALL.sleep(0.35)

    def end():
        parked(clock)
        hold.release()

    thread = threading.Thread(target=end)
    thread.start()
    clock.sleep(60)
    thread.join()
    assert clock.monotonic() == 60


def test_a_hold_with_an_end_may_come_when_somebody_waits_already():
    clock = VirtualClock()
    connection = clock.hold("SMTP connection")

    def effect():
        parked(clock)
        WALL.sleep(0.02)
        clock.hold("its mail is on the way", at_most=0.02)
        connection.release()

    thread = threading.Thread(target=effect)
    thread.start()
    before = WALL.monotonic()
    clock.sleep(60)
    thread.join()
    assert WALL.monotonic() - before < 10


def test_of_waits_of_ever_other_lengths_only_some_are_kept():
    jumps = Jumps()
    for number in range(1_000):
        jumps.count(f"sleeps {number} s")
    assert jumps.total == 1_000
    assert len(jumps.most_common(1_000)) == 100


def test_what_is_scheduled_while_everybody_idles_happens_at_once():
    clock = VirtualClock(idle_after=30)
    wakeup = Future()

    def world():
        parked(clock)
        clock.call_later(5, lambda: ring(wakeup))

    thread = threading.Thread(target=world)
    thread.start()
    assert clock.wait(wakeup, math.inf) is True
    thread.join()


def test_who_stands_aside_is_named():
    clock = VirtualClock(held_limit=0.05)
    failures = []

    def other():
        try:
            clock.wait(Future(), math.inf)
        except ClockError as error:
            failures.append(str(error))

    with driving(clock):
        thread = threading.Thread(target=other, name="the other")
        thread.start()
        thread.join()
    lines = failures[0].splitlines()
    assert lines[1] == "waiting:"
    assert lines[2].startswith("  - thread 'the other' waits up to inf s at test_timekeeper.py:")
    assert lines[3].startswith(
        "  - thread 'MainThread' joins thread 'the other' at test_timekeeper.py:"
    )


def test_a_thread_that_cannot_start_holds_nothing():
    with driving(VirtualClock()):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError, match="threads can only be started once"):
            thread.start()
        time.sleep(5)


def test_a_thread_of_an_ended_thread_is_named_by_its_number():
    clock = VirtualClock(held_limit=0.01)
    thread = threading.Thread(target=lambda: clock.hold("left by a thread that ended"))
    thread.start()
    thread.join()
    with pytest.raises(
        ClockError, match=rf"left by a thread that ended \(thread '{thread.ident}'\)"
    ):
        clock.sleep(5)
