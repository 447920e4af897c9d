"""Calls after some real seconds, all from one thread."""

from __future__ import annotations

import heapq
import os
import threading
from itertools import count
from typing import TYPE_CHECKING

from pytest_agentmail.clock.inside import inside
from pytest_agentmail.clock.wall import WALL

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Timers", "timers"]


class Timers:
    """Calls back when time is up. Its thread is there only while there is something to wait for."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        """Begin anew; in a forked child, where the thread and whoever held the lock are gone."""
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, Callable[[], object]]] = []
        self._live: set[int] = set()
        self._numbers = count()
        self._thread: threading.Thread | None = None

    def after(self, seconds: float, tell: Callable[[], object]) -> Callable[[], None]:
        """Have `tell`, which must not raise, called in `seconds` of real time.

        Returns:
            What takes it back; does nothing once it was called.
        """
        with self._changed:
            number = next(self._numbers)
            self._live.add(number)
            heapq.heappush(self._heap, (WALL.monotonic() + seconds, number, tell))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="agentmail-timers", daemon=True
                )
                with inside(None):  # it serves everybody, so it is part of nobody's drive
                    self._thread.start()
            self._changed.notify()

        def cancel() -> None:
            with self._changed:
                self._live.discard(number)
                self._changed.notify()

        return cancel

    def _run(self) -> None:
        while (tell := self._next_due()) is not None:
            tell()

    def _next_due(self) -> Callable[[], object] | None:
        """Wait for the next call that is due; None when there is nothing more to wait for."""
        with self._changed:
            while self._heap:
                due, number, tell = self._heap[0]
                left = due - WALL.monotonic()
                if number in self._live and left > 0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                    continue
                heapq.heappop(self._heap)
                if number in self._live:
                    self._live.remove(number)
                    return tell
            self._thread = None
            return None


timers: Timers = Timers()
"""Those of this process."""

os.register_at_fork(after_in_child=timers._forget)  # noqa: SLF001  (ours)
