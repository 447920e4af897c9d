"""Work in executors keeps time still, from its submission until its result is known."""

from __future__ import annotations

import concurrent.futures
import math
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from pytest_agentmail.clock.inside import inside, scope_of_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future

    from pytest_agentmail.clock.holds import Hold
    from pytest_agentmail.clock.virtual import VirtualClock

__all__ = ["OUT_OF_PROCESS", "Work", "submit"]

T = TypeVar("T")

# These take only functions that can be pickled, and run them where there is no clock of ours.
OUT_OF_PROCESS: tuple[type[Executor], ...] = tuple(
    getattr(concurrent.futures, name)
    for name in ("ProcessPoolExecutor", "InterpreterPoolExecutor")
    if hasattr(concurrent.futures, name)
)


def submit(
    clock: VirtualClock, executor: Executor, func: Callable[..., T], *args: Any, **kwargs: Any
) -> Future[T]:
    """Submit work that takes part in virtual time."""
    if isinstance(executor, OUT_OF_PROCESS):
        hold = clock.hold(f"{_name(func)} runs in {type(executor).__name__}")
        future = executor.submit(func, *args, **kwargs)
        future.add_done_callback(lambda _: hold.release())
        return future
    crews = _crews.setdefault(executor, WeakKeyDictionary())
    crew = crews.get(clock)
    if crew is None:
        crew = crews[clock] = _Crew(executor)
    work = Work(clock, crew, func, args, kwargs)
    crew.count(clock, waiting=+1)
    try:
        future = executor.submit(work)
    except BaseException:
        crew.count(clock, waiting=-1)
        raise
    future.add_done_callback(lambda _: work.end())
    return future


class Work(Generic[T]):
    """One call in an executor: it holds time, and its thread belongs to whoever submitted it."""

    def __init__(
        self,
        clock: VirtualClock,
        crew: _Crew,
        func: Callable[..., T],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self._clock = clock
        self._crew = crew
        self._call = func, args, kwargs
        self._scope = scope_of_thread()
        self._hold: Hold | None = None

    def __call__(self) -> T:
        """Do the work, in the executor's thread."""
        func, args, kwargs = self._call
        self._hold = self._clock.hold(f"{_name(func)} runs in an executor")
        self._crew.count(self._clock, waiting=-1, running=+1)
        with self._hold.carried(), inside(self._scope):
            return func(*args, **kwargs)

    def end(self) -> None:
        """Let time go on; called when everybody who asked has been told of the result."""
        if self._hold is None:
            self._crew.count(self._clock, waiting=-1)
        else:
            self._crew.count(self._clock, running=-1)
            self._hold.release()


class _Crew:
    """The threads of one executor, and the work that waits for one of them.

    Work that waits holds time only while there is a free thread for it. Otherwise it would keep
    the threads that sleep from ever becoming free.
    """

    def __init__(self, executor: Executor) -> None:
        # Nothing public tells the number; every executor of the standard library has this.
        self._threads: float = getattr(executor, "_max_workers", math.inf)
        self._waiting = 0
        self._running = 0
        self._handover: Hold | None = None

    def count(self, clock: VirtualClock, waiting: int = 0, running: int = 0) -> None:
        """Note that so much more, or less, work waits or runs."""
        with clock.keeper.lock:
            self._waiting += waiting
            self._running += running
            can_start = self._waiting > 0 and self._running < self._threads
            if can_start and self._handover is None:
                self._handover = clock.hold("work is handed to a thread of its executor")
            elif not can_start and self._handover is not None:
                self._handover.release()
                self._handover = None


_crews: WeakKeyDictionary[Executor, WeakKeyDictionary[VirtualClock, _Crew]] = WeakKeyDictionary()


def _name(func: Any) -> str:
    """What is called; `asyncio.to_thread` wraps it in a call of `Context.run`."""
    inner = getattr(func, "func", func)
    if getattr(inner, "__name__", "") == "run" and getattr(func, "args", ()):
        inner = func.args[0]
    return str(getattr(inner, "__qualname__", inner))
