"""Who may be about to send a mail, and to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Together", "Traffic"]


class Traffic:
    """Is told, in the sink's thread, what its clients are up to; here, it makes nothing of it."""

    def connects(self, client: Hashable) -> None:
        """A client is there; it may be about to send a mail, or to stay silent."""

    def sends(self, client: Hashable) -> None:
        """It has begun a mail."""

    def addresses(self, client: Hashable, recipient: str) -> None:
        """The mail is to go to this recipient too."""

    def refuses(self, client: Hashable, code: int) -> None:
        """It was answered with a 4xx or 5xx."""

    def rests(self, client: Hashable) -> None:
        """Its mail was stored and announced, or it has left; said again it means nothing."""


class Together(Traffic):
    """Tells several.

    Args:
        listeners: Who is told, in this order.
    """

    def __init__(self, *listeners: Traffic) -> None:
        self._listeners = listeners

    def connects(self, client: Hashable) -> None:
        """See `Traffic`."""
        for listener in self._listeners:
            listener.connects(client)

    def sends(self, client: Hashable) -> None:
        """See `Traffic`."""
        for listener in self._listeners:
            listener.sends(client)

    def addresses(self, client: Hashable, recipient: str) -> None:
        """See `Traffic`."""
        for listener in self._listeners:
            listener.addresses(client, recipient)

    def refuses(self, client: Hashable, code: int) -> None:
        """See `Traffic`."""
        for listener in self._listeners:
            listener.refuses(client, code)

    def rests(self, client: Hashable) -> None:
        """See `Traffic`."""
        for listener in self._listeners:
            listener.rests(client)
