"""Time in a driven agent.

While a drive runs, `time.sleep`, `time.time`, `time.monotonic`, `time.perf_counter` (and their
`_ns` twins), `asyncio.sleep` and event loops made by asyncio follow the virtual clock in the
threads of the drive: the one that drives, the threads started from there, and work submitted to
executors from there. Every other thread sees the functions that were there before.

What cannot be reached: a real function that was kept before in a closure, a default argument, a
container or an attribute of a class; `time.clock_gettime`; C code; loops made by calling
`asyncio.SelectorEventLoop` or uvloop directly. Those stay real, and hold time while they run.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from pytest_agentmail.clock.aliases import Aliases
from pytest_agentmail.clock.frozen import REAL_PACKAGES, following, frozen_by_us
from pytest_agentmail.clock.inside import Scope, driver_of_thread, inside
from pytest_agentmail.clock.loop import VirtualLoop, sleep_on_timer
from pytest_agentmail.clock.patches import Patches
from pytest_agentmail.clock.threads import followed
from pytest_agentmail.clock.wall import unfrozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_agentmail.clock.virtual import VirtualClock

    Function = Callable[..., Any]

__all__ = ["driving"]

_NANO = 1_000

_VIRTUAL: dict[str, Function] = {
    "time": lambda clock: clock.timestamp(),
    "time_ns": lambda clock: clock.epoch_microseconds() * _NANO,
    "monotonic": lambda clock: clock.monotonic(),
    "monotonic_ns": lambda clock: clock.microseconds() * _NANO,
    "perf_counter": lambda clock: clock.monotonic(),
    "perf_counter_ns": lambda clock: clock.microseconds() * _NANO,
    "sleep": lambda clock, seconds: clock.sleep(_checked(seconds)),
}
# freezegun freezes these, too; threads that we do not drive need them as they are.
_STEADY = frozenset(_VIRTUAL) - {"time", "time_ns"}
# These call functions on behalf of others; they do not sleep themselves.
_MIDDLEMEN = frozenset({"asyncio", "concurrent", "threading"})


@contextmanager
def driving(
    clock: VirtualClock, name: str = "the agent", *, datetime: bool = True
) -> Iterator[Scope]:
    """Run the code inside, and the threads it starts, in the time of `clock`.

    The calling thread takes part in `clock` meanwhile: time stands still while it does not wait.
    On leaving, threads that still wait on the clock end quietly, and all functions are real again.

    Args:
        clock: The clock to follow.
        name: What runs, for the texts of errors.
        datetime: Whether `datetime.now()` follows, too, in all threads.

    Raises:
        ClockError: `datetime` is frozen by somebody else.
    """
    __tracebackhide__ = True
    scope = Scope(clock, drives=True)
    with ExitStack() as stack:
        # Last of all, for other drives: the end of our freeze lays bare what they cover.
        stack.callback(_cover.renew)
        if datetime:
            stack.enter_context(following(clock))
        stack.enter_context(_cover.worn())
        stack.enter_context(followed())
        stack.callback(scope.end)
        stack.enter_context(clock.participate(name))
        stack.enter_context(inside(scope))
        yield scope


class _Cover:
    """The replaced functions, shared by all drives that go on at the same time."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._wearers = 0
        self._aliases = Aliases(REAL_PACKAGES)
        self._patches = Patches()
        self._beside: dict[str, Function] = {}
        self._functions = {name: self._dispatch(name) for name in _VIRTUAL}

    @contextmanager
    def worn(self) -> Iterator[None]:
        """Replace the functions for as long as the code inside runs, or another drive."""
        with self._lock:
            self._wearers += 1
            if self._wearers == 1:
                self._put_on_the_rest()
            self.renew()
        try:
            yield
        finally:
            with self._lock:
                self._wearers -= 1
                if not self._wearers:
                    self._take_off()

    def renew(self) -> None:
        """Cover what has been laid bare, if anybody drives."""
        with self._lock:
            if not self._wearers:
                return
            for name, function in self._functions.items():
                there = getattr(time, name)
                if there is not function:
                    steady = name in _STEADY and frozen_by_us()
                    self._beside[name] = unfrozen(name) if steady else there
                    self._patches.put(time, name, function)
                    self._aliases.know(name, there, unfrozen(name))
            self._aliases.cover(self._functions)

    def _put_on_the_rest(self) -> None:
        for module in (asyncio, asyncio.tasks):
            self._patches.put(module, "sleep", _sleep_on_loop)
        # Before 3.14 every way to make a loop leads through the policy; then there is none.
        is_old = sys.version_info < (3, 14)
        owners = (asyncio.get_event_loop_policy(),) if is_old else (asyncio, asyncio.events)
        for owner in owners:
            self._patches.put(owner, "new_event_loop", _loop_maker(owner.new_event_loop))

    def _take_off(self) -> None:
        self._aliases.uncover(self._functions, self._beside)
        self._patches.take_back()

    def _dispatch(self, name: str) -> Function:
        virtual = _VIRTUAL[name]
        real = REAL_PACKAGES - _MIDDLEMEN if name == "sleep" else REAL_PACKAGES

        def function(*args: Any) -> Any:
            clock = driver_of_thread()
            if clock is None or _caller() in real:
                return self._beside[name](*args)
            return virtual(clock, *args)

        function.__name__ = function.__qualname__ = name
        return function


_cover = _Cover()


def _caller() -> str:
    """The top-level package of the code that asked for the time."""
    name: str = sys._getframe(2).f_globals.get("__name__", "")  # noqa: SLF001 - as logging does
    return name.partition(".")[0]


def _checked(seconds: float) -> float:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    return seconds


async def _sleep_on_loop(delay: float, result: Any = None) -> Any:
    """As `asyncio.sleep`; in a drive, a step that sleeps gives up its hold meanwhile."""
    return await sleep_on_timer(driver_of_thread(), delay, result)


def _loop_maker(before: Callable[[], asyncio.AbstractEventLoop]) -> Function:
    def new_event_loop() -> asyncio.AbstractEventLoop:
        clock = driver_of_thread()
        return before() if clock is None else VirtualLoop(clock)

    return new_event_loop
