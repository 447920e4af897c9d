"""Keep the virtual clocks of all open runs still while a mail may be on its way."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pytest_agentmail.mail.smtp.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pytest_agentmail.clock.holds import Hold
    from pytest_agentmail.clock.virtual import VirtualClock

__all__ = ["Stillness"]

_SILENT_AT_MOST = 0.5
_SENDING_AT_MOST = 30.0


class Stillness(Traffic):
    """The sink's traffic, turned into holds; which run a mail is for is not known before RCPT.

    A client that only connects holds time for half a real second, since many keep connections open.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clocks: set[VirtualClock] = set()
        self._holds: dict[Hashable, list[Hold]] = {}

    def add(self, clock: VirtualClock) -> None:
        """Keep this clock still too."""
        with self._lock:
            self._clocks.add(clock)

    def discard(self, clock: VirtualClock) -> None:
        """Leave this clock alone from now on."""
        with self._lock:
            self._clocks.discard(clock)

    def connects(self, client: Hashable) -> None:
        """A client is there."""
        self._hold(client, "an SMTP client has connected", _SILENT_AT_MOST)

    def sends(self, client: Hashable) -> None:
        """It has begun a mail."""
        self._hold(client, "a mail is being sent to the sink", _SENDING_AT_MOST)

    def rests(self, client: Hashable) -> None:
        """It has no mail under way."""
        with self._lock:
            holds = self._holds.pop(client, ())
        for hold in holds:
            hold.release()

    def _hold(self, client: Hashable, reason: str, at_most: float) -> None:
        if not self._clocks:
            return
        with self._lock:
            clocks = tuple(self._clocks)
        holds = [clock.hold(reason, at_most) for clock in clocks]
        self.rests(client)
        with self._lock:
            self._holds[client] = holds
