"""The words of all languages, compiled once: where which kind of word stands in a text."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from pytest_agentmail.mail.extraction.languages import LANGUAGES

__all__ = ["CODE_KINDS", "LINK_KINDS", "Term", "terms"]

# Of two words of the same length that begin at the same place, the kind named first wins.
CODE_KINDS = (
    "other", "promo", "order", "reference", "old", "over", "fresh", "phone", "price", "place",
    "unit", "code", "figures", "act",
)  # fmt: skip
LINK_KINDS = ("leave", "deny", "aside", "confirm")

_WITHOUT_BLANKS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Term(NamedTuple):
    """A word of the vocabulary in a text."""

    start: int
    end: int
    kind: str
    text: str


def terms(text: str, kinds: tuple[str, ...]) -> list[Term]:
    """The words of `kinds` in `text`, in order, none within another; the longest wins."""
    pattern, kind_of = _compiled(kinds)
    return [
        Term(*found.span(), kind_of[found.lastgroup or ""], found[0])
        for found in pattern.finditer(text.lower())
    ]


@cache
def _compiled(kinds: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """One pattern for all kinds, and the kind of each of its groups.

    The alternatives stand by length, then by kind, so that "order code" is no code.
    """
    entries = {
        word.strip(): kind
        for kind in reversed(kinds)
        for language in LANGUAGES.values()
        for word in getattr(language, kind).lower().split("|")
        if word.strip()
    }
    by_length = sorted(entries, key=lambda word: (-len(word.strip("*")), kinds.index(entries[word])))
    groups: list[str] = []
    kind_of: dict[str, str] = {}
    run: list[str] = []
    for index, word in enumerate(by_length):
        run.append(_as_pattern(word))
        following = by_length[index + 1] if index + 1 < len(by_length) else None
        if following is None or entries[following] != entries[word]:
            name = f"g{len(groups)}"
            groups.append(f"(?P<{name}>{'|'.join(run)})")
            kind_of[name] = entries[word]
            run = []
    return re.compile("|".join(groups)), kind_of


def _as_pattern(word: str) -> str:
    core = r"[\s\-‐-―]{0,3}".join(re.escape(part) for part in word.strip("*").split())
    if _WITHOUT_BLANKS.search(word):
        return core
    before = r"(?<!\w)\w{0,20}" if word.startswith("*") else r"(?<!\w)"
    after = r"\w{0,12}" if word.endswith("*") else ""
    return f"{before}{core}{after}(?!\\w)"

