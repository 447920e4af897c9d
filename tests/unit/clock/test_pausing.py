"""A wait is written once, and run by a thread or a task."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import pytest

from pytest_agentmail.clock.pausing import Pause, finish, ring
from pytest_agentmail.clock.tasks import finish_async


def two_pauses(log):
    try:
        log.append((yield Pause(1)))
        rung = Future()
        ring(rung)
        log.append((yield Pause(5, rung)))
        return "done"
    finally:
        log.append("closed")


def run_async(clock, wait):
    return asyncio.run(finish_async(clock, wait))


@pytest.mark.parametrize("run", [finish, run_async])
def test_it_is_told_whether_it_was_woken(clock, run):
    log = []
    assert run(clock, two_pauses(log)) == "done"
    assert log == [False, True, "closed"]
    assert clock.seconds == 1


@pytest.mark.parametrize("run", [finish, run_async])
def test_it_is_closed_when_waiting_is_broken_off(clock, run):
    def broken():
        raise KeyboardInterrupt

    clock.at(0.5, broken)
    log = []
    with pytest.raises(KeyboardInterrupt):
        run(clock, two_pauses(log))
    assert log == ["closed"]


def test_ringing_twice_is_ringing_once():
    wakeup = Future()
    ring(wakeup)
    ring(wakeup)
    assert wakeup.done()
