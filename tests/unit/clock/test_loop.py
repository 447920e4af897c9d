"""An event loop in virtual time."""

from __future__ import annotations

import asyncio
import math
import re
import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from freezegun import freeze_time

from pytest_agentmail.clock.loop import VirtualLoop
from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.virtual import VirtualClock
from pytest_agentmail.clock.wall import WALL
from pytest_agentmail.errors import ClockError
from pytest_agentmail.testing import run_virtual

START = datetime(2030, 1, 1, tzinfo=UTC)
YEAR = 365 * 86_400


@pytest.fixture
def clock():
    return VirtualClock(START)


def test_sleeping_takes_exactly_the_time_it_says(clock):
    async def main():
        await asyncio.sleep(120)
        await asyncio.sleep(0.1)
        await clock.sleep_async(0.2)
        await clock.sleep_async(-1)

    run_virtual(main(), clock)
    assert clock.microseconds() == 120_300_000


def test_timeouts_are_virtual(clock):
    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 5)
        assert (await asyncio.wait([asyncio.ensure_future(asyncio.sleep(9))], timeout=5))[1]

    run_virtual(main(), clock)
    assert clock.monotonic() == 15


def test_what_is_ready_runs_before_time_moves(clock):
    """However long the chain of callbacks, no count of empty rounds decides."""

    async def main():
        async with asyncio.timeout(1):
            for _ in range(1_000):
                await asyncio.sleep(0)
        return clock.microseconds()

    assert run_virtual(main(), clock) == 0


def test_waiters_in_tasks_wake_in_order_of_time(clock):
    seen = []

    async def waiter(number):
        await asyncio.sleep(200 - number)
        seen.append((clock.monotonic(), number))

    async def main():
        await asyncio.gather(*map(waiter, range(200)))

    run_virtual(main(), clock)
    assert seen == [(200 - number, number) for number in reversed(range(200))]


def test_a_wait_ends_with_its_wakeup_or_its_time(clock):
    async def main():
        wakeup, late = Future(), Future()
        clock.call_later(119, lambda: ring(wakeup))
        assert await clock.wait_async(wakeup, 120) is True
        assert await clock.wait_async(wakeup, 120) is True
        assert clock.monotonic() == 119
        assert await clock.wait_async(late, 11) is False
        assert late.cancelled()

    run_virtual(main(), clock)
    assert clock.monotonic() == 130


def test_mail_that_is_there_at_the_deadline_wins(clock):
    async def main():
        wakeup = Future()
        clock.call_later(120, lambda: ring(wakeup))
        return await clock.wait_async(wakeup, 120)

    assert run_virtual(main(), clock) is True


def test_a_wait_may_have_no_end_of_its_own(clock):
    async def main():
        wakeup = Future()
        clock.call_later(3600, lambda: ring(wakeup))
        return await clock.wait_async(wakeup, math.inf)

    assert run_virtual(main(), clock) is True


def test_all_that_the_world_does_at_an_instant_comes_before_the_timers(clock):
    seen = []
    for number in range(3):
        clock.call_later(5, lambda number=number: seen.append(number))

    async def main():
        await asyncio.sleep(5)
        seen.append("timer")

    run_virtual(main(), clock)
    assert seen == [0, 1, 2, "timer"]


def test_an_event_may_touch_the_loop_it_runs_in(clock):
    async def main():
        inner = asyncio.get_running_loop().create_future()
        clock.call_later(5, lambda: inner.set_result(clock.monotonic()))
        return await inner

    assert run_virtual(main(), clock) == 5


@pytest.mark.parametrize("years", [0.3, 1, 60, 7000])
def test_timers_are_due_long_after_the_start_too(years):
    """After 97 days a nanosecond is lost in a float of seconds; the plain rule would spin."""
    clock = VirtualClock()
    clock.advance(years * YEAR)
    before = clock.microseconds()

    async def main():
        ticks = []
        for seconds in (120, 0.1, 1e-6, 3.3):
            await asyncio.sleep(seconds)
            ticks.append(clock.microseconds() - before)
        async with asyncio.timeout(60):
            await asyncio.gather(*(asyncio.sleep(n) for n in range(9)))
        return ticks

    ticks = run_virtual(main(), clock)
    for tick, exact in zip(
        ticks, (120_000_000, 120_100_000, 120_100_001, 123_400_001), strict=True
    ):
        assert abs(tick - exact) <= (2 if years <= 60 else 150)


def test_a_timer_due_with_something_else_does_not_spin():
    """Another waiter moves time to the very instant of the loop's timer."""
    clock = VirtualClock()
    clock.advance(YEAR)

    async def main():
        clock.call_later(120, lambda: None)
        await asyncio.sleep(120)

    run_virtual(main(), clock)
    assert clock.microseconds() - YEAR * 1_000_000 <= 120_000_001


def test_sleeping_longer_than_a_loop_selects(clock):
    async def main():
        await asyncio.sleep(YEAR)

    run_virtual(main(), clock)
    assert clock.now() == START + timedelta(days=365)


def test_two_loops_share_one_time(clock):
    seen = []
    holds = [clock.hold(f"loop {number}") for number in range(2)]

    async def ticks(number):
        for _ in range(3):
            await asyncio.sleep(2)
            seen.append((clock.monotonic(), number))

    def loop(number, late):
        with clock.taken_over(holds[number]):
            clock.sleep(late)
            run_virtual(ticks(number), clock)

    threads = [threading.Thread(target=loop, args=args) for args in ((0, 0.5), (1, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(2.5, 0), (3, 1), (4.5, 0), (5, 1), (6.5, 0), (7, 1)]


def test_a_thread_that_advances_wakes_the_loop(clock):
    """A tick from a thread goes unnoticed by a loop that is in select; not here."""
    ready = clock.hold("the loop is not there yet")

    async def main():
        asyncio.get_running_loop().call_soon(ready.release)
        await clock.sleep_async(60)
        return clock.monotonic()

    thread = threading.Thread(target=lambda: clock.advance(100))
    thread.start()
    assert run_virtual(main(), clock) == 60
    thread.join()


def test_a_blocking_sleep_in_a_coroutine_takes_its_time(clock):
    async def main():
        clock.sleep(5)
        await asyncio.sleep(1)

    run_virtual(main(), clock)
    assert clock.monotonic() == 6


def test_a_step_in_a_task_holds_time_for_the_other_tasks(clock):
    """A step that waits for something outside; a timer beside it must not fire."""
    answered = threading.Event()

    async def step(outside):
        with clock.hold("step verify"):
            await asyncio.wrap_future(outside)
            return clock.microseconds()

    async def main():
        outside = Future()
        thread = threading.Thread(target=lambda: answered.wait() and ring(outside))
        thread.start()
        slept = asyncio.ensure_future(asyncio.sleep(60))
        stepping = asyncio.ensure_future(step(outside))
        await asyncio.sleep(0)
        answered.set()
        assert await stepping == 0
        await slept
        thread.join()

    run_virtual(main(), clock)
    assert clock.monotonic() == 60


def test_a_step_in_a_task_gives_its_hold_up_while_it_waits_on_the_clock(clock):
    async def main():
        with clock.hold("step verify"):
            await clock.sleep_async(5)
            await clock.wait_async(Future(), 5)
            await asyncio.gather(clock.sleep_async(5), clock.sleep_async(4))

    run_virtual(main(), clock)
    assert clock.monotonic() == 15


@pytest.mark.parametrize("own", [False, True])
def test_work_in_an_executor_holds_time(clock, own):
    """Without holds, 50 of 50 such waits ended in a false time-out."""

    def work(number):
        WALL.sleep(0.002)
        return number

    async def main():
        loop = asyncio.get_running_loop()
        pool = ThreadPoolExecutor(2) if own else None
        calls = (loop.run_in_executor(pool, work, number) for number in range(50))
        results = await asyncio.gather(*(asyncio.wait_for(call, 1) for call in calls))
        if pool:
            pool.shutdown()
        return results

    assert run_virtual(main(), clock) == list(range(50))
    assert clock.microseconds() == 0


def test_the_default_executor_can_be_set(clock):
    async def main():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1, thread_name_prefix="mine"))
        return await asyncio.to_thread(lambda: threading.current_thread().name)

    assert run_virtual(main(), clock) == "mine_0"


def test_work_that_sleeps_on_the_clock_lets_time_pass(clock):
    async def main():
        await asyncio.gather(*(asyncio.to_thread(clock.sleep, 10) for _ in range(5)))

    run_virtual(main(), clock)
    assert clock.monotonic() == 10


def test_work_that_waits_for_a_free_thread_lets_those_that_sleep_go_on(clock):
    async def main():
        with ThreadPoolExecutor(2) as pool:
            loop = asyncio.get_running_loop()
            await asyncio.gather(*(loop.run_in_executor(pool, clock.sleep, 10) for _ in range(5)))

    run_virtual(main(), clock)
    assert clock.monotonic() == 30


def test_cancelled_work_still_holds_time_until_it_has_ended(clock):
    go_on, ended = threading.Event(), []

    def work():
        go_on.wait()
        ended.append(clock.microseconds())

    async def main():
        task = asyncio.ensure_future(asyncio.to_thread(work))
        await asyncio.sleep(0)
        task.cancel()
        asyncio.get_running_loop().call_soon(go_on.set)
        await asyncio.sleep(60)

    run_virtual(main(), clock)
    assert ended == [0]


def test_work_cancelled_before_it_began_holds_nothing(clock):
    async def main():
        with ThreadPoolExecutor(1) as pool:
            loop = asyncio.get_running_loop()
            first = loop.run_in_executor(pool, clock.sleep, 5)
            second = loop.run_in_executor(pool, clock.sleep, 500)
            await asyncio.sleep(1)
            second.cancel()
            await first

    run_virtual(main(), clock)
    assert clock.monotonic() == 5


def test_an_executor_that_refuses_work_holds_nothing(clock):
    async def main():
        pool = ThreadPoolExecutor(1)
        pool.shutdown()
        with pytest.raises(RuntimeError, match="after shutdown"):
            await asyncio.get_running_loop().run_in_executor(pool, int)
        await asyncio.sleep(5)

    run_virtual(main(), clock)
    assert clock.monotonic() == 5


def test_shutting_the_executor_down_takes_no_virtual_time(clock):
    """Since 3.12 its threads get 300 s to end; a jump there would be a warning."""

    def slow():
        WALL.sleep(0.05)

    async def main():
        task = asyncio.ensure_future(asyncio.to_thread(slow))
        await asyncio.sleep(0)
        task.cancel()

    run_virtual(main(), clock)
    assert clock.microseconds() == 0


def test_work_that_is_left_and_sleeps_on_the_clock_is_waited_for(clock):
    async def main():
        task = asyncio.ensure_future(asyncio.to_thread(clock.sleep, 10))
        await asyncio.sleep(1)
        task.cancel()

    run_virtual(main(), clock)
    assert clock.monotonic() == 10


def test_threads_started_from_the_loop_hold_time(clock):
    """Bare threads made 21 and 30 of 50 waits end early with other virtual loops."""

    async def main():
        loop = asyncio.get_running_loop()
        for _ in range(20):
            answer = loop.create_future()

            def work(answer=answer):
                WALL.sleep(0.002)
                loop.call_soon_threadsafe(answer.set_result, clock.microseconds())

            threading.Thread(target=work).start()
            assert await asyncio.wait_for(answer, 1) == 0

    run_virtual(main(), clock)


def test_waiting_on_a_loop_of_another_kind(clock):
    """A plain loop cannot be parked; its tasks wait in threads of their own."""

    async def main():
        wakeup, late = Future(), Future()
        clock.call_later(119, lambda: ring(wakeup))
        assert await clock.wait_async(wakeup, 120) is True
        assert await clock.wait_async(late, 11) is False
        assert late.cancelled()
        with clock.participate("the agent"), clock.hold("a step"):
            await clock.sleep_async(5)
        task = asyncio.ensure_future(clock.wait_async(Future(), math.inf))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert clock.monotonic() == 135


def test_an_error_reaches_the_task_on_a_loop_of_another_kind():
    clock = VirtualClock(held_limit=0.01)

    async def main():
        await clock.wait_async(Future(), math.inf)

    with pytest.raises(ClockError, match="nothing is scheduled"):
        asyncio.run(main())


def test_a_loop_with_nothing_to_do_fails_and_names_its_tasks():
    clock = VirtualClock(idle_after=0.01)

    async def forgotten():
        await asyncio.Event().wait()

    async def main():
        await asyncio.gather(asyncio.create_task(forgotten(), name="the forgotten one"))

    with pytest.raises(ClockError) as failure:
        run_virtual(main(), clock)
    lines = str(failure.value).splitlines()
    assert lines[:3] == [
        "virtual time cannot go on: everybody waits, nothing is scheduled and nothing is under way.",
        "waiting:",
        "  - the event loop in thread 'MainThread', with 2 tasks:",
    ]
    assert re.fullmatch(r"      task 'Task-\d+' at test_loop\.py:\d+ in main", lines[3])
    assert re.fullmatch(
        r"      task 'the forgotten one' at test_loop\.py:\d+ in forgotten", lines[4]
    )


def test_a_task_that_polls_for_ever_fails_with_a_count():
    clock = VirtualClock(max_jumps=100)

    async def main():
        while True:
            await asyncio.to_thread(int)
            await asyncio.sleep(5)

    with pytest.raises(ClockError, match=r"100 times: an event loop sleeps for 5 s\nwaiting:"):
        run_virtual(main(), clock)


def test_open_sockets_get_real_time_to_speak_before_each_jump():
    clock = VirtualClock(settle_io=0.2)
    ours, theirs = socket.socketpair()
    asked = threading.Event()

    def outside():
        asked.wait()
        WALL.sleep(0.02)
        theirs.sendall(b"250 OK\r\n")

    async def main():
        reader, writer = await asyncio.open_connection(sock=ours)
        WALL.sleep(0.25)  # the sockets get their time from when everybody waits
        asked.set()
        answer = await asyncio.wait_for(reader.readline(), 10)
        writer.close()
        return answer

    with theirs:
        thread = threading.Thread(target=outside)
        thread.start()
        assert run_virtual(main(), clock) == b"250 OK\r\n"
        thread.join()
    assert clock.microseconds() == 0


def test_no_real_time_passes_where_no_socket_is_open():
    clock = VirtualClock(settle_io=60)

    async def main():
        for _ in range(100):
            await asyncio.sleep(60)

    run_virtual(main(), clock)


def test_silent_sockets_do_not_keep_time_from_moving():
    clock = VirtualClock(settle_io=0.001)
    ours, theirs = socket.socketpair()

    async def main():
        reader, writer = await asyncio.open_connection(sock=ours)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readline(), 10)
        writer.close()

    with theirs:
        run_virtual(main(), clock)
    assert clock.monotonic() == 10


def test_a_freeze_of_the_suite_does_not_reach_the_loop(clock):
    """`asyncio.sleep` under a freeze hangs on a plain loop, and timers leap by decades."""

    async def main():
        async with asyncio.timeout(3600):
            with freeze_time("2040-01-01"):
                await asyncio.sleep(120)
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(asyncio.Event().wait(), 5)
            await asyncio.sleep(5)

    run_virtual(main(), clock)
    assert clock.monotonic() == 130


def test_the_loop_passes_selecting_on():
    """Callers of the selector's other methods reach the real one."""
    loop = VirtualLoop(VirtualClock())
    ours, theirs = socket.socketpair()
    seen = []
    with ours, theirs:
        loop.add_reader(ours, lambda: seen.append(ours.recv(9)) or loop.stop())
        loop.add_writer(ours, lambda: seen.append("writable") or loop.remove_writer(ours))
        theirs.sendall(b"hello")
        loop.run_forever()
        loop.remove_reader(ours)
        loop.close()
    assert sorted(map(str, seen)) == ["b'hello'", "writable"]


def test_whoever_sleeps_for_the_rest_gets_there():
    """Floats leave 0.9 fs of a deadline; were that no time, sleeping for it would never end."""

    async def main():
        loop = asyncio.get_running_loop()
        before, deadline = 4.240885, math.nextafter(4.240885, math.inf)
        await asyncio.sleep(before)
        assert loop.time() == before
        rounds = 0
        while (rest := deadline - loop.time()) > 0 and rounds < 10:
            loop.call_soon(lambda: None)
            await asyncio.sleep(rest)
            rounds += 1
        return rounds

    assert run_virtual(main()) == 1
