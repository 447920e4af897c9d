"""Let the mail of a history arrive in a run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
            self._planned = [
                self._clock.call_later(arrival.after, self._arrival(number, arrival))
                for number, arrival in self._coming.items()
            ]

    def _arrival(self, number: int, arrival: MailArrives) -> Callable[[], None]:
        def arrives() -> None:
            with self._lock:
                self._coming.pop(number, None)
            self._arrive(number, arrival)

        return arrives
