"""Reasons why time stands still."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.virtual import VirtualClock
from pytest_agentmail.clock.wall import WALL


@pytest.fixture
def clock():
    return VirtualClock()


def test_a_hold_keeps_time_still_until_another_thread_releases_it(clock):
    hold = clock.hold("SMTP connection 1")
    sleeping = threading.Event()
    seen = []

    def release():
        sleeping.wait()
        seen.append(clock.monotonic())
        hold.release()
        hold.release()

    thread = threading.Thread(target=release)
    thread.start()
    sleeping.set()
    clock.sleep(60)
    thread.join()
    assert seen == [0]
    assert clock.monotonic() == 60
    assert repr(hold) == "<Hold 'SMTP connection 1'>"


def test_mail_stored_before_its_hold_ends_is_never_missed(clock):
    """The sink's order: store, ring, release. No wait of 10 s may end before that (B1)."""
    outcomes = []
    for _ in range(200):
        wakeup, hold = Future(), clock.hold("SMTP connection")

        def sink(wakeup=wakeup, hold=hold):
            ring(wakeup)
            hold.release()

        thread = threading.Thread(target=sink)
        thread.start()
        outcomes.append(clock.wait(wakeup, 10))
        thread.join()
    assert outcomes == [True] * 200
    assert clock.microseconds() == 0


def test_a_step_gives_its_hold_up_while_it_waits_on_the_clock(clock):
    with clock.hold("step request_verification"):
        clock.sleep(60)
        assert clock.wait(Future(), 60) is False
    assert clock.monotonic() == 120


def test_nested_steps_give_all_their_holds_up(clock):
    with clock.hold("outer"), clock.participate("agent"), clock.hold("inner"):
        clock.sleep(60)
    assert clock.monotonic() == 60


def test_a_step_in_another_thread_is_not_given_up(clock):
    inside, leave = threading.Event(), threading.Event()
    seen = []

    def step():
        with clock.hold("step"):
            inside.set()
            leave.wait()
            seen.append(clock.monotonic())

    thread = threading.Thread(target=step)
    thread.start()
    inside.wait()
    clock_when_asked = clock.monotonic()
    leave.set()
    clock.sleep(60)
    thread.join()
    assert (clock_when_asked, seen) == (0, [0])


def test_a_hold_may_be_lifted_for_a_while(clock):
    hold = clock.hold("life 1 runs")
    with hold.lifted():
        clock.sleep(60)
    assert hold.in_force
    hold.release()
    assert not hold.in_force


def test_a_hold_of_one_clock_is_not_given_up_by_waiting_on_another(clock):
    other = VirtualClock(held_limit=0.01)
    with clock.hold("step"):
        other.sleep(5)
        assert clock.keeper.holds.in_force()
    assert not clock.keeper.holds.in_force()


def test_a_hold_may_end_by_itself_in_real_time(clock):
    before = WALL.monotonic()
    clock.hold("an effect was performed, its mail is on the way", at_most=0.02)
    clock.sleep(60)
    assert WALL.monotonic() - before >= 0.02


def test_a_hold_that_ends_by_itself_is_looked_at_when_the_others_are_gone(clock):
    clock.hold("an effect was performed, its mail is on the way", at_most=0.02)
    connection = clock.hold("SMTP connection")
    parked = threading.Event()

    def release():
        parked.wait()
        while not clock.keeper._parked:
            WALL.sleep(0)
        connection.release()

    thread = threading.Thread(target=release)
    thread.start()
    parked.set()
    clock.sleep(60)
    thread.join()
    assert clock.monotonic() == 60


def test_the_case_that_breaks_naive_clocks(clock):
    """The app answers, and mails 0 to 30 real ms later: the effect's hold bridges that."""
    missed = 0
    for late in range(20):
        wakeup = Future()
        effect = clock.hold("request_verification was performed", at_most=5)

        def app(wakeup=wakeup, effect=effect, late=late):
            WALL.sleep(late * 0.0015)
            ring(wakeup)
            effect.release()

        thread = threading.Thread(target=app)
        thread.start()
        missed += not clock.wait(wakeup, 120)
        thread.join()
    assert missed == 0
    assert clock.microseconds() == 0
