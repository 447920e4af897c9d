"""What a signal queue asks of whatever has the mail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from pytest_agentmail.clock.pausing import Watch
    from pytest_agentmail.mail.message import Message

__all__ = ["Knowing", "MailProvider", "WakingProvider"]


class MailProvider(Protocol):
    """Finds mail. A provider gives facts; it never decides whether a message counts (A4).

    One with an attribute `immediate` that is true answers at once: a task asks it itself, and any
    other from a thread.
    """

    def search(
        self, *, recipient: str, subject: str | None = None, after: datetime | None = None
    ) -> Sequence[Message]:
        """The mail for `recipient` that is visible now, in order of arrival.

        Args:
            recipient: The address it was sent to.
            subject: Part of the subject, as a hint that lets a provider send less. What it leaves
                out cannot be named as a near miss.
            after: The moment after which it became visible; likewise a hint.

        Raises:
            ProviderError: The answer cannot be trusted.
        """
        ...

    def fetch(self, message_id: str) -> Message:
        """The message with that `Message.id`.

        Raises:
            ProviderError: It cannot be had.
        """
        ...


@runtime_checkable
class WakingProvider(MailProvider, Protocol):
    """A provider that tells of arrivals, so that a wait sleeps instead of asking again."""

    def watching(self, recipient: str) -> AbstractContextManager[Watch]:
        """What to sleep on until there may be more for `recipient`."""
        ...

    def arrived(self, recipient: str) -> Sequence[Message]:
        """What has arrived for `recipient`; asking is no search and spends no check."""
        ...


@runtime_checkable
class Knowing(Protocol):
    """A provider that knows which run has which mail and addresses."""

    def exclusive(self, recipient: str) -> bool:
        """Whether the address was made for this run, so that nobody had it before."""
        ...

    def foreign(self, message: Message) -> str | None:
        """Why the message belongs to another run, or None."""
        ...
