"""Suites that freeze time themselves, while the real clock is in force (HB-62)."""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
import time
from concurrent.futures import Future
from datetime import UTC, datetime

import pytest
from freezegun import freeze_time
from pydantic import AwareDatetime, BaseModel

from pytest_agentmail.clock import frozen, wall
from pytest_agentmail.clock.driven import driving
from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.real import RealClock
from pytest_agentmail.clock.timers import timers
from pytest_agentmail.clock.virtual import VirtualClock
from pytest_agentmail.clock.wall import WALL

MAY_DAY = datetime(2026, 5, 1, tzinfo=UTC)
FREEZES = [
    pytest.param({}, id="plain"),
    pytest.param({"tick": True}, id="tick"),
    pytest.param({"auto_tick_seconds": 15}, id="auto_tick"),
    pytest.param({"real_asyncio": True}, id="real_asyncio"),
]


class Seen(BaseModel):
    at: AwareDatetime


def wait(clock, wakeup, timeout):
    return clock.wait(wakeup, timeout)


def wait_async(clock, wakeup, timeout):
    return asyncio.run(clock.wait_async(wakeup, timeout))


def sleep_async(clock, seconds):
    asyncio.run(clock.sleep_async(seconds))


@pytest.mark.parametrize("freeze", FREEZES)
@pytest.mark.parametrize("wait", [wait, wait_async])
def test_hb_62_a_wait_ends_in_real_time(wait, freeze):
    with freeze_time(MAY_DAY, **freeze):
        before = WALL.monotonic()
        assert wait(RealClock(), Future(), 0.05) is False
        assert 0.05 <= WALL.monotonic() - before < 60


@pytest.mark.parametrize("freeze", FREEZES)
@pytest.mark.parametrize("wait", [wait, wait_async])
def test_hb_62_mail_that_arrives_meanwhile_is_found(wait, freeze):
    with freeze_time(MAY_DAY, **freeze):
        wakeup = Future()
        thread = threading.Thread(target=lambda: WALL.sleep(0.01) or ring(wakeup))
        thread.start()
        assert wait(RealClock(), wakeup, 60) is True
        thread.join()


@pytest.mark.parametrize("freeze", FREEZES)
@pytest.mark.parametrize("sleep", [RealClock.sleep, sleep_async])
def test_hb_62_a_sleep_ends_in_real_time(sleep, freeze):
    with freeze_time(MAY_DAY, **freeze):
        before = WALL.monotonic()
        sleep(RealClock(), 0.02)
        assert 0.02 <= WALL.monotonic() - before < 60


def test_hb_62_a_freeze_that_begins_or_ends_during_the_wait():
    async def main():
        clock = RealClock()
        waiting = asyncio.ensure_future(clock.wait_async(Future(), 0.02))
        await asyncio.sleep(0)
        with freeze_time(MAY_DAY):
            late = asyncio.ensure_future(clock.wait_async(Future(), 0.02))
            assert await waiting is False
        return await late

    before = WALL.monotonic()
    assert asyncio.run(main()) is False
    assert WALL.monotonic() - before >= 0.02


def test_hb_62_a_wait_that_outlives_its_loop_is_no_trouble():
    wakeup = Future()

    async def main():
        task = asyncio.ensure_future(RealClock().wait_async(wakeup, 60))
        await asyncio.sleep(0)
        task.get_loop().stop()

    loop = asyncio.new_event_loop()
    task = loop.create_task(main())
    loop.run_forever()
    loop.close()
    ring(wakeup)
    assert task.done()
    assert not timers._live


def test_a_wait_longer_than_any_lock_waits():
    wakeup = Future()
    ring(wakeup)
    assert RealClock().wait(wakeup, 1e12) is True
    assert asyncio.run(RealClock().wait_async(Future(), -1)) is False


@pytest.mark.parametrize("tick", [True, False])
def test_expiry_follows_the_time_of_the_suite(tick):
    with freeze_time(MAY_DAY, tick=tick) as freezer:
        clock = RealClock()
        freezer.tick(3600)
        assert (clock.now() - MAY_DAY).total_seconds() == pytest.approx(3600, abs=60)


def test_real_time_stays_real_even_if_first_imported_in_a_freeze(monkeypatch):
    with freeze_time(MAY_DAY):
        monkeypatch.delitem(sys.modules, "pytest_agentmail.clock.wall")
        fresh = importlib.import_module("pytest_agentmail.clock.wall").WALL
        sys.modules["pytest_agentmail.clock.wall"] = wall
        assert fresh.monotonic.__name__ == "monotonic"
        assert abs(fresh.monotonic() - WALL.monotonic()) < 60
        assert abs(fresh.monotonic() - time.monotonic()) > 1e6


def test_it_is_told_who_froze_time():
    assert frozen.frozen_by() is None
    with freeze_time(MAY_DAY):
        assert frozen.frozen_by() == "freezegun"
    time_machine = pytest.importorskip("time_machine")
    with time_machine.travel(MAY_DAY, tick=False):
        assert frozen.frozen_by() == "time-machine"
    with driving(VirtualClock()):
        assert frozen.frozen_by() is None
        with freeze_time(MAY_DAY):
            assert frozen.frozen_by() == "freezegun"
    assert frozen.frozen_by() is None


def test_without_freezegun_nobody_froze_time(monkeypatch):
    monkeypatch.delitem(sys.modules, "freezegun.api")
    assert frozen.frozen_by() is None


def test_a_hint_says_who_froze_time():
    assert frozen.frozen_hint() is None
    with freeze_time(MAY_DAY):
        assert frozen.frozen_hint() == (
            "time is frozen by freezegun: a wait takes real seconds, while delays, leases and "
            "expiry follow the frozen time"
        )
    with driving(VirtualClock()):
        assert frozen.frozen_hint() is None


def test_warming_up_leaves_nothing_frozen():
    frozen.warm.cache_clear()
    frozen.warm()
    assert frozen.frozen_by() is None
    assert not frozen.frozen_by_us()


def test_a_frozen_suite_is_not_warmed_up():
    frozen.warm.cache_clear()
    with freeze_time(MAY_DAY):
        frozen.warm()
        assert frozen.frozen_by() == "freezegun"
        assert datetime.now(UTC) == MAY_DAY


def test_models_made_before_take_times_of_a_drive():
    clock = VirtualClock(MAY_DAY)
    with driving(clock):
        time.sleep(60)
        seen = Seen(at=datetime.now(UTC))
    assert Seen.model_validate_json(seen.model_dump_json()) == seen
    assert seen.at == clock.now()
