"""What a message must be to count for a signal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.mail.address import canonical
from pytest_agentmail.mail.matching import NearMiss, check_text, deny, describe, matches
from pytest_agentmail.signals.signal import claim_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from pytest_agentmail.mail.matching import Text
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.signals.signal import Signal

__all__ = ["Contract", "Surveyed"]


class Surveyed(NamedTuple):
    """What a search brought, judged."""

    matching: list[Message]
    """Those that count, in order of acceptance."""
    missed: list[list[NearMiss]]
    """For each that does not, every criterion it failed."""


@dataclass(frozen=True, eq=False)
class Contract:
    """A signal's criteria; `subject` is contained, searched or asked, or may be anything."""

    subject: Text

    def __post_init__(self) -> None:
        try:
            check_text("subject", self.subject)
        except TypeError as error:
            raise SettingsError(str(error)) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Contract):
            return NotImplemented
        return self.wording == other.wording and _code(self.subject) == _code(other.subject)

    def __hash__(self) -> int:
        return hash(self.wording)

    @property
    def expected(self) -> str:
        """What is expected of the subject (B2): the text, the pattern, or the function's name."""
        match self.subject:
            case None:
                return ""
            case str():
                return self.subject
            case re.Pattern():
                return self.subject.pattern
        return getattr(self.subject, "__qualname__", repr(self.subject))

    @property
    def wording(self) -> str:
        """The criteria in words; equal for equal criteria."""
        flags = (
            f" {re.RegexFlag(self.subject.flags)!r}" if isinstance(self.subject, re.Pattern) else ""
        )
        return f"subject {describe(self.subject)}{flags}"

    def survey(
        self,
        signal: Signal,
        messages: Collection[Message],
        *,
        foreign: Callable[[Message], str | None],
        claimed: Collection[str],
    ) -> Surveyed:
        """Judge all `messages`.

        Args:
            signal: Whose recipient and window they must fit.
            messages: What the provider gave.
            foreign: Tells why a message belongs to another run.
            claimed: Contents that serve other signals of this run.
        """
        verdicts = [
            (message, list(self._failures(signal, message, foreign(message), claimed)))
            for message in sorted(messages, key=lambda message: message.seq)
        ]
        return Surveyed(
            [message for message, failures in verdicts if not failures],
            [failures for _, failures in verdicts if failures],
        )

    def _failures(
        self, signal: Signal, message: Message, foreign: str | None, claimed: Collection[str]
    ) -> Iterator[NearMiss]:
        def miss(criterion: str, why: str) -> NearMiss:
            return NearMiss(message, criterion, why)

        if not _addressed(message, signal.recipient):
            yield miss("other recipient", f"it was sent to {', '.join(message.envelope_to)}")
        if foreign is not None:
            yield miss("other run", foreign)
        if message.seq <= signal.after_seq:
            yield miss("before the window", "it came before the mail that was asked for")
        elif signal.opens_at is not None and message.visible_at < signal.opens_at:
            early = (signal.opens_at - message.visible_at).total_seconds()
            yield miss("before the window", f"it came {early:.3g} s before the window opened")
        if message.visible_at > signal.expires_at:
            late = (message.visible_at - signal.expires_at).total_seconds()
            yield miss("after the window", f"it came {late:.3g} s after the signal expired")
        fingerprint = message.content.fingerprint
        if (
            fingerprint in signal.spent_content
            or claim_of(signal.recipient, fingerprint) in claimed
        ):
            yield miss("already used", "the same mail was used before")
        if not matches(self.subject, message.subject):
            yield miss("wrong subject", f"its subject {deny(self.subject)}")


def _code(subject: Text) -> object:
    """What a function does; nothing of texts and patterns, which their wording tells whole."""
    if subject is None or isinstance(subject, str | re.Pattern):
        return None
    return getattr(subject, "__code__", subject)


def _addressed(message: Message, recipient: str) -> bool:
    for address in message.envelope_to:
        try:
            if canonical(address) == canonical(recipient):
                return True
        except ValueError:
            continue
    return not message.envelope_to
