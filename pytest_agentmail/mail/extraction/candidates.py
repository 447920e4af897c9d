"""What a search in a mail found, with the reasons for its rank."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Candidate", "Reason"]


class Reason(NamedTuple):
    """A sign for or against, and what it is worth."""

    points: int
    text: str


class Candidate(NamedTuple):
    """A code or link that was found.

    Attributes:
        value: What an app accepts: digits in ASCII, without separators; or the exact address.
        as_written: The same as it stands in the mail.
        where: "subject", "html", "text", or several of them.
        score: How good it is; equal scores are equally good.
        reasons: Why it has this score, the weightiest first.
    """

    value: str
    as_written: str
    where: str
    score: int
    reasons: tuple[str, ...]
