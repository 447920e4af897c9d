"""The corners of moving time that need exact timing."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import Future

import pytest

from pytest_agentmail.clock.agenda import Waiter
from pytest_agentmail.clock.driven import driving
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

    def readable(self):
        return not self.woken

    def describe(self):
        return "a speaker"


def test_a_loop_with_a_readable_socket_goes_first():
    """Time does not move over what lies ready in a socket of another thread's loop."""
    clock, seen = VirtualClock(), []
    hold, gate = clock.hold("the loop runs"), threading.Event()
    speaker = Speaker(None, "reads", (hold,), is_open=True)

    def loop():
        clock.keeper.park(speaker, lambda _: gate.wait())
        seen.append(clock.microseconds())
        hold.release()

    blocker = clock.hold("the other thread is not there yet")
    thread = threading.Thread(target=loop)
    thread.start()
    parked(clock)
    released = threading.Thread(target=lambda: [WALL.sleep(0), blocker.release(), gate.set()])
    released.start()
    clock.sleep(60)
    thread.join()
    released.join()
    assert seen == [0]


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
