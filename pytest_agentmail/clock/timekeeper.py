"""When virtual time moves, and whom it wakes.

Whoever waits tends the clock: the last one to park moves time on. If the last obstacle goes away in
a thread that does not wait, it rings one that does. So there is no thread of the clock's own.

Time moves only while nothing is in force in `holds`; a running thread or loop is a hold, too.
Waiters are woken one after the other: the next one follows when the first has parked again. That
makes the order of everything that happens at one instant the same in every run.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_agentmail.clock import diagnosis
from pytest_agentmail.clock.agenda import Agenda, Event, Waiter
from pytest_agentmail.clock.holds import Holds
from pytest_agentmail.clock.inside import Dismissed
from pytest_agentmail.clock.jumps import Jumps
from pytest_agentmail.clock.wall import WALL
from pytest_agentmail.errors import ClockError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pytest_agentmail.clock.holds import Hold
    from pytest_agentmail.clock.inside import Scope

__all__ = ["Limits", "Timekeeper"]

# Real seconds; selectors and locks take no infinite number.
_LONGEST_BLOCK = 3600.0


@dataclass(frozen=True)
class Limits:
    """How long, in real seconds, and how often the clock puts up with something."""

    settle_io: float
    idle_after: float
    held_limit: float
    max_jumps: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value >= 0:
                raise ClockError(
                    f"{name} of a virtual clock must be 0 or more, but it is {value!r}"
                )


class Timekeeper:
    """The time in microseconds, what is due, what holds it, and who waits.

    Args:
        limits: What the clock puts up with.
        end: The last microsecond there is.
        tell: Turns microseconds into what people read.
    """

    def __init__(self, limits: Limits, end: int, tell: Callable[[int], str]) -> None:
        self.now: int = 0
        self.lock: threading.RLock = threading.RLock()
        self.holds: Holds = Holds(self.lock, self._on_change)
        self.agenda: Agenda = Agenda()
        self.movers: list[Callable[[], None]] = []
        self._limits = limits
        self._end = end
        self._tell = tell
        self._parked: dict[Waiter, None] = {}
        self._aside: dict[Waiter, None] = {}
        self._jumps = Jumps()
        self._quiet_since = WALL.monotonic()
        self._inside_event: int | None = None

    def park(self, waiter: Waiter, block: Callable[[float], object]) -> None:
        """Wait until `waiter` may go on.

        Args:
            waiter: The caller.
            block: Blocks the caller for so many real seconds at most, less if it is rung; a true
                answer ends the wait.

        Raises:
            ClockError: Nothing could ever wake it.
        """
        self._enter(waiter)
        try:
            while (seconds := self._tend(waiter)) is not None:
                if block(seconds):
                    break
        finally:
            self._leave(waiter)
        if waiter.dismissed:
            raise Dismissed
        if waiter.error is not None:
            raise ClockError(waiter.error)

    def wake(self, waiter: Waiter) -> None:
        """Let `waiter` go on: what it waited for has happened."""
        with self.lock:
            self.progress()
            self._release(waiter)

    def schedule(self, when: int, callback: Callable[[], object]) -> Event:
        """Enter an event of the world, and have somebody who waits look at it."""
        with self.lock:
            event = self.agenda.call(max(when, self.now), callback)
            self._on_change()
        return event

    def run_due(self) -> None:
        """Let the world do what is due by now, without waiting for anybody."""
        with self.lock:
            while (due := self.agenda.next()) is not None:
                when, entry = due
                if when > self.now or isinstance(entry, Waiter):
                    break
                self.agenda.discard(entry)
                self._run(entry)

    def step_out(self, waiter: Waiter) -> None:
        """Let time move while `waiter` blocks on something other than the clock."""
        with self.lock:
            self._aside[waiter] = None
            for hold in waiter.holds:
                hold.lift()
            self._on_change()

    def step_in(self, waiter: Waiter) -> None:
        """Undo `step_out`; doing it again does nothing."""
        with self.lock:
            if waiter in self._aside:
                del self._aside[waiter]
                for hold in waiter.holds:
                    hold.resume()

    def dismiss(self, scope: Scope) -> None:
        """Have the threads of a drive that is over, and still wait, end."""
        with self.lock:
            for waiter in tuple(self._parked):
                if waiter.scope is scope:
                    waiter.dismissed = True
                    self._release(waiter)

    def progress(self) -> None:
        """Note that something happened that somebody waited for."""
        self._jumps.clear()

    @contextmanager
    def given_up(self, holds: Iterable[Hold]) -> Iterator[None]:
        """Give up what a task holds, while it waits on this clock."""
        with self.lock:
            for hold in holds:
                hold.lift()
        try:
            yield
        finally:
            with self.lock:
                for hold in holds:
                    hold.resume()

    def _enter(self, waiter: Waiter) -> None:
        with self.lock:
            if self._inside_event == threading.get_ident():
                raise ClockError(diagnosis.waiting_inside_event(waiter.what))
            if waiter.woken:
                return
            self._parked[waiter] = None
            self.agenda.await_deadline(waiter)
            for hold in waiter.holds:
                hold.lift()
            self._quiet_since = WALL.monotonic()

    def _leave(self, waiter: Waiter) -> None:
        with self.lock:
            if waiter in self._parked:
                self._release(waiter)

    def _release(self, waiter: Waiter) -> None:
        waiter.woken = True
        if waiter not in self._parked:
            return
        del self._parked[waiter]
        self.agenda.discard(waiter)
        for hold in waiter.holds:
            hold.resume()
        waiter.ring()

    def _on_change(self) -> None:
        self._quiet_since = WALL.monotonic()
        if self._parked and not self.holds.stand_firm:
            due = self.agenda.next()
            entry = due and due[1]
            next_one = entry if isinstance(entry, Waiter) else next(iter(self._parked))
            next_one.ring()

    def _tend(self, me: Waiter) -> float | None:
        """Move time on until `me` is woken: None; or tell for how long to block first."""
        with self.lock:
            while not me.woken:
                if self.holds.in_force():
                    if seconds := self._left(self._limits.held_limit):
                        return min(seconds, self.holds.until_next_expires())
                    limit = self._limits.held_limit
                    self._fail(diagnosis.held(self.holds, self._everybody(), limit))
                elif not self._wake_readable():
                    if self._is_open() and (seconds := self._left(self._limits.settle_io)):
                        return seconds
                    if (due := self.agenda.next()) is not None:
                        self._step(me, *due)
                    elif seconds := self._left(self._patience_when_idle()):
                        return seconds
                    else:
                        self._fail(diagnosis.idle(self._everybody()))
        return None

    def _left(self, seconds: float) -> float:
        """How much is left of so many real seconds since the world last stirred."""
        return min(_LONGEST_BLOCK, max(0.0, self._quiet_since + seconds - WALL.monotonic()))

    def _everybody(self) -> tuple[Waiter, ...]:
        return (*self._parked, *self._aside)

    def _is_open(self) -> bool:
        return any(waiter.is_open for waiter in self._parked)

    def _patience_when_idle(self) -> float:
        if self._is_open() or self._aside:
            return self._limits.held_limit
        return self._limits.idle_after

    def _wake_readable(self) -> bool:
        for waiter in self._parked:
            if waiter.readable():
                self._stir(waiter)
                return True
        return False

    def _stir(self, waiter: Waiter) -> None:
        self._quiet_since = WALL.monotonic()
        self._release(waiter)

    def _step(self, me: Waiter, when: int, entry: Event | Waiter) -> None:
        if when > self.now:
            self._jump(when, entry)
            if me.woken:
                return
        self.agenda.discard(entry)
        if isinstance(entry, Waiter):
            self._stir(entry)
            return
        self._run(entry)
        if me.restless:
            self._stir(me)

    def _jump(self, when: int, entry: Event | Waiter) -> None:
        if when > self._end:
            self._fail(diagnosis.end_of_time(self._everybody(), self._tell(self._end)))
        elif self._jumps.total >= self._limits.max_jumps:
            self._fail(diagnosis.endless(self._jumps, self._everybody(), self._tell(self.now)))
            self._jumps.clear()
        else:
            self._jumps.count(entry.what)
            self.now = when
            for mover in self.movers:
                mover()

    def _run(self, event: Event) -> None:
        """Let the world act. The lock is free meanwhile, and a hold keeps time still."""
        hold = self.holds.take("the world acts")
        self._inside_event = threading.get_ident()
        self.lock.release()
        try:
            event.callback()
        finally:
            self.lock.acquire()
            self._inside_event = None
            hold.release()

    def _fail(self, text: str) -> None:
        self._quiet_since = WALL.monotonic()
        for waiter in tuple(self._parked):
            waiter.error = text
            self._release(waiter)
