"""Who may be about to send a mail, so that virtual time waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Traffic"]


class Traffic(Protocol):
    """Is told, in the sink's thread, what its clients are up to."""

    def connects(self, client: Hashable) -> None:
        """A client is there; it may be about to send a mail, or to stay silent."""
        ...

    def sends(self, client: Hashable) -> None:
        """It has begun a mail."""
        ...

    def rests(self, client: Hashable) -> None:
        """Its mail was stored and announced, or it has left; said again it means nothing."""
        ...
