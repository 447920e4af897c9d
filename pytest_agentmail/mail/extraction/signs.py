"""What speaks for and against a code: its words, its look, its form and its use.

Here stands how much each sign is worth.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_agentmail.mail.extraction.age import STALE, signs_of_age
from pytest_agentmail.mail.extraction.candidates import Reason
from pytest_agentmail.mail.extraction.naming import names_of, neighbours
from pytest_agentmail.mail.extraction.reading import ReadLine, alone, alone_in_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_agentmail.mail.extraction.shapes import Sighting
    from pytest_agentmail.mail.extraction.vocabulary import Term

__all__ = ["TO_ENTER", "TO_ENTER_ABOVE", "signs_of"]

TO_ENTER = Reason(14, "one is told to enter it")
TO_GO_ON = 16
TO_ENTER_ABOVE = Reason(10, "the line above says to enter it")
MADE_OF_THAT = 14
OWN_LINE = 12
OWN_CELL = 8
BOLD, LARGE, HEADING, FRAMED = 6, 12, 6, 8

BUYS_SOMETHING = -50
INSTRUCTED = -50
STRUCK, QUOTED, DIALLED = -70, -60, -50
IN_QUOTATION = STALE  # as lasting: what somebody named so is no code anywhere in the mail
NUMBERED = -25
LIKE_A_YEAR = -8
ROUND = -12
AMONG_WORDS = -45


def signs_of(reads: list[ReadLine], index: int, sighting: Sighting) -> Iterator[Reason]:
    """All signs of something that may be a code, in the line `index` of a page."""
    read = reads[index]
    yield Reason(sighting.points, f"has the form of a code: {sighting.shape}")
    yield from _signs_of_look(read, sighting)
    yield from _signs_of_form(read, sighting)
    yield from names_of(reads, index, sighting)
    words = read.words_beside(sighting)
    yield from _signs_of_use(reads, index, sighting, words)
    yield from signs_of_age(read, sighting)
    start, end = read.segment_of(sighting.start)
    if any(term.kind == "promo" for term in words) or "%" in read.plain[start:end]:
        yield Reason(BUYS_SOMETHING, "the sentence speaks of a voucher or discount")
    if _in_quotation(read, sighting):
        yield Reason(IN_QUOTATION, "is part of words that the mail quotes")
    if read.ordered:
        yield Reason(INSTRUCTED, "stands beside instructions to a machine")


# Words that somebody else chose, such as the name of a board one is invited to.
_QUOTATION = re.compile(
    r"\"[^\"\n]{1,200}\"|“[^“”\n]{1,200}”|«[^«»\n]{1,200}»|„[^„“”\n]{1,200}[“”]"
)
_FEWEST_WORDS = 4


def _in_quotation(read: ReadLine, sighting: Sighting) -> bool:
    """Whether a quotation holds it together with the words that name it."""
    for quotation in _QUOTATION.finditer(read.plain):
        start, end = quotation.span()
        if start < sighting.start < end and len(quotation[0].split()) >= _FEWEST_WORDS:
            return any(term.kind == "code" and start < term.start < end for term in read.terms)
    return False


def _signs_of_use(
    reads: list[ReadLine], index: int, sighting: Sighting, words: list[Term]
) -> Iterator[Reason]:
    """Whether one is told to enter it, in its sentence or in the line above."""
    kinds = {term.kind for term in words}
    if "act" in kinds:
        yield TO_ENTER
        start, end = reads[index].segment_of(sighting.start)
        for term in reads[index].aims:
            if term.kind == "confirm" and start <= term.start < end:
                yield Reason(TO_GO_ON, f"that is to {term.text!r}")
                break
    if not alone(reads[index].clean, sighting):
        return
    above = next(iter(neighbours(reads, index, step=-1, count=1)), None)
    kinds = {term.kind for term in above.terms} if above else set()
    if "act" in kinds:
        yield TO_ENTER_ABOVE
    if "figures" in kinds and "code" not in kinds:
        yield Reason(MADE_OF_THAT, "the line above says what it is made of")


def _signs_of_look(read: ReadLine, sighting: Sighting) -> Iterator[Reason]:
    look = read.line.look_at(sighting.start)
    if sighting.start in read.listed:
        yield Reason(OWN_LINE, "stands in a list of codes")
    elif alone(read.clean, sighting):
        yield Reason(OWN_LINE, "stands alone in its line")
    elif alone_in_cell(read.clean, sighting):
        yield Reason(OWN_CELL, "stands alone in its cell")
    signs = (
        (look.bold, BOLD, "is bold"),
        (look.large, LARGE, "is large"),
        (look.heading, HEADING, "is a heading"),
        (look.framed, FRAMED, "is set apart"),
        (look.struck, STRUCK, "is struck out"),
        (look.quoted, QUOTED, "stands in a quoted mail"),
        (look.dialled, DIALLED, "can be dialled"),
    )
    for holds, points, text in signs:
        if holds:
            yield Reason(points, text)


def _signs_of_form(read: ReadLine, sighting: Sighting) -> Iterator[Reason]:
    if re.fullmatch(r"(?:19|20)\d\d", sighting.value):
        yield Reason(LIKE_A_YEAR, "looks like a year")
    if re.fullmatch(r"[1-9]\d*000", sighting.value):
        yield Reason(ROUND, "is a round number")
    if sighting.shape == "capitals" and _is_word(read, sighting):
        yield Reason(AMONG_WORDS, "is a word among others")
    if re.search(r"[#№]\s?$", read.clean[: sighting.start]):
        yield Reason(NUMBERED, "has a number sign")


def _is_word(read: ReadLine, sighting: Sighting) -> bool:
    """Whether letters alone stand in a text like any word, not as something to copy."""
    before, after = read.clean[: sighting.start], read.clean[sighting.end :]
    set_off = re.search(r"[:：]\s*$", before) or re.search(r"\bis\s$", before)
    return not alone(read.clean, sighting) and not (set_off and re.match(r"\W*$|[.\n]", after))
