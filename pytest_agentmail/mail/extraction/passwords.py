"""Passwords that a mail gives: words name them, and their form is not that of other codes."""

from __future__ import annotations

import re

from pytest_agentmail.mail.extraction.shapes import BY_NAME_ALONE, Sighting
from pytest_agentmail.mail.extraction.vocabulary import PASSWORD_KINDS, terms

__all__ = ["blotted", "names_password_below", "password_alone", "password_given"]

POINTS = 62  # as much as six digits with a word for "code" before them

# The word, perhaps what the password is for, then a colon or a verb, then the password.
_CONNECTED = re.compile(r"(?:[^:：=.!?\n]{0,50}[:：=]|[^\W\d_]{0,4}?)[\s\"'“”„«»‹›`*]*")
_VERB = re.compile(
    r"\s+(?:is|ist|lautet|est|es|è|é|er|är|on|este|to|je|jest|είναι|adalah|ialah|là|คือ|है|هي|هو|היא)"
    r"\s*[:：]?[\s\"'“”„«»‹›`*]*",
    re.IGNORECASE,
)
_OPEN_END = re.compile(r"[^.!?。！？\n]{0,40}[:：]?\s*")
_PASSWORD = re.compile(r"[!-~]{6,32}")
_QUOTES = "\"'`*“”„«»‹›"
_SYMBOL = re.compile(r"[!@#$%^&*?+=~_.,:;<>(){}\[\]|/\\-]")
_NEVER_IN_WORDS = re.compile(r"[!@#$%^&*?+=~]")
_ADDRESS = re.compile(r"\S+@\S+\.\S+|\w+://\S*|www\.\S+|(?:[\w-]+\.)+[a-z]{2,}(?:/\S*)?")


def password_given(plain: str, original: str) -> list[Sighting]:
    """The password that a line names, if it does.

    Args:
        plain: The line in ASCII forms.
        original: The line as it stands in the mail.
    """
    for term in terms(plain, PASSWORD_KINDS):
        for connection in (_VERB, _CONNECTED):
            joint = connection.match(plain, term.end)
            found = _PASSWORD.match(plain, joint.end()) if joint else None
            if found is None:
                continue
            written = _without_end(original[found.start() : found.end()])
            if _is_password(written):
                end = found.start() + len(written)
                return [Sighting(found.start(), end, written, written, BY_NAME_ALONE, POINTS)]
    return []


def names_password_below(plain: str) -> bool:
    """Whether the line ends in the name of a password, so that the next one gives it."""
    named = terms(plain, PASSWORD_KINDS)
    return bool(named) and bool(_OPEN_END.fullmatch(plain, named[-1].end))


def password_alone(original: str) -> list[Sighting]:
    """The password that a line is, below one that names it."""
    written = original.strip()
    if not (_PASSWORD.fullmatch(written) and _is_password(written)):
        return []
    start = original.index(written)
    return [Sighting(start, start + len(written), written, written, BY_NAME_ALONE, POINTS)]


def blotted(clean: str, given: list[Sighting]) -> str:
    """The line without what was already found in it."""
    for each in given:
        clean = clean[: each.start] + "\x1a" * (each.end - each.start) + clean[each.end :]
    return clean


def _without_end(written: str) -> str:
    """Without the quotation mark and the full stop behind it."""
    end = written.rstrip(".,;:").rstrip(_QUOTES).rstrip(".,;:")
    for closing, opening in ((")", "("), ("]", "["), (">", "<")):
        if end.endswith(closing) and opening not in end:
            end = end[:-1]
    return end


def _is_password(written: str) -> bool:
    """Letters with figures or signs in them; what has neither is a word."""
    letters, digits = re.search(r"[A-Za-z]", written), re.search(r"\d", written)
    inside = _SYMBOL.search(written[1:-1])
    strange = _NEVER_IN_WORDS.search(written)
    mixed = re.search(r"[a-z]", written) and re.search(r"[A-Z]", written)
    return bool(
        len(written) >= 6  # noqa: PLR2004 - shorter ones nobody gives
        and letters
        and not _ADDRESS.fullmatch(written)
        and ((digits and (inside or mixed or strange)) or (mixed and strange))
    )
