"""Work in executors keeps time still, from its submission until its result is known."""

from __future__ import annotations

import concurrent.futures
import math
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from pytest_agentmail.clock.inside import inside, scope_of_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_agentmail.clock.holds import Hold
    from pytest_agentmail.clock.virtual import VirtualClock

__all__ = ["submit"]

T = TypeVar("T")


def submit(
    clock: VirtualClock,
    executor: Executor,
    send: Callable[..., Future[T]],
    func: Callable[..., T],
    *args: Any,
    **kwargs: Any,
) -> Future[T]:
    """Submit work that takes part in virtual time.

    Args:
        clock: The clock to hold.
        executor: Where the work is to run.
        send: The executor's own way to submit.
        func: The work, followed by its arguments.
    """
    if isinstance(executor, _ELSEWHERE):
        hold = clock.hold(f"{_name(func)} runs in {type(executor).__name__}")
        future = send(func, *args, **kwargs)
        future.add_done_callback(lambda _: hold.release())
        return future
    crew = _crews.setdefault(executor, WeakKeyDictionary()).setdefault(clock, _Crew(clock, executor))
    return crew.submit(send, func, *args, **kwargs)


class _Crew:
    """One executor's threads, and what waits for a free one.

    Work that waits for a thread holds time only if there is a free thread: otherwise it would keep
    those that sleep from ever becoming free.
    """

    def __init__(self, clock: VirtualClock, executor: Executor) -> None:
        self._clock = clock
        # Every executor of the standard library has it; nothing public tells the number.
        self._threads: float = getattr(executor, "_max_workers", math.inf)
        self._waiting = 0
        self._running = 0
        self._handover: Hold | None = None

    def submit(
        self, send: Callable[..., Future[T]], func: Callable[..., T], *args: Any, **kwargs: Any
    ) -> Future[T]:
        holds: list[Hold] = []
        scope = scope_of_thread()

        def work() -> T:
            holds.append(self._begin(_name(func)))
            with holds[0].carried(), inside(scope):
                return func(*args, **kwargs)

        self._count(waiting=+1)
        try:
            future = send(work)
        except BaseException:
            self._count(waiting=-1)
            raise
        future.add_done_callback(lambda _: self._end(holds))
        return future

    def _begin(self, name: str) -> Hold:
        hold = self._clock.hold(f"{name} runs in an executor")
        self._count(waiting=-1, running=+1)
        return hold

    def _end(self, holds: list[Hold]) -> None:
        if holds:
            self._count(running=-1)
            holds[0].release()
        else:
            self._count(waiting=-1)

    def _count(self, waiting: int = 0, running: int = 0) -> None:
        with self._clock.keeper.lock:
            self._waiting += waiting
            self._running += running
            startable = self._waiting > 0 and self._running < self._threads
            if startable and self._handover is None:
                self._handover = self._clock.hold("work waits for a thread of its executor")
            elif not startable and self._handover is not None:
                self._handover.release()
                self._handover = None


_ELSEWHERE: tuple[type[Executor], ...] = tuple(
    getattr(concurrent.futures, name)
    for name in ("ProcessPoolExecutor", "InterpreterPoolExecutor")
    if hasattr(concurrent.futures, name)
)
_crews: WeakKeyDictionary[Executor, WeakKeyDictionary[VirtualClock, _Crew]] = WeakKeyDictionary()


def _name(func: object) -> str:
    inner = getattr(func, "func", func)
    if getattr(inner, "__name__", "") == "run" and getattr(func, "args", ()):
        inner = func.args[0]  # type: ignore[attr-defined] - asyncio.to_thread wraps in context.run
    return str(getattr(inner, "__qualname__", inner))
