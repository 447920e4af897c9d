"""A test has one virtual clock, whichever comes first: its loop or its run."""

from __future__ import annotations

import asyncio
import gc

import pytest

from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.clock.sharing import clock_at_hand, running_clock, virtual_loop_factory


@pytest.fixture(scope="module")
def mail_world():
    with MailWorld() as world:
        yield world


def test_a_run_follows_the_loop_that_was_there_before(mail_world):
    with (
        asyncio.Runner(loop_factory=virtual_loop_factory) as runner,
        mail_world.open_run(clock="virtual") as run,
    ):
        assert run.clock is runner.get_loop().clock


def test_a_loop_follows_the_run_that_was_there_before(mail_world):
    with (
        mail_world.open_run(clock="virtual") as run,
        asyncio.Runner(loop_factory=virtual_loop_factory) as runner,
    ):
        assert runner.get_loop().clock is run.clock


def test_a_run_follows_the_running_loop_before_a_later_one(mail_world):
    async def main():
        later = virtual_loop_factory()
        try:
            with mail_world.open_run(clock="virtual") as run:
                assert later.clock is not run.clock
                assert run.clock is running_clock()
        finally:
            later.close()

    with asyncio.Runner(loop_factory=virtual_loop_factory) as runner:
        runner.run(main())


def test_the_latest_open_loop_counts():
    with asyncio.Runner(loop_factory=virtual_loop_factory) as first:
        with asyncio.Runner(loop_factory=virtual_loop_factory) as second:
            assert clock_at_hand() is second.get_loop().clock
        assert clock_at_hand() is first.get_loop().clock


def test_loops_that_are_closed_or_gone_do_not_count():
    with asyncio.Runner(loop_factory=virtual_loop_factory) as runner:
        clock = runner.get_loop().clock
    assert clock_at_hand() is not clock
    del runner
    gc.collect()
    assert clock_at_hand() is not clock


def test_a_real_run_leaves_loops_alone(mail_world):
    with (
        mail_world.open_run(clock="real") as run,
        asyncio.Runner(loop_factory=virtual_loop_factory) as runner,
    ):
        assert runner.get_loop().clock is not run.clock


def test_after_a_run_loops_have_clocks_of_their_own(mail_world):
    with mail_world.open_run(clock="virtual") as run:
        pass
    with asyncio.Runner(loop_factory=virtual_loop_factory) as runner:
        assert runner.get_loop().clock is not run.clock
