"""Where a signal's window opens: since when, and after which mail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.mail.message import Message
from pytest_agentmail.signals.signal import Evidence, Signal

__all__ = ["NewerThan", "Opening", "Since"]

Since: TypeAlias = datetime | Message | str | None
"""A moment, a message, or "now"."""

NewerThan: TypeAlias = Evidence | Message | Signal | None
"""What a resent mail must be newer than."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a message must be later than."""

    at: datetime | None = None
    """It must not have become visible before."""
    seq: int = 0
    """It must come later in the order of acceptance."""
    content: tuple[str, ...] = ()
    """Fingerprints of mail that must not count again."""
    token: str = ""
    """Tells one such opening from another."""

    @classmethod
    def since(cls, since: Since, now: datetime) -> Opening:
        """The opening that `since=` asks for.

        Raises:
            SettingsError: It is none of what is allowed.
        """
        match since:
            case None:
                return cls()
            case "now":
                return cls(at=now)
            case Message():
                return cls(seq=since.seq)
            case datetime() if since.utcoffset() is not None:
                return cls(at=since)
        raise SettingsError(
            f"since={since!r}: expected an aware datetime, a message, or the word 'now'"
        )

    @classmethod
    def newer_than(cls, older: NewerThan) -> Opening:
        """The opening that `newer_than=` asks for.

        Raises:
            SettingsError: It is none of what is allowed, or a signal that is still open.
        """
        match older:
            case None:
                return cls()
            case Evidence():
                return cls(seq=older.seq, content=(older.fingerprint,), token=older.message_id)
            case Message():
                return cls(seq=older.seq, content=(older.content.fingerprint,), token=older.id)
            case Signal(evidence=Evidence() as evidence):
                return cls.newer_than(evidence)
            case Signal(final=True):
                return cls(at=older.ended_at, token=older.signal_id)
        raise SettingsError(
            f"newer_than={_named(older)}: expected evidence, a message, or a signal that has ended"
        )

    def __and__(self, other: Opening) -> Opening:
        """The later of both in every respect."""
        moments = [at for at in (self.at, other.at) if at is not None]
        return Opening(
            at=max(moments, default=None),
            seq=max(self.seq, other.seq),
            content=self.content + other.content,
            token=self.token + other.token,
        )


def _named(thing: object) -> str:
    return f"the open signal {thing.signal_id}" if isinstance(thing, Signal) else repr(thing)
