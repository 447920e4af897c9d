"""A provider that gives prepared answers, one a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_agentmail.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pytest_agentmail.mail.message import Message

__all__ = ["Answer", "Asked", "ScriptedProvider"]

Answer: TypeAlias = "Sequence[Message] | Exception"
"""What one search gives, or raises."""


class Asked(NamedTuple):
    """One search that was made."""

    recipient: str
    subject: str | None
    after: datetime | None


class ScriptedProvider:
    """Gives its answers in order; the last one again and again.

    Args:
        *answers: What the searches give: messages, or an exception to raise.
    """

    def __init__(self, *answers: Answer) -> None:
        if not answers:
            raise ValueError("a scripted provider needs at least one answer")
        self._answers = list(answers)
        self.asked: list[Asked] = []
        """The searches that were made, in order."""

    def search(
        self, *, recipient: str, subject: str | None = None, after: datetime | None = None
    ) -> Sequence[Message]:
        """The next answer, whatever was asked."""
        answer = self._answers[min(len(self.asked), len(self._answers) - 1)]
        self.asked.append(Asked(recipient, subject, after))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def fetch(self, message_id: str) -> Message:
        """The message of any answer that has that id."""
        for answer in self._answers:
            for message in () if isinstance(answer, Exception) else answer:
                if message.id == message_id:
                    return message
        raise ProviderError("not_found", detail=f"no answer holds a message {message_id}")
