"""Let the mail of a history arrive in a run."""

from __future__ import annotations

import threading
from functools import partial
from itertools import count, groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_agentmail.clock.agenda import Event
    from pytest_agentmail.clock.virtual import VirtualClock
    from pytest_agentmail.world import MailArrives

__all__ = ["Playing"]


class Playing:
    """Plans arrivals from the run's first signal on, and anew from its first request.

    Args:
        clock: When they arrive.
        arrive: Writes one of them, given its number.
    """

    def __init__(self, clock: VirtualClock, arrive: Callable[[int, MailArrives], None]) -> None:
        self._clock = clock
        self._arrive = arrive
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._coming: dict[int, MailArrives] = {}
        self._planned: list[Event] = []
        self._begun: set[str] = set()

    def add(self, arrivals: Iterable[MailArrives]) -> None:
        """Let these arrive too; where the run has begun, their time counts from now on."""
        with self._lock:
            added = dict(zip(self._numbers, arrivals, strict=False))
            self._coming |= added
            if self._begun:
                self._plan(added)

    def on_signal(self) -> None:
        """The run expects a mail."""
        self._begin("signal", unless={"signal", "request"})

    def on_request(self) -> None:
        """The run has asked for a mail."""
        self._begin("request", unless={"request"})

    def stop(self) -> None:
        """Let nothing more arrive."""
        with self._lock:
            self._coming.clear()
            self._cancel()

    def _begin(self, cause: str, *, unless: set[str]) -> None:
        with self._lock:
            if self._begun & unless:
                return
            self._begun.add(cause)
            self._cancel()
            self._plan(self._coming)

    def _cancel(self) -> None:
        for event in self._planned:
            event.cancel()
        self._planned.clear()

    def _plan(self, arrivals: Mapping[int, MailArrives]) -> None:
        # One event an instant: whoever waits sees all that arrives at once, or nothing of it.
        by_time = sorted(arrivals.items(), key=_time)
        for after, together in groupby(by_time, _time):
            numbers = [number for number, _ in together]
            event = self._clock.call_later(after, partial(self._arrive_together, numbers))
            self._planned.append(event)

    def _arrive_together(self, numbers: Sequence[int]) -> None:
        # A cancelled event may be under way already, in another thread: what it brings is gone
        # from what is coming, or comes with the event that was planned in its stead.
        with self._lock:
            arrivals = {n: self._coming.pop(n) for n in numbers if n in self._coming}
        for number, arrival in arrivals.items():
            self._arrive(number, arrival)


def _time(numbered: tuple[int, MailArrives]) -> float:
    return numbered[1].after
