"""An event loop that lives in virtual time, and waiting from any other loop.

Only public parts of asyncio are used: a selector that is handed to `SelectorEventLoop`, and
overridden methods.
"""

from __future__ import annotations

import asyncio
import math
import selectors
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_agentmail.clock import diagnosis
from pytest_agentmail.clock.agenda import Waiter
from pytest_agentmail.clock.executors import submit
from pytest_agentmail.clock.inside import (
    Dismissed,
    Scope,
    driver_of_thread,
    inside,
    scope_of_thread,
)
from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.threads import followed
from pytest_agentmail.errors import ClockError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_agentmail.clock.virtual import VirtualClock

__all__ = ["VirtualLoop", "sleep_in_loop", "sleep_on_timer", "wait_in_loop"]

T = TypeVar("T")

# Kept here, since a drive replaces the one of asyncio.
_sleep = asyncio.sleep

# From here on the next greater float is further away than half a nanosecond.
_COARSE = 2.0**21
# The least bit of time: a timer must not be due before time has moved at all.
_LEAST = 1e-6
# How far a number of microseconds may be off, since it was computed from seconds.
_NOISE = 0.01


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose timers follow a virtual clock; sockets stay real.

    Time stands still while the loop has something to do, while its executors work, and while it
    shuts down.

    Args:
        clock: The clock to follow; several loops may share one.
    """

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self._gate = _Gate(self)
        self._executor: ThreadPoolExecutor | None = None
        self._works: set[Future[Any]] = set()
        self._scope = Scope(clock, drives=False)
        super().__init__(self._gate)
        # All that the loop has registered so far is its own: the pipe that wakes it.
        self._gate.own = len(self._gate.get_map())

    def time(self) -> float:
        """Virtual seconds since the clock's start."""
        now = self.clock.monotonic()
        if self._gate.has_looked:
            # The loop is about to run what is due before `now` plus a nanosecond. After 97 days
            # that sum is `now` again, and a timer due right now would keep it spinning.
            self._gate.has_looked = False
            return math.nextafter(now, math.inf) if now > _COARSE else now
        return now

    def run_forever(self) -> None:
        """Run until `stop()`; meanwhile the loop holds time whenever it has something to do.

        Threads that are started from it take part, too.
        """
        name = diagnosis.thread_name(threading.get_ident())
        scope = self._scope if driver_of_thread() is None else scope_of_thread()
        with self.clock.participate(f"the event loop in thread {name}"), inside(scope), followed():
            super().run_forever()

    def close(self) -> None:
        """As ever; and let go of the threads that were started from it."""
        self._scope.end()
        super().close()

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """As ever; a delay lasts a microsecond at least.

        A shorter one, such as what floats leave of a deadline, would pass without time moving, and
        whoever sleeps for the rest until there is none would never end.
        """
        least = _LEAST if delay > 0 else delay
        return super().call_later(max(delay, least), callback, *args, context=context)

    def nudge(self) -> None:
        """Make the loop go round once more."""
        self.call_soon_threadsafe(lambda: None)

    def set_default_executor(self, executor: ThreadPoolExecutor) -> None:  # type: ignore[override]
        """Use `executor` for `run_in_executor(None, …)`."""
        self._executor = executor
        super().set_default_executor(executor)

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run `func` in an executor; time stands still until the loop knows the result."""
        work = submit(self.clock, executor or self._own_executor(), func, *args)
        self._works.add(work)
        work.add_done_callback(self._works.discard)
        return asyncio.wrap_future(work, loop=self)

    def _own_executor(self) -> ThreadPoolExecutor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(thread_name_prefix="virtual")
            super().set_default_executor(self._executor)
        return self._executor

    async def shutdown_default_executor(self, *args: Any, **kwargs: Any) -> None:
        """Wait for the executor's work, which may take virtual time, then for its threads."""
        if self._works:
            await asyncio.wait([asyncio.wrap_future(work) for work in self._works])
        hold = self.clock.hold("an event loop shuts down its executor")
        try:
            await super().shutdown_default_executor(*args, **kwargs)
        finally:
            hold.release()


class _Gate(selectors.BaseSelector):
    """The loop's selector: before it would block, it parks the loop at the clock."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.own = 0
        self.has_looked = False
        self.inner = selectors.DefaultSelector()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; time may move while nothing is."""
        self.has_looked = True
        ready = self.inner.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        clock = self._loop.clock

        def block(seconds: float) -> bool:
            nonlocal ready
            ready = self.inner.select(seconds)
            return bool(ready)

        clock.keeper.park(_ParkedLoop(self._loop, self, timeout), block)
        # All that the world does at this instant comes before the loop's timers.
        clock.keeper.run_due()
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Pass on."""
        return self.inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Pass on."""
        return self.inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Pass on."""
        return self.inner.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """Pass on."""
        return self.inner.get_map()

    def close(self) -> None:
        """Pass on."""
        self.inner.close()


class _ParkedLoop(Waiter):
    """A loop that has nothing to do before `deadline`."""

    restless = True

    def __init__(self, loop: VirtualLoop, gate: _Gate, timeout: float | None) -> None:
        until = "for ever" if timeout is None else f"for {timeout:g} s"
        super().__init__(
            _deadline(loop.clock, timeout),
            f"an event loop sleeps {until}",
            loop.clock.keeper.holds.of_caller(),
            is_open=len(gate.get_map()) > gate.own,
        )
        self._thread = threading.get_ident()
        self._loop = loop
        self._gate = gate

    def ring(self) -> None:
        if threading.get_ident() != self._thread:
            self._loop.nudge()

    def readable(self) -> bool:
        return bool(self._gate.inner.select(0))

    def describe(self) -> str:
        name = diagnosis.thread_name(self._thread)
        tasks = sorted(asyncio.all_tasks(self._loop), key=lambda task: task.get_name())
        listed = "".join(f"\n      task {task.get_name()!r}{_stand(task)}" for task in tasks)
        return f"the event loop in thread {name}, with {len(tasks)} tasks:{listed}"


def _stand(task: asyncio.Task[Any]) -> str:
    frames = task.get_stack(limit=1)
    return diagnosis.place(frames[0]) if frames else ""


def _deadline(clock: VirtualClock, timeout: float | None) -> int | None:
    """The microsecond at which a loop's timer is due.

    Seconds as floats are off by a few parts of a microsecond; rounding those up would end each
    sleep a microsecond late.
    """
    if timeout is None:
        return None
    exact = timeout * 1_000_000
    whole = round(exact)
    return clock.microseconds() + max(1, whole if abs(exact - whole) < _NOISE else math.ceil(exact))


async def sleep_on_timer(clock: VirtualClock | None, seconds: float, result: Any = None) -> Any:
    """As `asyncio.sleep`; on a loop that follows `clock`, the task gives up its holds meanwhile."""
    if clock is None or not _follows(clock):
        return await _sleep(seconds, result)
    keeper = clock.keeper
    with keeper.given_up(keeper.holds.of_context()):
        return await _sleep(seconds, result)


async def sleep_in_loop(clock: VirtualClock, seconds: float) -> None:
    """Suspend the running task for `seconds` of `clock`, whatever loop it runs on."""
    if _follows(clock):
        await sleep_on_timer(clock, max(0.0, seconds))
    else:
        await _wait_in_thread(clock, Future(), seconds)


async def wait_in_loop(clock: VirtualClock, wakeup: Future[None], timeout: float) -> bool:
    """Suspend the running task until `wakeup` is done or `timeout` seconds of `clock` passed."""
    try:
        if timeout <= 0:
            clock.keeper.run_due()
        elif not wakeup.done():
            await (_wait_on_timer if _follows(clock) else _wait_in_thread)(clock, wakeup, timeout)
    finally:
        woken = not wakeup.cancel()
    return woken


async def _wait_on_timer(clock: VirtualClock, wakeup: Future[None], timeout: float) -> None:
    keeper = clock.keeper
    wakeup.add_done_callback(lambda _: keeper.progress())
    waiter = asyncio.wrap_future(wakeup)
    with keeper.given_up(keeper.holds.of_context()):
        await asyncio.wait([waiter], timeout=None if timeout == math.inf else timeout)


def _follows(clock: VirtualClock) -> bool:
    loop = asyncio.get_running_loop()
    return isinstance(loop, VirtualLoop) and loop.clock is clock


async def _wait_in_thread(clock: VirtualClock, wakeup: Future[None], timeout: float) -> None:
    """Wait on a loop that does not follow the clock, so that it cannot be parked."""
    keeper = clock.keeper
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    ended: Future[None] = Future()
    failures: list[BaseException] = []
    # In force again from the moment the thread is woken until the task goes on.
    hold = clock.hold("a task that waited goes on")

    def wait() -> None:
        try:
            with hold.carried():
                clock.wait_beside_loop(ended, timeout)
        except (ClockError, Dismissed) as error:
            failures.append(error)
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(told.set)

    try:
        wakeup.add_done_callback(lambda _: ring(ended))
        with keeper.given_up(keeper.holds.of_caller()):
            threading.Thread(target=wait, name="virtual wait").start()
            await told.wait()
    finally:
        ring(ended)
        hold.release()
    if failures:
        raise failures[0]
