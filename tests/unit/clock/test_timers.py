"""Calls after some real seconds, from one thread that ends when it is idle."""

from __future__ import annotations

import os
import threading
import warnings

import pytest

from pytest_agentmail.clock.driven import driving
from pytest_agentmail.clock.inside import scope_of_thread
from pytest_agentmail.clock.timers import Timers, timers
from pytest_agentmail.clock.virtual import VirtualClock


@pytest.fixture
def mine():
    return Timers()


def ended(timers):
    """Whether its thread has ended, which it does by itself."""
    for thread in threading.enumerate():
        if thread.name == "agentmail-timers":
            thread.join()
    return timers._thread is None


def test_calls_come_in_the_order_of_their_time(mine):
    told, done = [], threading.Event()
    mine.after(0.02, lambda: (told.append("late"), done.set()))
    mine.after(0.01, lambda: told.append("middle"))
    mine.after(0, lambda: told.append("soon"))
    done.wait()
    assert told == ["soon", "middle", "late"]
    assert ended(mine)


def test_what_is_taken_back_is_not_called_and_not_waited_for(mine):
    told = []
    cancels = [mine.after(seconds, lambda: told.append(1)) for seconds in (60, 1e12, 30)]
    for cancel in cancels:
        cancel()
    assert ended(mine)
    assert told == []
    cancels[0]()


def test_it_begins_again_when_it_had_ended(mine):
    for _ in range(2):
        done = threading.Event()
        mine.after(0, done.set)
        done.wait()
        assert ended(mine)


def test_its_thread_is_part_of_no_drive(mine):
    seen, done = [], threading.Event()
    with driving(VirtualClock(), datetime=False):
        mine.after(0, lambda: (seen.append(scope_of_thread()), done.set()))
        done.wait()
    assert seen == [None]


def test_a_forked_child_has_timers_of_its_own():
    cancel = timers.after(60, lambda: None)
    with warnings.catch_warnings():
        # Python warns of forking beside threads, which is what this is about.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:  # pragma: no cover  (measured in another process)
        done = threading.Event()
        timers.after(0, done.set)
        done.wait()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    cancel()
    assert ended(timers)
