"""`datetime` follows our clock while it drives; and who else froze it."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_agentmail.errors import ClockError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_agentmail.clock.virtual import VirtualClock

__all__ = ["REAL_PACKAGES", "following", "frozen_by", "frozen_by_us", "frozen_hint", "warm"]

# These wait for real things, or measure the suite itself.
REAL_PACKAGES = frozenset(
    {
        "_pytest",
        "asyncio",
        "concurrent",
        "execnet",
        "multiprocessing",
        "pytest_timeout",
        "queue",
        "selectors",
        "socketserver",
        "subprocess",
        "threading",
        "xdist",
    }
)
# freezegun takes its ignore list for callers up to five frames away, too. So nothing may stand in
# it that is near to every test, as `_pytest.python` is, or that runs coroutines.
_IGNORE = [
    "_pytest.runner",
    "_pytest.terminal",
    "_pytest.timing",
    "execnet",
    "multiprocessing",
    "pytest_timeout",
    "queue",
    "selectors",
    "socketserver",
    "subprocess",
    "threading",
    "xdist",
]
_TIME_MACHINE_STACKS = ("traveller_stack", "coordinates_stack")


def frozen_by() -> str | None:
    """Who, other than our clock, has frozen `datetime`: "freezegun", "time-machine" or None."""
    freezegun = sys.modules.get("freezegun.api")
    frozen = [] if freezegun is None else freezegun.freeze_factories
    if any(factory is not _bridge.factory for factory in frozen):
        return "freezegun"
    time_machine = sys.modules.get("time_machine")
    if any(getattr(time_machine, name, None) for name in _TIME_MACHINE_STACKS):
        return "time-machine"
    return None


def frozen_hint() -> str | None:
    """A sentence for a failed wait in real time, where `datetime` stands still."""
    other = frozen_by()
    if other is None:
        return None
    return (
        f"time is frozen by {other}: a wait takes real seconds, while delays, leases and expiry "
        f"follow the frozen time"
    )


def frozen_by_us() -> bool:
    """Whether our clock sets `datetime` right now."""
    return _bridge.factory is not None


@cache
def warm() -> None:
    """Spend once what the first freeze costs: importing freezegun, and its scan of all modules."""
    if frozen_by() is not None:
        return
    from freezegun import freeze_time

    freezer = freeze_time(ignore=list(_IGNORE))
    freezer.start()
    freezer.stop()


@contextmanager
def following(clock: VirtualClock) -> Iterator[None]:
    """Have `datetime` and `time` follow `clock`, in every thread.

    Raises:
        ClockError: They follow something else already.
    """
    __tracebackhide__ = True
    _bridge.start(clock)
    try:
        yield
    finally:
        _bridge.stop()


class _Bridge:
    """The one freeze of ours; drives on the same clock share it."""

    def __init__(self) -> None:
        self.factory: Any = None
        self._lock = threading.Lock()
        self._clock: VirtualClock | None = None
        self._freezer: Any = None
        self._move: Callable[[], None]
        self._users = 0

    def start(self, clock: VirtualClock) -> None:
        __tracebackhide__ = True
        with self._lock:
            if self._clock is None:
                self._freeze(clock)
            elif self._clock is not clock:
                raise ClockError(
                    "two virtual clocks would set `datetime` at once; drive one run after the"
                    " other, or open one of them with datetime=False"
                )
            self._users += 1

    def stop(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._clock is not None:
                with self._clock.keeper.lock:
                    self._clock.keeper.movers.remove(self._move)
                self._freezer.stop()
                self._clock = self._freezer = self.factory = None

    def _freeze(self, clock: VirtualClock) -> None:
        __tracebackhide__ = True
        if (other := frozen_by()) is not None:
            raise ClockError(
                f"`datetime` is frozen by {other}, and the virtual clock of pytest_agentmail would"
                f" set it, too. Drop the freeze; or mark the test agentmail(datetime=False), which"
                f" leaves `datetime` to {other}; or agentmail(clock='real')"
            )
        from freezegun import freeze_time

        freezer = freeze_time(clock.now(), real_asyncio=True, ignore=list(_IGNORE))
        self.factory = freezer.start()
        self._freezer, self._clock = freezer, clock
        self._move = lambda: self.factory.move_to(clock.now())
        with clock.keeper.lock:
            clock.keeper.movers.append(self._move)


_bridge = _Bridge()
