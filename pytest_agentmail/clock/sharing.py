"""One virtual clock for a whole test: its event loop and its runs follow the same."""

from __future__ import annotations

import asyncio
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_agentmail.clock.loop import VirtualLoop
from pytest_agentmail.clock.virtual import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["clock_at_hand", "loops_follow", "running_clock", "virtual_loop_factory"]

_followed: list[VirtualClock] = []
_made: list[weakref.ref[VirtualLoop]] = []


def virtual_loop_factory() -> VirtualLoop:
    """Make an event loop whose timers take no real time.

    It follows the clock of the run that is open, or the one that `loops_follow` names; else one of
    its own, which runs that are opened later follow too.
    """
    loop = VirtualLoop(_followed[-1] if _followed else VirtualClock())
    _made[:] = [*map(weakref.ref, _open_loops()), weakref.ref(loop)]
    return loop


@contextmanager
def loops_follow(clock: VirtualClock) -> Iterator[None]:
    """Have the loops that `virtual_loop_factory` makes meanwhile follow `clock`."""
    _followed.append(clock)
    try:
        yield
    finally:
        _followed.remove(clock)


def running_clock() -> VirtualClock | None:
    """Get the clock of the running event loop; None if it runs in real time, or none runs."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return loop.clock if isinstance(loop, VirtualLoop) else None


def clock_at_hand() -> VirtualClock:
    """The clock of the running loop, or of the latest one that is open, or a new one."""
    clocks = [running_clock(), *(loop.clock for loop in reversed(_open_loops()))]
    return next((clock for clock in clocks if clock is not None), None) or VirtualClock()


def _open_loops() -> list[VirtualLoop]:
    """Those that `virtual_loop_factory` made, in that order."""
    made = (kept() for kept in _made)
    return [loop for loop in made if loop is not None and not loop.is_closed()]
