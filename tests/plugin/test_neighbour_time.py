"""Virtual and frozen time beside pytest-asyncio, anyio, pytest-freezer, time-machine and others."""

from __future__ import annotations

import pytest

ASYNCIO = ("-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function")
FREEZER = ("-p", "freezer")
ANYIO = ("-p", "anyio")

HOOK = """
from pytest_agentmail.testing import virtual_loop_factory

def pytest_asyncio_loop_factories(config, item):
    return {"virtual": virtual_loop_factory}
"""
ANYIO_BACKEND = """
import pytest
from pytest_agentmail.testing import virtual_loop_factory

@pytest.fixture
def anyio_backend():
    return "asyncio", {"loop_factory": virtual_loop_factory}
"""
SLEEPS = """
import asyncio
import pytest
from pytest_agentmail.testing import running_clock

async def slept():
    await asyncio.sleep(86_400)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(120):
            await asyncio.Event().wait()
    assert running_clock().monotonic() == 86_520
"""
FROZEN_WAITS = """
import asyncio, threading
from concurrent.futures import Future
from datetime import datetime, timezone
import pytest
from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.real import RealClock
from pytest_agentmail.clock.wall import WALL

async def waits():
    clock = RealClock()
    before = WALL.monotonic()
    assert await clock.wait_async(Future(), 1) is False
    assert WALL.monotonic() - before >= 1
    wakeup = Future()
    threading.Thread(target=lambda: WALL.sleep(0.01) or ring(wakeup)).start()
    assert await clock.wait_async(wakeup, 60) is True
    assert clock.now() == datetime(2026, 5, 1, tzinfo=timezone.utc)
"""


@pytest.fixture
def suite(pytester):
    pytester.makeini("[pytest]\nfilterwarnings = error\ntimeout = 60\n")

    def run(*plugins):
        return pytester.runpytest_subprocess("--disable-plugin-autoload", "-p", "timeout", *plugins)

    pytester.run_with = run
    return pytester


def test_whole_async_tests_are_virtual_with_the_official_hook(suite):
    suite.makeconftest(HOOK)
    suite.makepyfile(
        SLEEPS
        + """
@pytest.mark.asyncio
async def test_it():
    await slept()

@pytest.mark.parametrize("number", range(5))
@pytest.mark.asyncio
async def test_many(number):
    await slept()

class TestClass:
    @pytest.mark.asyncio(loop_scope="class")
    async def test_first(self):
        await slept()
"""
    )
    suite.run_with(*ASYNCIO).assert_outcomes(passed=7)


def test_one_suite_may_run_each_test_in_both_times(suite):
    suite.makeconftest(
        HOOK.replace('{"virtual"', '{"real": asyncio.SelectorEventLoop, "virtual"').replace(
            "from", "import asyncio\nfrom", 1
        )
    )
    suite.makepyfile(
        """
import asyncio
import pytest
from pytest_agentmail.testing import running_clock

@pytest.mark.asyncio
async def test_it():
    await asyncio.sleep(0.001)

@pytest.mark.asyncio(loop_factories=["virtual"])
async def test_virtual():
    await asyncio.sleep(86_400)
    assert running_clock().monotonic() == 86_400
"""
    )
    suite.run_with(*ASYNCIO).assert_outcomes(passed=3)


def test_without_the_hook_async_tests_stay_real(suite):
    suite.makepyfile(
        """
import pytest
from pytest_agentmail.testing import running_clock

@pytest.mark.asyncio
async def test_it():
    assert running_clock() is None
"""
    )
    suite.run_with(*ASYNCIO, "-p", "pytest_agentmail.plugin").assert_outcomes(passed=1)


def test_an_async_test_that_waits_for_nothing_fails_and_says_so(suite):
    suite.makeconftest(HOOK)
    suite.makepyfile(
        """
import asyncio
import pytest

@pytest.mark.asyncio
async def test_it():
    await asyncio.Event().wait()
"""
    )
    result = suite.run_with(*ASYNCIO)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E  *ClockError: virtual time cannot go on: everybody waits, nothing is scheduled and nothing is under way.",
            "E  *waiting:",
            "E  *- the event loop in thread 'MainThread', with 1 tasks:",
            "E  *task 'Task-*' at test_*.py:6 in test_it",
        ],
        consecutive=True,
    )


def test_anyio_takes_the_loop_through_its_backend_option(suite):
    suite.makeconftest(ANYIO_BACKEND)
    suite.makepyfile(
        SLEEPS
        + """
import anyio
from pytest_agentmail.clock.wall import WALL

@pytest.mark.anyio
async def test_it():
    await slept()

@pytest.mark.anyio
async def test_anyio_itself():
    await anyio.sleep(120)
    with pytest.raises(TimeoutError):
        with anyio.fail_after(60):
            await anyio.sleep_forever()
    assert running_clock().monotonic() == 180

@pytest.mark.anyio
async def test_threads_of_anyio_hold_time():
    for _ in range(10):
        with anyio.fail_after(1):
            await anyio.to_thread.run_sync(WALL.sleep, 0.003)
    assert running_clock().monotonic() == 0
"""
    )
    suite.run_with(*ANYIO).assert_outcomes(passed=3)


@pytest.mark.parametrize("arguments", ["'2026-05-01'", "'2026-05-01', real_asyncio=True"])
def test_hb_62_frozen_async_tests_wait_in_real_time(suite, arguments):
    suite.makepyfile(
        FROZEN_WAITS
        + f"""
@pytest.mark.asyncio
@pytest.mark.freeze_time({arguments})
async def test_it():
    await waits()
"""
    )
    suite.run_with(*ASYNCIO, *FREEZER).assert_outcomes(passed=1)


def test_hb_62_beside_time_machine(suite):
    pytest.importorskip("time_machine")
    suite.makepyfile(
        FROZEN_WAITS
        + """
@pytest.mark.asyncio
@pytest.mark.time_machine(datetime(2026, 5, 1, tzinfo=timezone.utc), tick=False)
async def test_it():
    await waits()
"""
    )
    suite.run_with(*ASYNCIO, "-p", "time_machine").assert_outcomes(passed=1)


DRIVES = """
import time
from datetime import datetime, timezone
import pytest
from pytest_agentmail.clock.driven import driving
from pytest_agentmail.clock.virtual import VirtualClock

def drive(seconds=86_400, **kwargs):
    clock = VirtualClock()
    with driving(clock, **kwargs):
        time.sleep(seconds)
        assert clock.monotonic() == time.monotonic() == seconds
"""


def test_the_freezer_and_our_clock_do_not_fight_in_silence(suite):
    suite.makepyfile(
        DRIVES
        + """
def test_ours(): drive()

def test_both(freezer):
    freezer.move_to("2026-05-01")
    with pytest.raises(Exception, match="`datetime` is frozen by freezegun, and the virtual clock"):
        drive()
    drive(datetime=False)
    assert datetime.now(timezone.utc) == datetime(2026, 5, 1, tzinfo=timezone.utc)

def test_ours_again(): drive()
"""
    )
    suite.run_with(*FREEZER).assert_outcomes(passed=3)


def test_durations_and_time_limits_stay_real(suite):
    """With a plain freeze, a phase was reported as 1,893,455,223 s."""
    suite.makepyfile(
        DRIVES
        + """
@pytest.fixture
def driven():
    clock = VirtualClock()
    with driving(clock):
        time.sleep(3600)
        yield clock
        time.sleep(3600)

def test_call(): drive()

def test_phases(driven): time.sleep(3600)
"""
    )
    result = suite.run_with("--durations=0", "-vv", "-o", "timeout=30")
    result.assert_outcomes(passed=2)
    reported = [
        line.split("s ")[0] for line in result.outlines if "s call" in line or "s setup" in line
    ]
    assert reported
    assert all(float(seconds) < 30 for seconds in reported)


def test_a_time_limit_interrupts_a_wait_and_leaves_time_real(suite):
    suite.makepyfile(
        DRIVES
        + """
@pytest.mark.timeout(0.2)
def test_stuck():
    clock = VirtualClock()
    clock.hold("for ever")
    with driving(clock):
        time.sleep(5)

def test_next():
    before = time.monotonic()
    time.sleep(0.01)
    assert 0.01 <= time.monotonic() - before < 60
    assert datetime.now(timezone.utc).year < 2030
"""
    )
    result = suite.run_with()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Failed: Timeout (>0.2s) from pytest-timeout."])


def test_hypothesis_measures_examples_in_real_time(suite):
    """A tick of 120 s counted as 120,000 ms against the deadline."""
    suite.makepyfile(
        DRIVES
        + """
from hypothesis import given, settings, strategies as st
from pytest_agentmail.clock.frozen import warm

warm()

@given(st.integers(1, 120))
@settings(deadline=500, max_examples=20)
def test_it(seconds): drive(seconds)
"""
    )
    suite.run_with("-p", "hypothesispytest").assert_outcomes(passed=1)


def test_workers_of_xdist_report_while_time_is_driven(suite):
    suite.makepyfile(
        DRIVES
        + """
@pytest.mark.parametrize("number", range(8))
def test_it(number): drive()
"""
    )
    suite.run_with("-p", "xdist", "-n", "2").assert_outcomes(passed=8)
