"""What virtual time promises for every schedule (I11, I12; B3, C19)."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.virtual import VirtualClock
from pytest_agentmail.testing import run_virtual

seconds = st.integers(0, 20_000_000).map(lambda micros: micros / 1_000_000)
few_seconds = st.integers(0, 5).map(float)
naps = st.lists(few_seconds, max_size=5)
agents = st.lists(naps, min_size=1, max_size=4)
events = st.lists(few_seconds, max_size=6)


def in_threads(bodies):
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def play_threads(events, agents):
    """Events of the world, and agents that sleep, each in a thread; what happened, in order."""
    clock, trace = VirtualClock(), []
    for number, when in enumerate(events):
        clock.call_later(when, lambda n=number: trace.append((clock.microseconds(), f"event {n}")))
    holds = [clock.hold(f"agent {number}") for number in range(len(agents))]

    def agent(number):
        with clock.taken_over(holds[number]):
            for nap in agents[number]:
                clock.sleep(nap + 1)
                trace.append((clock.microseconds(), f"agent {number}"))

    in_threads(lambda n=n: agent(n) for n in range(len(agents)))
    return trace


def play_tasks(events, agents):
    """The same in tasks of one loop."""
    clock, trace = VirtualClock(), []
    for number, when in enumerate(events):
        clock.call_later(when, lambda n=number: trace.append((clock.microseconds(), f"event {n}")))

    async def agent(number):
        for nap in agents[number]:
            await asyncio.sleep(nap + 1)
            trace.append((clock.microseconds(), f"agent {number}"))

    async def main():
        await asyncio.gather(*map(agent, range(len(agents))))

    run_virtual(main(), clock)
    return trace


@given(events, agents)
def test_the_same_schedule_gives_the_same_trace_in_threads(events, agents):
    """I11."""
    assert play_threads(events, agents) == play_threads(events, agents)


@given(events, agents)
def test_the_same_schedule_gives_the_same_trace_in_tasks(events, agents):
    """I11."""
    assert play_tasks(events, agents) == play_tasks(events, agents)


@given(events, agents)
def test_threads_and_tasks_live_through_the_same(events, agents):
    """Up to the order of agents at one instant, which a loop decides by itself."""
    assert sorted(play_threads(events, agents)) == sorted(play_tasks(events, agents))


@given(events, agents)
def test_time_never_goes_back_and_events_come_before_deadlines(events, agents):
    trace = play_threads(events, agents)
    assert [when for when, _ in trace] == sorted(when for when, _ in trace)
    for instant in {when for when, _ in trace}:
        names = [name for when, name in trace if when == instant]
        assert names == sorted(names, key=lambda name: name.startswith("agent"))
        assert [n for n in names if n.startswith("event")] == sorted(
            n for n in names if n.startswith("event")
        )


@given(st.lists(seconds, max_size=10))
def test_sleeps_add_up_to_the_microsecond(naps):
    threaded, looped = VirtualClock(), VirtualClock()
    for nap in naps:
        threaded.sleep(nap)

    async def main():
        for nap in naps:
            await asyncio.sleep(nap)

    run_virtual(main(), looped)
    assert threaded.microseconds() == looped.microseconds() == sum(round(n * 1e6) for n in naps)


@given(few_seconds, few_seconds)
def test_mail_is_found_exactly_if_it_is_there_by_the_deadline(arrival, timeout):
    for wait in (
        VirtualClock.wait,
        lambda *args: run_virtual(VirtualClock.wait_async(*args), args[0]),
    ):
        clock, wakeup = VirtualClock(), Future()
        clock.call_later(arrival, lambda wakeup=wakeup: ring(wakeup))
        assert wait(clock, wakeup, timeout) is (arrival <= timeout)
        assert clock.monotonic() == min(arrival, timeout)


@given(agents, st.data())
@settings(max_examples=30)
def test_time_stands_still_while_anything_is_held(agents, data):
    """Holds that are taken and released by threads in any order (I3: no wait ends falsely)."""
    clock = VirtualClock()
    held = [clock.hold(f"connection {n}") for n in range(data.draw(st.integers(1, 4)))]
    order = data.draw(st.permutations(held))
    seen, lives = [], [clock.hold(f"agent {n}") for n in range(len(agents))]

    def agent(number):
        with clock.taken_over(lives[number]):
            clock.sleep(1)
            seen.append(all(not hold.in_force for hold in held))

    def world():
        for hold in order:
            seen.append(clock.microseconds() == 0)
            hold.release()

    in_threads([*(lambda n=n: agent(n) for n in range(len(agents))), world])
    assert all(seen)


@given(st.lists(st.tuples(few_seconds, st.booleans()), max_size=8))
def test_events_happen_once_or_not_at_all(plan):
    clock, happened = VirtualClock(), []
    scheduled = [
        clock.call_later(when, lambda n=n: happened.append(n)) for n, (when, _) in enumerate(plan)
    ]
    for event, (_, cancelled) in zip(scheduled, plan, strict=True):
        if cancelled:
            event.cancel()
    clock.advance(10)
    expected = [n for n, (_, cancelled) in enumerate(plan) if not cancelled]
    assert happened == sorted(expected, key=lambda n: plan[n][0])
