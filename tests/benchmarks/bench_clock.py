"""What waiting costs under the virtual clock: one line a figure, against something timed beside it.

Run it as `python -m tests.benchmarks.bench_clock`.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from pytest_agentmail.clock import frozen
from pytest_agentmail.clock.driven import driving
from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.real import RealClock
from pytest_agentmail.clock.virtual import VirtualClock
from pytest_agentmail.clock.wall import WALL
from pytest_agentmail.testing import run_virtual

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = 86_400


def timed(body: Callable[[], object]) -> float:
    before = WALL.monotonic()
    body()
    return WALL.monotonic() - before


def against(
    name: str, body: Callable[[], object], beside: str, other: Callable[[], object], rounds: int
) -> None:
    """Time both in turns and print the medians and their ratio."""
    body(), other()
    pairs = [(timed(body), timed(other)) for _ in range(rounds)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    figures = f"{ours * 1e3:.3f} ms; {beside}: {theirs * 1e3:.3f} ms; ratio {ours / theirs:.3f}"
    sys.stdout.write(f"{name}: {figures}\n")


def wait_in_thread() -> None:
    clock, wakeup = VirtualClock(), Future()
    clock.call_later(119, lambda: ring(wakeup))
    assert clock.wait(wakeup, 120)


def wait_on_loop() -> None:
    async def main() -> None:
        clock, wakeup = running, Future()
        clock.call_later(119, lambda: ring(wakeup))
        assert await clock.wait_async(wakeup, 120)

    running = VirtualClock()
    run_virtual(main(), running)


def real_wait() -> None:
    wakeup = Future()
    thread = threading.Thread(target=ring, args=(wakeup,))
    thread.start()
    assert RealClock().wait(wakeup, 120)
    thread.join()


def plain_loop() -> None:
    asyncio.run(asyncio.sleep(0))


def day_in_thread() -> None:
    clock = VirtualClock()
    for _ in range(DAY // 10):
        clock.sleep(10)


def day_on_loop() -> None:
    async def main() -> None:
        for _ in range(DAY // 10):
            await asyncio.sleep(10)

    run_virtual(main())


def as_many_rounds_of_a_plain_loop() -> None:
    async def main() -> None:
        for _ in range(DAY // 10):
            await asyncio.sleep(0)

    asyncio.run(main())


def many_threads() -> None:
    clock = VirtualClock()
    holds = [clock.hold(f"waiter {number}") for number in range(200)]

    def waiter(number: int) -> None:
        with clock.taken_over(holds[number]):
            clock.wait(Future(), 1 + number)

    run_threads(waiter)


def as_many_plain_threads() -> None:
    run_threads(lambda number: number)


def run_threads(body: Callable[[int], object]) -> None:
    threads = [threading.Thread(target=body, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def many_tasks() -> None:
    clock = VirtualClock()

    async def main() -> None:
        await asyncio.gather(*(clock.wait_async(Future(), 1 + number) for number in range(200)))

    run_virtual(main(), clock)


def as_many_plain_tasks() -> None:
    async def main() -> None:
        await asyncio.gather(*(asyncio.sleep(0) for _ in range(200)))

    asyncio.run(main())


def drive(*, datetime: bool) -> Callable[[], None]:
    def body() -> None:
        with driving(VirtualClock(), datetime=datetime):
            pass

    return body


def main() -> None:
    frozen.warm()
    against(
        "wait of 120 s, mail at 119 s, thread",
        wait_in_thread,
        "real wait for a thread",
        real_wait,
        200,
    )
    against(
        "wait of 120 s, mail at 119 s, loop", wait_on_loop, "empty asyncio.run", plain_loop, 100
    )
    against(
        "24 hours in sleeps of 10 s, thread",
        day_in_thread,
        "empty loop rounds",
        as_many_rounds_of_a_plain_loop,
        5,
    )
    against(
        "24 hours in sleeps of 10 s, loop",
        day_on_loop,
        "empty loop rounds",
        as_many_rounds_of_a_plain_loop,
        5,
    )
    against(
        "200 threads that wait", many_threads, "200 threads that do not", as_many_plain_threads, 10
    )
    against("200 tasks that wait", many_tasks, "200 tasks that do not", as_many_plain_tasks, 20)
    against("a drive with datetime", drive(datetime=True), "one without", drive(datetime=False), 50)


if __name__ == "__main__":
    main()
