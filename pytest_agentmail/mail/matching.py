"""What a message must be to count, and why it does not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_agentmail.mail.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "After",
    "Criteria",
    "NearMiss",
    "Text",
    "check_text",
    "deny",
    "describe",
    "fold",
    "matches",
    "nearest_first",
]

Text: TypeAlias = str | re.Pattern[str] | Callable[[str], bool] | None
"""A text that is contained, a pattern that is found, a function that says yes, or anything."""

After: TypeAlias = Message | datetime | None
"""The message or the moment after which a message must have come."""


def fold(text: str) -> str:
    """`text` without differences of case, width and white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def check_text(name: str, wanted: object) -> None:
    """Make sure that texts can be compared with `wanted`.

    Raises:
        TypeError: They cannot.
    """
    if not (wanted is None or isinstance(wanted, str | re.Pattern) or callable(wanted)):
        raise TypeError(
            f"{name}={wanted!r}: expected a text, a compiled pattern, a function of a text, or None"
        )


def matches(wanted: Text, text: str) -> bool:
    """Whether `text` is what was `wanted`."""
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return fold(wanted) in fold(text)
    if isinstance(wanted, re.Pattern):
        return wanted.search(text) is not None
    return bool(wanted(text))


def describe(wanted: Text) -> str:
    """`wanted` as the end of a sentence that starts with what is compared."""
    return _said(wanted, "contains", "matches", "satisfies")


def deny(wanted: Text) -> str:
    """The end of a sentence that says that something is not what was `wanted`."""
    return _said(wanted, "does not contain", "does not match", "does not satisfy")


def _said(wanted: Text, contains: str, matches: str, satisfies: str) -> str:
    if wanted is None:
        return "is anything"
    if isinstance(wanted, str):
        return f"{contains} {wanted!r}"
    if isinstance(wanted, re.Pattern):
        return f"{matches} /{wanted.pattern}/"
    return f"{satisfies} {getattr(wanted, '__qualname__', repr(wanted))}"


class NearMiss(NamedTuple):
    """A message that did not count, and the one criterion that failed."""

    message: Message
    criterion: str
    """Which: subject, sender, body, header, after, or one of a signal's own."""
    why: str
    """The rest of a sentence that starts with the message."""


class _Criterion(NamedTuple):
    name: str
    holds: Callable[[Message], bool]
    wanted: str
    unmet: str


def _textual(name: str, subject: str, wanted: Text, read: Callable[[Message], str]) -> _Criterion:
    check_text(name, wanted)
    return _Criterion(
        name,
        lambda message: matches(wanted, read(message)),
        f"{subject} {describe(wanted)}",
        f"its {subject} {deny(wanted)}",
    )


def _later(after: Message | datetime) -> _Criterion:
    if isinstance(after, Message):
        return _Criterion(
            "after",
            lambda message: message.seq > after.seq,
            f"came after message {after.id}",
            f"it came no later than message {after.id}",
        )
    if not isinstance(after, datetime) or after.utcoffset() is None:
        raise TypeError(f"after={after!r}: expected a message or an aware datetime")
    return _Criterion(
        "after",
        lambda message: message.visible_at > after,
        f"came after {after.isoformat()}",
        f"it came no later than {after.isoformat()}",
    )


@dataclass(frozen=True)
class Criteria:
    """What a message must be to count; what is left out may be anything.

    Texts are contained (case, width and white space folded), patterns are searched, functions are
    asked. `after` is a message (by order of acceptance) or an aware datetime (by visibility).

    Raises:
        TypeError: A criterion is of no kind that can be compared.
    """

    subject: Text = None
    sender: Text = None
    body: Text = None
    header: Mapping[str, Text] | None = None
    after: After = None

    def __post_init__(self) -> None:
        _ = self._criteria

    @cached_property
    def _criteria(self) -> tuple[_Criterion, ...]:
        return tuple(self._build())

    def _build(self) -> Iterator[_Criterion]:
        if self.after is not None:
            yield _later(self.after)
        if self.sender is not None:
            yield _textual("sender", "sender", self.sender, _sender)
        if self.subject is not None:
            yield _textual("subject", "subject", self.subject, lambda message: message.subject)
        for name, wanted in (self.header or {}).items():
            yield _textual("header", f"header {name}", wanted, _header(name))
        if self.body is not None:
            yield _textual("body", "body", self.body, _body)

    def failures(self, message: Message) -> list[NearMiss]:
        """Every criterion `message` does not meet; none when it counts."""
        return [
            NearMiss(message, criterion.name, criterion.unmet)
            for criterion in self._criteria
            if not criterion.holds(message)
        ]

    def met_by(self, message: Message) -> bool:
        """Whether `message` counts."""
        return not self.failures(message)

    def __str__(self) -> str:
        return ", ".join(criterion.wanted for criterion in self._criteria) or "any mail"


def _sender(message: Message) -> str:
    return message.headers.get("From") or message.sender


def _body(message: Message) -> str:
    return f"{message.text}\n{message.visible_text}"


def _header(name: str) -> Callable[[Message], str]:
    return lambda message: "\n".join(message.headers.get_all(name))


def nearest_first(misses: Iterable[list[NearMiss]], subject: Text = None) -> list[NearMiss]:
    """One near miss a message, nearest first: fewest criteria failed, likest subject, newest."""

    def distance(failed: list[NearMiss]) -> tuple[int, float, int]:
        message = failed[0].message
        wanted = fold(subject) if isinstance(subject, str) else ""
        likeness = SequenceMatcher(None, wanted, fold(message.subject)).ratio() if wanted else 0.0
        return len(failed), -likeness, -message.seq

    return [failed[0] for failed in sorted(filter(None, misses), key=distance)]
