"""Which threads live in virtual time."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_agentmail.clock.virtual import VirtualClock

__all__ = ["clock_of_thread", "inside"]


class _Inside(threading.local):
    clock: VirtualClock | None = None


_inside = _Inside()


def clock_of_thread() -> VirtualClock | None:
    """The clock that drives the calling thread; None if it lives in real time."""
    return _inside.clock


@contextmanager
def inside(clock: VirtualClock | None) -> Iterator[None]:
    """Have `clock` drive the calling thread; None for real time."""
    before = _inside.clock
    _inside.clock = clock
    try:
        yield
    finally:
        _inside.clock = before


def _leave_in_child() -> None:
    _inside.clock = None


# The clock stays behind in the parent: a fork must not wait on its copy.
os.register_at_fork(after_in_child=_leave_in_child)
