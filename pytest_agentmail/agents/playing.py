"""Let the mail of a history arrive in a run."""

from __future__ import annotations

import threading
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_agentmail.clock.agenda import Event
    from pytest_agentmail.clock.virtual import VirtualClock
    from pytest_agentmail.world import MailArrives

__all__ = ["Playing"]


class Playing:
    """Plans arrivals from the run's first signal on, and anew from its first request.

    Args:
        arrivals: What arrives, earliest first.
        clock: When.
        arrive: Writes one of them, given its number.
    """

    def __init__(
        self,
        arrivals: Sequence[MailArrives],
        clock: VirtualClock,
        arrive: Callable[[int, MailArrives], None],
    ) -> None:
        self._coming = dict(enumerate(arrivals, start=1))
        self._clock = clock
        self._arrive = arrive
        self._lock = threading.Lock()
        self._planned: list[Event] = []
        self._begun: set[str] = set()

    def on_signal(self) -> None:
        """The run expects a mail."""
        self._begin("signal", unless={"signal", "request"})

    def on_request(self) -> None:
        """The run has asked for a mail."""
        self._begin("request", unless={"request"})

    def stop(self) -> None:
        """Let nothing more arrive."""
        with self._lock:
            for event in self._planned:
                event.cancel()

    def _begin(self, cause: str, *, unless: set[str]) -> None:
        with self._lock:
            if self._begun & unless:
                return
            self._begun.add(cause)
            for event in self._planned:
                event.cancel()
            # One event an instant: whoever waits sees all that arrives at once, or nothing of it.
            self._planned = [
                self._clock.call_later(after, partial(self._arrive_together, dict(together)))
                for after, together in groupby(self._coming.items(), lambda each: each[1].after)
            ]

    def _arrive_together(self, arrivals: Mapping[int, MailArrives]) -> None:
        with self._lock:
            for number in arrivals:
                del self._coming[number]
        for number, arrival in arrivals.items():
            self._arrive(number, arrival)
