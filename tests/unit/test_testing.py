"""What people's own tests get."""

from __future__ import annotations

import asyncio

import pytest

from pytest_agentmail.clock import sharing
from pytest_agentmail.clock.virtual import VirtualClock
from pytest_agentmail.testing import (
    loops_follow,
    run_virtual,
    running_clock,
    virtual_loop_factory,
)


async def a_day():
    await asyncio.sleep(86_400)
    return running_clock()


def test_a_coroutine_runs_in_virtual_time():
    clock = VirtualClock()
    assert run_virtual(a_day(), clock) is clock
    assert clock.monotonic() == 86_400
    assert run_virtual(a_day()).monotonic() == 86_400


def test_each_loop_has_a_clock_of_its_own():
    with asyncio.Runner(loop_factory=virtual_loop_factory) as runner:
        one = runner.run(a_day())
    with asyncio.Runner(loop_factory=virtual_loop_factory) as runner:
        assert runner.run(a_day()) is not one


def test_loops_follow_the_clock_named_last():
    outer, inner = VirtualClock(), VirtualClock()
    with loops_follow(outer):
        with loops_follow(inner), asyncio.Runner(loop_factory=virtual_loop_factory) as runner:
            assert runner.run(a_day()) is inner
        with asyncio.Runner(loop_factory=virtual_loop_factory) as runner:
            assert runner.run(a_day()) is outer
    assert not sharing._followed


def test_in_real_time_there_is_no_virtual_clock():
    async def main():
        return running_clock()

    assert running_clock() is None
    assert asyncio.run(main()) is None


def test_the_hook_of_pytest_asyncio_is_left_to_the_user():
    """Once anybody implements it, it must answer for every test of the suite."""
    plugin = pytest.importorskip("pytest_agentmail.plugin")
    assert not hasattr(plugin, "pytest_asyncio_loop_factories")
