"""Which threads take part in virtual time, and for how long."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_agentmail.clock.holds import Hold
    from pytest_agentmail.clock.virtual import VirtualClock

__all__ = ["Dismissed", "Scope", "driver_of_thread", "inside", "scope_of_thread"]


class Dismissed(BaseException):
    """The drive is over, and the thread was still waiting on its clock; ends the thread."""


class Scope:
    """One drive, or one virtual loop: its threads take part in `clock` until it ends.

    Attributes:
        clock: The clock to take part in.
        drives: Whether the functions of `time` follow it, too.
        ended: Whether it is over; what still runs lives in real time again.
    """

    def __init__(self, clock: VirtualClock, *, drives: bool) -> None:
        self.clock = clock
        self.drives = drives
        self.ended: bool = False
        self._holds: set[Hold] = set()

    def hold(self, reason: str) -> Hold:
        """Take a hold that ends with the scope at the latest."""
        hold = self.clock.hold(reason)
        self._holds.add(hold)
        return hold

    def release(self, hold: Hold) -> None:
        """End one of its holds."""
        self._holds.discard(hold)
        hold.release()

    def end(self) -> None:
        """Let go of what still runs, and end what still waits on the clock."""
        self.ended = True
        for hold in tuple(self._holds):
            self.release(hold)
        self.clock.keeper.dismiss(self)


class _Here(threading.local):
    scope: Scope | None = None


_here = _Here()


def scope_of_thread() -> Scope | None:
    """What the calling thread takes part in; None if that is nothing."""
    scope = _here.scope
    return None if scope is None or scope.ended else scope


def driver_of_thread() -> VirtualClock | None:
    """The clock that the calling thread's functions of `time` follow, if any."""
    scope = scope_of_thread()
    return scope.clock if scope is not None and scope.drives else None


@contextmanager
def inside(scope: Scope | None) -> Iterator[None]:
    """Run the calling thread in `scope`."""
    before = _here.scope
    _here.scope = scope
    try:
        yield
    finally:
        _here.scope = before


def _leave() -> None:
    _here.scope = None


# The clock stays behind in the parent; a forked child must not wait on its copy.
os.register_at_fork(after_in_child=_leave)
