"""Reasons why virtual time stands still, and who gives them up while waiting."""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Self

from pytest_agentmail.clock.wall import WALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

__all__ = ["Hold", "Holds"]

# Two kinds of ownership. What a *context* holds (a step) follows a task into its child tasks and
# into `asyncio.to_thread`. What a *thread* holds (its running) is given up only when it blocks.
_of_context: ContextVar[tuple[Hold, ...]] = ContextVar("_of_context", default=())


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.holds: tuple[Hold, ...] = ()


_of_thread = _OfThread()


class Hold:
    """One reason why time stands still; in force until it is released, from any thread.

    As a context manager it belongs to the code inside, which gives it up while that code waits on
    the clock. Otherwise it stands until `release()`.
    """

    def __init__(self, book: Holds, reason: str, order: int, expires: float | None) -> None:
        self.reason = reason
        self.order = order
        self.expires = expires
        self.thread: int = threading.get_ident()
        self._book = book
        self._lifted = 0
        self._released = False

    def __repr__(self) -> str:
        return f"<Hold {self.reason!r}>"

    @property
    def in_force(self) -> bool:
        """Whether it keeps time from moving right now."""
        return not self._released and not self._lifted

    def release(self) -> None:
        """End it; ending it again does nothing."""
        with self._book.lock:
            self._released = True
            self._book.changed(self)

    def lift(self) -> None:
        """Stop keeping time still, once more; the caller holds the clock's lock."""
        self._lifted += 1
        self._book.note(self)

    def resume(self) -> None:
        """Undo one `lift`; the caller holds the clock's lock."""
        self._lifted -= 1
        self._book.note(self)

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Give it up for the code inside."""
        with self._book.lock:
            self.lift()
            self._book.changed(self)
        try:
            yield
        finally:
            with self._book.lock:
                self.resume()

    def __enter__(self) -> Self:
        _of_context.set((*_of_context.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _of_context.set(tuple(hold for hold in _of_context.get() if hold is not self))
        self.release()

    @contextmanager
    def carried(self) -> Iterator[None]:
        """Tie it to the calling thread, which gives it up whenever it blocks on the clock."""
        _of_thread.holds = (*_of_thread.holds, self)
        try:
            yield
        finally:
            _of_thread.holds = tuple(hold for hold in _of_thread.holds if hold is not self)


class Holds:
    """The holds of one clock.

    Args:
        lock: The clock's lock; re-entrant.
        on_change: Called, with the lock held, when a hold was taken, released or given up.
    """

    def __init__(self, lock: threading.RLock, on_change: Callable[[], None]) -> None:
        self.lock = lock
        self._on_change = on_change
        self._order = count()
        self._standing: dict[Hold, None] = {}

    def in_force(self) -> bool:
        """Whether time stands still; what has had its time is released first."""
        now = WALL.monotonic()
        for hold in self:
            if hold.expires is not None and hold.expires <= now:
                hold.release()
        return bool(self._standing)

    @property
    def stand_firm(self) -> bool:
        """Whether any of those in force ends only when it is released."""
        return any(hold.expires is None for hold in self._standing)

    def until_next_expires(self) -> float:
        """Real seconds until one of them ends by itself."""
        ends = [hold.expires for hold in self._standing if hold.expires is not None]
        return max(0.0, min(ends, default=math.inf) - WALL.monotonic())

    def __iter__(self) -> Iterator[Hold]:
        return iter(tuple(self._standing))

    def take(self, reason: str, at_most: float = math.inf) -> Hold:
        """Stop time from now on, for `at_most` real seconds."""
        expires = None if at_most == math.inf else WALL.monotonic() + at_most
        with self.lock:
            hold = Hold(self, reason, next(self._order), expires)
            self.changed(hold)
        return hold

    def note(self, hold: Hold) -> None:
        """Enter whether `hold` is in force."""
        if hold.in_force:
            self._standing[hold] = None
        else:
            self._standing.pop(hold, None)

    def changed(self, hold: Hold) -> None:
        """Enter whether `hold` is in force, and tell the clock."""
        self.note(hold)
        self._on_change()

    def of_context(self) -> tuple[Hold, ...]:
        """What the running code gives up while its task waits."""
        return self._ours(_of_context.get())

    def of_caller(self) -> tuple[Hold, ...]:
        """What the running code and its thread give up while the thread blocks."""
        return self._ours((*_of_thread.holds, *_of_context.get()))

    def _ours(self, holds: Iterable[Hold]) -> tuple[Hold, ...]:
        return tuple(hold for hold in holds if hold._book is self)  # noqa: SLF001 - same module
