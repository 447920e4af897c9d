"""What is due, and in which order."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from pytest_agentmail.clock.inside import scope_of_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_agentmail.clock.holds import Hold
    from pytest_agentmail.clock.inside import Scope

__all__ = ["Agenda", "Event", "Waiter"]

_EVENTS, _WAITERS = 0, 1


@dataclass(eq=False)
class Event:
    """Something the world does at a given time; `cancel()` takes it back.

    Attributes:
        when: The virtual time in microseconds.
        callback: Called without arguments, while time stands still.
    """

    when: int
    callback: Callable[[], object]
    _agenda: Agenda
    what = "an event of the world"

    def cancel(self) -> None:
        """Make it not happen; does nothing once it has."""
        self._agenda.discard(self)


@dataclass(eq=False)
class Waiter(ABC):
    """A thread or an event loop that waits for the clock.

    Attributes:
        deadline: The virtual time in microseconds at which it goes on anyway; None for never.
        what: What it does, for people: "sleeps 5 s".
        holds: What it gave up to wait, and takes back when it is woken.
        is_open: Whether something that the clock cannot see may wake it, such as a socket.
        woken: Whether it may go on.
        error: Why it cannot, after all.
        dismissed: Whether its drive is over.
        scope: The drive it belongs to.
    """

    deadline: int | None
    what: str
    holds: tuple[Hold, ...]
    is_open: bool = field(kw_only=True)
    woken: bool = field(default=False, init=False)
    error: str | None = field(default=None, init=False)
    dismissed: bool = field(default=False, init=False)
    scope: Scope | None = field(default_factory=scope_of_thread, init=False)

    # Wants to go on after every event that ran in its thread.
    restless = False

    def ring(self) -> None:  # noqa: B027 - those that never look at the clock keep this
        """Make it look at the clock again."""

    def readable(self) -> bool:
        """Whether a socket it waits for has something to say."""
        return False

    @abstractmethod
    def describe(self) -> str:
        """Who waits, and for what."""


class Agenda:
    """Events and deadlines in order of time; at the same instant events come first.

    Waiters due together follow in the order in which they joined the clock, which is the same in
    every run, and not in the order in which they happened to park.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, int, Event | Waiter]] = []
        self._entries: set[Event | Waiter] = set()
        self._order = count()

    def call(self, when: int, callback: Callable[[], object]) -> Event:
        """Enter an event."""
        event = Event(when, callback, self)
        self._push(when, _EVENTS, 0, event)
        return event

    def await_deadline(self, waiter: Waiter) -> None:
        """Enter the deadline of a waiter, if it has one."""
        if waiter.deadline is not None:
            joined = min(hold.order for hold in waiter.holds)
            self._push(waiter.deadline, _WAITERS, joined, waiter)

    def discard(self, entry: Event | Waiter) -> None:
        """Take an entry back."""
        self._entries.discard(entry)

    def next(self) -> tuple[int, Event | Waiter] | None:
        """The next entry and its time; None if there is nothing left."""
        while self._heap:
            when, _, _, _, entry = self._heap[0]
            if entry in self._entries:
                return when, entry
            heapq.heappop(self._heap)
        return None

    def _push(self, when: int, kind: int, joined: int, entry: Event | Waiter) -> None:
        self._entries.add(entry)
        heapq.heappush(self._heap, (when, kind, joined, next(self._order), entry))
