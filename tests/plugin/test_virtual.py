"""The virtual clock as pytest users meet it; and suites that freeze time by themselves."""

from __future__ import annotations

import pytest

TWO_HOURS = """
import smtplib
import time
from datetime import UTC, datetime

import pytest
from pytest_agentmail import VirtualClock, world

def sends_and_waits(run):
    expected = run.signals.expect("verification_email", within=7200)
    with smtplib.SMTP(run.sink.host, run.sink.port) as smtp:
        smtp.sendmail("app@shop.example", run.mailbox.address, "Subject: Confirm\\r\\n\\r\\nCode: 482913\\r\\n")
    time.sleep(3600)
    return run.signals.wait(expected)

def drive(run):
    start = run.clock.monotonic()
    run.mail_fault(world.mail_delayed(7199))
    assert run.drive(sends_and_waits).result.status == "found"
    assert run.clock.monotonic() - start == 7199
"""
ONE_TEST = (
    TWO_HOURS
    + """
def test_it(agent_run): drive(agent_run)
"""
)


@pytest.fixture
def suite(pytester):
    """A suite with warnings as errors and a real time limit on each of its tests."""

    def run(*args, ini="", limit=60):
        pytester.makeini(f"[pytest]\nfilterwarnings = error\ntimeout = {limit}\n{ini}\n")
        return pytester.runpytest_subprocess(
            "--disable-plugin-autoload", "-p", "agentmail", "-p", "timeout", *args
        )

    pytester.run_with = run
    return pytester


# Where the setting is given.


def test_the_marker_makes_a_test_virtual(suite):
    suite.makepyfile(
        TWO_HOURS
        + """
@pytest.mark.agentmail(clock="virtual")
def test_it(agent_run): drive(agent_run)

def test_others_stay_real(agent_run):
    assert not isinstance(agent_run.clock, VirtualClock)
    assert agent_run.drive(lambda run: datetime.now(UTC)).result.year < 2030
"""
    )
    suite.run_with().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("options", "ini"),
    [(["--agentmail-clock=virtual"], ""), ([], "agentmail_clock = virtual")],
    ids=["command line", "ini"],
)
def test_the_command_line_and_the_ini_file_make_all_tests_virtual(suite, options, ini):
    suite.makepyfile(
        ONE_TEST
        + """
def test_of_a_fresh_run(mail_world):
    with mail_world.open_run() as run:
        drive(run)

@pytest.mark.agentmail(clock="real")
def test_but_for_one(agent_run):
    assert not isinstance(agent_run.clock, VirtualClock)
"""
    )
    result = suite.run_with(*options, ini=ini)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["agentmail: clock=virtual"])


def test_the_command_line_goes_before_the_ini_file(suite):
    suite.makepyfile("def test_it(agent_run): assert type(agent_run.clock).__name__ == 'RealClock'")
    result = suite.run_with("--agentmail-clock=real", ini="agentmail_clock = virtual")
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("options", "ini", "place"),
    [
        (["--agentmail-clock=fast"], "", "--agentmail-clock"),
        ([], "agentmail_clock = fast", "agentmail_clock in *tox.ini"),
    ],
    ids=["command line", "ini"],
)
def test_another_clock_is_refused(suite, options, ini, place):
    result = suite.run_with(*options, ini=ini)
    result.stderr.fnmatch_lines(
        [
            f"ERROR: {place}: 'fast' is not allowed: expected 'real' or 'virtual' (waiting takes no time)"
        ]
    )


# What pytest and its plugins measure.


def test_durations_are_real_and_time_limits_do_not_fire(suite):
    """A driven test of two virtual hours, with a time limit of five seconds."""
    suite.makeconftest(
        """
def pytest_runtest_logreport(report):
    print(f"measured {report.when} {report.duration:.6f} {report.stop - report.start:.6f}")
"""
    )
    suite.makepyfile(
        TWO_HOURS
        + """
@pytest.fixture
def driven_before(agent_run):
    drive(agent_run)
    yield
    agent_run.drive(lambda run: time.sleep(3600))

def test_it(driven_before, agent_run):
    agent_run.drive(lambda run: time.sleep(3600))
"""
    )
    result = suite.run_with("-s", "--agentmail-clock=virtual", "--timeout=5")
    result.assert_outcomes(passed=1)
    measured = [line.split()[-2:] for line in result.outlines if "measured" in line]
    assert len(measured) == 3
    for duration, between in measured:
        assert 0 < float(duration) < 60
        assert 0 < float(between) < 60


def test_a_real_time_limit_still_fires(suite):
    suite.makepyfile(
        """
def test_it(agent_run):
    hold = agent_run.clock.hold("nobody lets go of this")
    agent_run.drive(lambda run: run.clock.sleep(1))
"""
    )
    result = suite.run_with("--agentmail-clock=virtual", "--timeout=4")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Failed: Timeout (>4.0s) from pytest-timeout."])


# Neighbours.


def test_workers_of_xdist_drive_in_virtual_time(suite):
    suite.makepyfile(
        TWO_HOURS
        + """
@pytest.mark.parametrize("number", range(6))
def test_it(agent_run, number): drive(agent_run)
"""
    )
    result = suite.run_with("-p", "xdist", "-n2", "--agentmail-clock=virtual")
    result.assert_outcomes(passed=6)


@pytest.mark.parametrize("seed", [1, 2])
def test_beside_randomly(suite, seed):
    suite.makepyfile(
        TWO_HOURS
        + """
import random

@pytest.mark.parametrize("number", range(4))
def test_it(agent_run, number):
    before = random.getstate()
    drive(agent_run)
    assert random.getstate() == before
"""
    )
    result = suite.run_with(
        "-p", "randomly", f"--randomly-seed={seed}", "--agentmail-clock=virtual"
    )
    result.assert_outcomes(passed=4)


# Suites that freeze time by themselves (HB-62).

FROZEN = """
import smtplib
import threading
from datetime import UTC, datetime

import pytest
from freezegun import freeze_time
from pytest_agentmail import world
from pytest_agentmail.errors import NoMatchingMail

MAY = datetime(2026, 5, 1, tzinfo=UTC)

def send(sink, address):
    with smtplib.SMTP(sink.host, sink.port) as smtp:
        smtp.sendmail("app@shop.example", address, "Subject: Confirm\\r\\n\\r\\nCode: 482913\\r\\n")

@pytest.fixture
def later(smtp_sink, mailbox):
    timers = []
    def send_later():
        timers.append(threading.Timer(0.05, send, (smtp_sink, mailbox.address)))
        timers[-1].start()
    yield send_later
    for timer in timers:
        timer.join()

def waits(mailbox, signals, later):
    assert datetime.now(UTC) == MAY
    ended = signals.wait(signals.expect("nothing", within=0.2))
    assert (ended.status, ended.cause) == ("expired", "deadline")
    with pytest.raises(NoMatchingMail, match="hint: time is frozen by freezegun: a wait takes"):
        mailbox.wait(timeout=0.2)
    mailbox.expect_none(within=0.1)
    later()
    assert mailbox.wait(timeout=60).code == "482913"
    later()
    found = signals.wait(signals.expect("verification_email", within=60, since="now"))
    assert found.status == "found"
    assert datetime.now(UTC) == MAY
"""


def test_hb_62_waits_end_in_a_frozen_suite(suite):
    suite.makepyfile(
        FROZEN
        + """
@freeze_time(MAY)
def test_a_decorator(mailbox, signals, later):
    waits(mailbox, signals, later)

@pytest.fixture
def frozen():
    with freeze_time(MAY):
        yield

def test_a_fixture_before_ours(frozen, mailbox, signals, later):
    waits(mailbox, signals, later)

def test_a_fixture_after_ours(mailbox, signals, later, frozen):
    waits(mailbox, signals, later)

def test_the_freezer(freezer, mailbox, signals, later):
    freezer.move_to(MAY)
    waits(mailbox, signals, later)

@pytest.mark.freeze_time(MAY)
def test_the_mark_of_the_freezer(mailbox, signals, later):
    waits(mailbox, signals, later)

@freeze_time(MAY)
class TestClass:
    def test_method(self, mailbox, signals, later):
        waits(mailbox, signals, later)
"""
    )
    suite.run_with("-p", "freezer").assert_outcomes(passed=6)


def test_hb_62_coroutines_wait_in_a_frozen_suite(suite):
    suite.makepyfile(
        FROZEN
        + """
@pytest.mark.asyncio
@pytest.mark.freeze_time(MAY)
async def test_it(mailbox, signals, later):
    ended = await signals.wait_async(signals.expect("nothing", within=0.2))
    assert ended.status == "expired"
    with pytest.raises(NoMatchingMail):
        await mailbox.wait_async(timeout=0.2)
    later()
    found = await signals.wait_async(signals.expect("verification_email", within=60))
    assert found.status == "found"
"""
    )
    suite.run_with(
        "-p", "asyncio", "-p", "freezer", ini="asyncio_default_fixture_loop_scope = function"
    ).assert_outcomes(passed=1)


def test_hb_62_expiry_and_delays_follow_the_frozen_time(suite):
    suite.makepyfile(
        FROZEN
        + """
def test_expiry(freezer, signals):
    expected = signals.expect("verification_email", within=120)
    freezer.tick(119)
    assert signals.check(expected).status == "waiting"
    freezer.tick(2)
    assert signals.check(expected).status == "expired"

@pytest.mark.mail_fault(world.mail_delayed(60))
def test_a_delay(freezer, smtp_sink, mailbox):
    send(smtp_sink, mailbox.address)
    with pytest.raises(NoMatchingMail):
        mailbox.wait(timeout=0.1)
    freezer.tick(60)
    assert mailbox.wait(timeout=0.1).code == "482913"

@pytest.mark.agentmail(lease=60)
def test_a_lease(freezer, mailbox):
    assert not mailbox.expired
    freezer.tick(60)
    assert mailbox.expired
"""
    )
    suite.run_with("-p", "freezer").assert_outcomes(passed=3)


def test_hb_62_a_ticking_freeze(suite):
    suite.makepyfile(
        FROZEN
        + """
@freeze_time(MAY, tick=True)
def test_it(mailbox, signals, later):
    assert signals.wait(signals.expect("nothing", within=0.1)).status == "expired"
    later()
    assert signals.wait(signals.expect("verification_email", within=60)).status == "found"

@freeze_time(MAY, auto_tick_seconds=15)
def test_each_look_ticks(mailbox, signals, later):
    assert signals.wait(signals.expect("nothing", within=120)).status == "expired"
    later()
    assert mailbox.wait(timeout=60).code == "482913"
"""
    )
    suite.run_with().assert_outcomes(passed=2)


CONFLICT = (
    "E *ClockError: `datetime` is frozen by freezegun, and the virtual clock of pytest_agentmail "
    "would set it, too. *mark the test agentmail(datetime=False), which leaves `datetime` to "
    "freezegun; or agentmail(clock='real')"
)


def test_two_who_would_set_the_time_is_an_error(suite):
    suite.makepyfile(
        FROZEN
        + """
pytestmark = pytest.mark.agentmail(clock="virtual")

@freeze_time(MAY)
def test_decorator(agent_run): agent_run.drive(lambda run: None)

def test_freezer(agent_run, freezer): agent_run.drive(lambda run: None)
"""
    )
    result = suite.run_with("-p", "freezer")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([CONFLICT, "*", CONFLICT])


def test_datetime_may_be_left_to_the_suite(suite):
    suite.makepyfile(
        FROZEN
        + """
import time

@pytest.mark.agentmail(clock="virtual", datetime=False)
@freeze_time(MAY)
def test_it(agent_run):
    def agent(run):
        time.sleep(3600)
        return datetime.now(UTC)

    assert agent_run.drive(agent).result == MAY
    assert agent_run.clock.monotonic() == 3600

@pytest.mark.agentmail(clock="virtual")
@freeze_time(MAY)
def test_without_a_drive_nobody_fights(agent_run, signals):
    assert signals.wait(signals.expect("verification_email")).status == "expired"
"""
    )
    suite.run_with().assert_outcomes(passed=2)


def test_time_machine_and_our_clock_do_not_fight_in_silence(suite):
    pytest.importorskip("time_machine")
    suite.makepyfile(
        FROZEN
        + """
import time_machine

@pytest.mark.agentmail(clock="virtual")
def test_it(agent_run):
    with time_machine.travel(MAY):
        agent_run.drive(lambda run: None)
"""
    )
    result = suite.run_with()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([CONFLICT.replace("freezegun", "time-machine")])


def test_a_clock_that_cannot_set_datetime_fails_at_the_line_of_the_test(pytester):
    pytester.makepyfile(
        """
        import freezegun
        import pytest

        @pytest.mark.agentmail(clock="virtual")
        @freezegun.freeze_time("2020-01-01")
        def test_it(agent_run):
            agent_run.drive(lambda run: None)
        """
    )
    result = pytester.runpytest_subprocess("--disable-plugin-autoload", "-p", "agentmail")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">       agent_run.drive(lambda run: None)",
            "E *ClockError: `datetime` is frozen by freezegun, and the virtual clock of "
            "pytest_agentmail would set it, too. Drop the freeze; or mark the test "
            "agentmail(datetime=False), which leaves `datetime` to freezegun; or "
            "agentmail(clock='real')",
            "",
            "test_a_clock_that_cannot_set_datetime_fails_at_the_line_of_the_test.py:7: ClockError",
        ],
        consecutive=True,
    )
