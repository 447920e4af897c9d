"""The words of all languages, compiled once: where which kind of word stands in a text."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache, lru_cache
from typing import NamedTuple

from pytest_agentmail.mail.extraction.languages import LANGUAGES

__all__ = [
    "AGE_KINDS",
    "CODE_KINDS",
    "LINK_KINDS",
    "PASSWORD_KINDS",
    "QUOTE_KINDS",
    "Term",
    "terms",
]

# Of two words of the same length that begin at the same place, the kind named first wins.
CODE_KINDS = (
    "other", "promo", "order", "reference", "phone", "price", "place", "unit", "code", "figures",
    "act",
)  # fmt: skip
AGE_KINDS = ("old", "over", "fresh")
LINK_KINDS = ("leave", "deny", "aside", "confirm")
PASSWORD_KINDS = ("watchword",)
QUOTE_KINDS = ("original", "forwarded", "reply", "wrote", "sent_by", "about")

# Signs that are written above, below and around letters belong to the word.
_TOKEN = re.compile(r"[\w\u0300-\u036f\u0591-\u05c7\u0610-\u065f\u0670\u0900-\u0dff]+")
_WITHOUT_BLANKS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_BETWEEN = re.compile(r"[\s\-‐-―'’.·/]{1,3}")
_SHORTEST_STEM = 2
_LONGEST_TOKEN = 60


class Term(NamedTuple):
    """A word of the vocabulary in a text."""

    start: int
    end: int
    kind: str
    text: str


class _Word(NamedTuple):
    """A word of several tokens after its first; `open` when the last may go on."""

    rest: tuple[str, ...]
    open: bool
    kind: str


class _Index(NamedTuple):
    """Words by how they begin: as a whole token, as its start, as its end, or anywhere."""

    whole: dict[str, list[_Word]]
    starts: dict[str, list[_Word]]
    ends: dict[str, list[_Word]]
    anywhere: dict[str, list[tuple[str, str]]]
    first_characters: re.Pattern[str]


def terms(text: str, kinds: tuple[str, ...]) -> list[Term]:
    """The words of `kinds` in `text`, in order, none within another; the longest wins."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals become two characters
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    index = _index(kinds)
    found = [*_words(lowered, kinds), *_glued(lowered, index)]
    found.sort(key=lambda term: (term.start, -term.end, kinds.index(term.kind)))
    chosen: list[Term] = []
    for term in found:
        if not chosen or term.start >= chosen[-1].end:
            chosen.append(term)
    return chosen


def _words(text: str, kinds: tuple[str, ...]) -> list[Term]:
    tokens = [(t.start(), t.end(), t[0]) for t in _TOKEN.finditer(text)]
    found: list[Term] = []
    for place, (start, _, token) in enumerate(tokens):
        for word in _beginning_with(token[:_LONGEST_TOKEN], kinds):
            end = _end_of(word, tokens, place, text)
            if end:
                found.append(Term(start, end, word.kind, text[start:end]))
    return found


@lru_cache(maxsize=20_000)  # the same few words stand in most mails
def _beginning_with(token: str, kinds: tuple[str, ...]) -> list[_Word]:
    index = _index(kinds)
    words = [*index.whole.get(token, ())]
    for cut in range(_SHORTEST_STEM, len(token) + 1):
        words += index.starts.get(token[:cut], ())
        words += index.ends.get(token[-cut:], ())
    return words


def _end_of(word: _Word, tokens: list[tuple[int, int, str]], place: int, text: str) -> int | None:
    """Where `word` ends whose first token is the one at `place`; None when it goes on otherwise."""
    end = tokens[place][1]
    following = tokens[place + 1 : place + 1 + len(word.rest)]
    if len(following) < len(word.rest):
        return None
    for number, ((start, stop, token), wanted) in enumerate(zip(following, word.rest, strict=True)):
        last = number == len(word.rest) - 1
        fits = token == wanted or (last and word.open and token.startswith(wanted))
        if not fits or not _BETWEEN.fullmatch(text, end, start):
            return None
        end = stop
    return end


def _glued(text: str, index: _Index) -> list[Term]:
    """Words of scripts that put no blanks between words."""
    return [
        Term(at.start(), at.start() + len(word), kind, word)
        for at in index.first_characters.finditer(text)
        for word, kind in index.anywhere[at[0]]
        if text.startswith(word, at.start())
    ]


@cache
def _index(kinds: tuple[str, ...]) -> _Index:
    whole: dict[str, list[_Word]] = defaultdict(list)
    starts: dict[str, list[_Word]] = defaultdict(list)
    ends: dict[str, list[_Word]] = defaultdict(list)
    anywhere: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for raw, kind in sorted(_entries(kinds)):
        if _WITHOUT_BLANKS.search(raw):
            anywhere[raw[0]].append((raw.strip("*"), kind))
            continue
        first, *rest = _TOKEN.findall(raw)
        word = _Word(tuple(rest), raw.endswith("*"), kind)
        if raw.startswith("*"):
            ends[first].append(word)
        elif raw.endswith("*") and not rest:
            starts[first].append(word)
        else:
            whole[first].append(word)
    first_characters = re.compile(f"[{re.escape(''.join(sorted(anywhere)))}]")
    return _Index(dict(whole), dict(starts), dict(ends), dict(anywhere), first_characters)


def _entries(kinds: tuple[str, ...]) -> set[tuple[str, str]]:
    return {
        (word, kind)
        for language in LANGUAGES.values()
        for kind in kinds
        for word in getattr(language, kind).lower().split("|")
        if _TOKEN.search(word)
    }
