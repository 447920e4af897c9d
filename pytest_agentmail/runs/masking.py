"""What a ledger may say in free text: short, on one line, and no secret in it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from pytest_agentmail.mail import masking

__all__ = ["Identifier", "Name", "ShortText", "masked", "one_line"]

LONGEST_TEXT = 300

_LINK = re.compile(r"(https?://[^\s/?#]+)\S+")


def masked(text: str) -> str:
    """`text` with everything that looks like a code, and all of a link but its host, hidden."""
    return masking.masked(_LINK.sub(r"\1/•••", text))


def one_line(text: str) -> str:
    """`text` cut to what a `ShortText` may hold, what cannot be printed replaced by blanks."""
    return "".join(char if char.isprintable() else " " for char in text)[:LONGEST_TEXT]


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of printable text")
    return text


Identifier = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_TEXT), AfterValidator(_printable)
]
"""A name that something has elsewhere: kept as it is, so it must be short and on one line."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
"""A name that people choose: of a tool, a decision, a parameter."""

ShortText = Annotated[
    str,
    StringConstraints(max_length=LONGEST_TEXT),
    AfterValidator(_printable),
    AfterValidator(masked),
]
"""A remark for people: short, on one line, codes and links masked."""
