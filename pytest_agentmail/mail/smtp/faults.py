"""Deterministic faults of the SMTP server: what may go wrong, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias

__all__ = ["BEFORE_REPLY", "CONNECT", "CONTENT", "Delay", "Drop", "Envelope", "Faults", "Reply"]

CONNECT: Final = "connect"
"""A client has connected; it waits for the greeting."""

CONTENT: Final = "content"
"""The whole mail is here; it is not stored yet."""

BEFORE_REPLY: Final = "before_reply"
"""The mail is stored; its sender has not been told."""


class Envelope(NamedTuple):
    """Sender and recipients as far as they are known, the one in question included."""

    sender: str | None = None
    recipients: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer this instead, and do not do what was asked; after a 421 the connection is closed.

    `BEFORE_REPLY` is too late for that: there the mail stays stored, and its sender is misled.
    """

    code: int
    text: str

    def __str__(self) -> str:
        return f"{self.code} {self.text}"


@dataclass(frozen=True, slots=True)
class Drop:
    """Drop the connection without a word."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Wait `seconds`, then do what was asked, or do `then`."""

    seconds: float
    then: Reply | Drop | None = None


Fault: TypeAlias = Reply | Drop | Delay


class Faults(Protocol):
    """A plan of what goes wrong."""

    def at(self, command: str, envelope: Envelope) -> Fault | None:
        """What goes wrong now, or None; asked once each time a point is reached.

        Args:
            command: A command's name ("EHLO", "MAIL", "RCPT", "DATA", …), once it is known to be
                well-formed and before it has any effect; or `CONNECT`, `CONTENT`, `BEFORE_REPLY`.
            envelope: The mail under way.
        """
        ...
