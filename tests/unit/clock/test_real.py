"""The clock on the wall."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta

import pytest
from freezegun import freeze_time

from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.real import RealClock

AGES_AGO = datetime(2001, 1, 1, tzinfo=UTC)


def later(wakeup):
    thread = threading.Thread(target=ring, args=(wakeup,))
    thread.start()
    return thread


def test_now_is_aware():
    assert abs(RealClock().now() - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_frozen_suite_freezes_now_and_nothing_else():
    clock = RealClock()
    before = clock.monotonic()
    with freeze_time(AGES_AGO):
        assert clock.now() == AGES_AGO
        assert clock.wait(Future(), 0.001) is False
        clock.sleep(0.001)
        assert clock.monotonic() - before >= 0.002


@pytest.mark.parametrize("seconds", [-1, 0, 0.001])
def test_sleeping_takes_any_number(seconds):
    RealClock().sleep(seconds)
    asyncio.run(RealClock().sleep_async(seconds))


def test_a_wait_ends_with_its_wakeup():
    wakeup = Future()
    thread = later(wakeup)
    assert RealClock().wait(wakeup, 60) is True
    thread.join()


def test_a_wait_ends_with_its_time():
    assert RealClock().wait(Future(), 0) is False
    assert RealClock().wait(Future(), -1) is False


def test_an_async_wait_ends_with_its_wakeup():
    async def main():
        wakeup = Future()
        thread = later(wakeup)
        woken = await RealClock().wait_async(wakeup, 60)
        thread.join()
        return woken

    assert asyncio.run(main()) is True


def test_an_async_wait_ends_with_its_time_and_gives_its_wakeup_up():
    wakeup = Future()
    assert asyncio.run(RealClock().wait_async(wakeup, 0.001)) is False
    assert wakeup.cancelled()
    ring(wakeup)


def test_a_cancelled_async_wait_gives_its_wakeup_up():
    wakeup = Future()

    async def main():
        task = asyncio.ensure_future(RealClock().wait_async(wakeup, 60))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert wakeup.cancelled()


def test_a_hundred_waiters_share_a_thread_that_ends_with_them():
    """I12."""

    def timing():
        return [thread for thread in threading.enumerate() if thread.name == "agentmail-timers"]

    for thread in timing():
        thread.join()

    async def main():
        wakeup = Future()
        waits = [RealClock().wait_async(wakeup, 60) for _ in range(100)]
        waiting = [asyncio.create_task(wait) for wait in waits]
        await asyncio.sleep(0)
        threads = timing()
        ring(wakeup)
        assert all(await asyncio.gather(*waiting))
        return threads

    (thread,) = asyncio.run(main())
    thread.join()
    assert timing() == []


def test_real_time_stands_still_for_nobody():
    clock = RealClock()
    with clock.hold("step") as hold, hold.lifted():
        clock.sleep(0.001)
    clock.hold("SMTP connection", at_most=5).release()
