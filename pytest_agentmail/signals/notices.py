"""Wake-ups from outside, such as a webhook's (B12)."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_agentmail.clock.pausing import ring

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

__all__ = ["Notices"]


class Notices:
    """Who was told that something may have happened; notices that nobody took yet are one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: set[str] = set()
        self._sleepers: defaultdict[str, set[Future[None]]] = defaultdict(set)

    def give(self, name: str) -> None:
        """Wake whoever sleeps for `name`, or will."""
        with self._lock:
            self._given.add(name)
            wakeups = list(self._sleepers[name])
        for wakeup in wakeups:
            ring(wakeup)

    def take(self, name: str) -> bool:
        """Whether a notice was given since one was taken last."""
        with self._lock:
            given = name in self._given
            self._given.discard(name)
            return given

    @contextmanager
    def sleeping(self, name: str, wakeup: Future[None]) -> Iterator[None]:
        """Have `wakeup` resolved by the next notice."""
        with self._lock:
            self._sleepers[name].add(wakeup)
        try:
            yield
        finally:
            with self._lock:
                self._sleepers[name].discard(wakeup)
