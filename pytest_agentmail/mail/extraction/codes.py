"""The code a person would type in: every code-like thing of a mail, ranked with reasons.

Three tables hold the knowledge: `shapes` (what a code looks like), `noise` (what never is one) and
the vocabulary (what words say about it). Here stands how much each sign is worth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_agentmail.mail.extraction.age import STALE, is_stale, signs_of_age
from pytest_agentmail.mail.extraction.candidates import Candidate, Reason
from pytest_agentmail.mail.extraction.page import Line, Page
from pytest_agentmail.mail.extraction.reading import ReadLine, alone, alone_in_cell, read_lines
from pytest_agentmail.mail.extraction.shapes import ascii_forms
from pytest_agentmail.mail.extraction.vocabulary import CODE_KINDS, Term, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_agentmail.mail.extraction.shapes import Sighting

__all__ = ["find_codes"]

ENOUGH = 50  # points from which on something is taken for a code
ALIKE = 6  # points that make no difference between two codes


# What each sign is worth. A number with a word for "code" right before it is one; nothing else is
# enough alone.
NAMED_BEFORE = 45
NAMED_AFTER = 42
NAMED_ELSEWHERE = 12
NAMED_ABOVE = 42
NAMED_BELOW = 32
NAMED_JUST_BEFORE = 25
NAMED_IN_SUBJECT = 15
TO_ENTER = 14
TO_GO_ON = 16
TO_ENTER_ABOVE = 10
MADE_OF_THAT = 14
OWN_LINE = 12
OWN_CELL = 8
BOLD, LARGE, HEADING, FRAMED = 6, 12, 6, 8
REPEATED = 6
BOUND_TO_DOMAIN = 12
IN_SUBJECT = 8

LABELLED = -60
LABELLED_AFTER_CODE = -8
COUNTS_SOMETHING = -80
BUYS_SOMETHING = -50
INSTRUCTED = -50
STRUCK, QUOTED, DIALLED = -70, -60, -50
NUMBERED = -25
LIKE_A_YEAR = -8
ROUND = -12
AMONG_WORDS = -45
NOT_DISPLAYED = -25

_LABELS = {
    "other": "a code of another sort",
    "order": "the number of an order or the like",
    "reference": "a reference number",
    "phone": "a telephone number",
    "price": "an amount",
    "place": "part of an address",
    "promo": "a voucher",
}
_TIGHT, _NEAR, _FAR = 14, 30, 110
_FEW_WORDS = 2
_FAR_LINES = 40


@dataclass(slots=True)
class _Tally:
    """All the places of one value."""

    value: str
    as_written: str
    best: list[Reason]
    points: int
    where: list[str] = field(default_factory=list)
    against: set[Reason] = field(default_factory=set)
    places: int = 1


def find_codes(subject: str, html: Page, text: Page) -> tuple[Candidate, ...]:
    """The codes of a mail, best first; empty when nothing in it is one.

    Args:
        subject: The decoded subject.
        html: What is displayed of the HTML part; empty when there is none.
        text: The plain-text part; empty when there is none.
    """
    named_in_subject = any(t.kind == "code" for t in terms(ascii_forms(subject), CODE_KINDS))
    tallies: dict[str, _Tally] = {}
    bound: set[str] = set()
    sources = (
        ("subject", Page((Line(subject),)).cut().lines),
        ("html", html.cut().lines),
        ("text", text.cut().lines),
    )
    for where, lines in sources:
        reads = read_lines(lines, bound)
        displayed = {each.value for each in tallies.values() if "html" in each.where}
        if not any(tallies[value].points >= ENOUGH for value in displayed):
            displayed = set()
        for index, read in enumerate(reads):
            for sighting in read.found:
                reasons = list(_signs(reads, index, sighting))
                if named_in_subject and where != "subject":
                    reasons.append(Reason(NAMED_IN_SUBJECT, "the subject speaks of a code"))
                if where == "subject":
                    reasons.append(Reason(IN_SUBJECT, "stands in the subject"))
                if where == "text" and displayed and sighting.value not in displayed:
                    reasons.append(Reason(NOT_DISPLAYED, "the HTML part does not show it"))
                _note(tallies, sighting, where, reasons)
    return _ranked(tallies.values(), bound)


def _note(
    tallies: dict[str, _Tally], sighting: Sighting, where: str, reasons: list[Reason]
) -> None:
    points = sum(reason.points for reason in reasons)
    stale = {reason for reason in reasons if reason.points == STALE}
    tally = tallies.get(sighting.value)
    if tally is None:
        tally = _Tally(sighting.value, sighting.as_written, reasons, points)
        tallies[sighting.value] = tally
    else:
        tally.places += 1
        if points > tally.points:
            tally.best, tally.points, tally.as_written = reasons, points, sighting.as_written
    tally.against |= stale
    if where not in tally.where:
        tally.where.append(where)


def _ranked(tallies: Iterable[_Tally], bound: set[str]) -> tuple[Candidate, ...]:
    found: list[Candidate] = []
    for tally in tallies:
        reasons = list(tally.best)
        reasons += [reason for reason in tally.against if reason not in reasons]
        if tally.places > 1:
            reasons.append(Reason(REPEATED, "stands there more than once"))
        if tally.value in bound:
            reasons.append(
                Reason(BOUND_TO_DOMAIN, "a line bound to the sender's domain repeats it")
            )
        score = sum(reason.points for reason in reasons)
        if score >= ENOUGH:
            reasons.sort(key=lambda reason: -abs(reason.points))
            texts = tuple(f"{reason.points:+d} {reason.text}" for reason in reasons)
            found.append(
                Candidate(tally.value, tally.as_written, ", ".join(tally.where), score, texts)
            )
    found.sort(key=lambda candidate: -candidate.score)
    return tuple(
        each._replace(score=found[0].score) if found[0].score - each.score <= ALIKE else each
        for each in found
    )


# --- signs for and against ----------------------------------------------------------------------


def _signs(reads: list[ReadLine], index: int, sighting: Sighting) -> Iterator[Reason]:
    read = reads[index]
    yield Reason(sighting.points, f"has the form of a code: {sighting.shape}")
    yield from _signs_of_look(read, sighting)
    yield from _signs_of_form(read, sighting)
    start, end = read.segment_of(sighting.start)
    words = [term for term in read.terms if start <= term.start < end]
    beside = [each for each in read.found if start <= each.start < end and each != sighting]
    label = _label(read, sighting, words, beside)
    yield from label
    named = _named_in_segment(read, sighting, words, beside) if not _fatal(label) else None
    if named is None and not _fatal(label):
        named = _named_around(reads, index, sighting, start)
    if named is not None:
        yield named
    yield from _signs_of_use(reads, index, sighting, words)
    yield from signs_of_age(read, sighting)
    if any(term.kind == "promo" for term in words) or "%" in read.plain[start:end]:
        yield Reason(BUYS_SOMETHING, "the sentence speaks of a voucher or discount")
    if read.ordered:
        yield Reason(INSTRUCTED, "stands beside instructions to a machine")


def _signs_of_use(
    reads: list[ReadLine], index: int, sighting: Sighting, words: list[Term]
) -> Iterator[Reason]:
    """Whether one is told to enter it, in its sentence or in the line above."""
    kinds = {term.kind for term in words}
    if "act" in kinds:
        yield Reason(TO_ENTER, "one is told to enter it")
        start, end = reads[index].segment_of(sighting.start)
        for term in reads[index].aims:
            if term.kind == "confirm" and start <= term.start < end:
                yield Reason(TO_GO_ON, f"that is to {term.text!r}")
                break
    if not alone(reads[index].clean, sighting):
        return
    above = next(iter(_neighbours(reads, index, step=-1, count=1)), None)
    kinds = {term.kind for term in above.terms} if above else set()
    if "act" in kinds:
        yield Reason(TO_ENTER_ABOVE, "the line above says to enter it")
    if "figures" in kinds and "code" not in kinds:
        yield Reason(MADE_OF_THAT, "the line above says what it is made of")


def _neighbours(reads: list[ReadLine], index: int, *, step: int, count: int) -> list[ReadLine]:
    """The nearest lines above (`step` -1) or below (1) that are not empty."""
    found: list[ReadLine] = []
    for distance in range(1, _FAR_LINES):
        place = index + step * distance
        if len(found) == count or not 0 <= place < len(reads):
            break
        if not reads[place].empty:
            found.append(reads[place])
    return found


def _fatal(reasons: list[Reason]) -> bool:
    return any(reason.points <= LABELLED for reason in reasons)


def _signs_of_look(read: ReadLine, sighting: Sighting) -> Iterator[Reason]:
    look = read.line.look_at(sighting.start)
    if alone(read.clean, sighting):
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


def _label(
    read: ReadLine, sighting: Sighting, words: list[Term], beside: list[Sighting]
) -> list[Reason]:
    """Words that say it is a number of another sort."""
    reasons: list[Reason] = []
    for term in words:
        gap = read.clean[sighting.end : term.start]
        if term.kind == "unit" and term.start >= sighting.end and re.fullmatch(r"[\s-]{0,2}", gap):
            reasons.append(Reason(COUNTS_SOMETHING, f"counts something ({term.text})"))
    before = [
        term for term in words if term.end <= sighting.start and term.kind not in ("act", "unit")
    ]
    if not before:
        return reasons
    nearest = before[-1]
    gap = read.clean[nearest.end : sighting.start]
    taken = any(nearest.end <= each.start < sighting.start for each in beside)
    tight = len(gap) <= _TIGHT and len(gap.split()) <= _FEW_WORDS and "," not in gap
    if nearest.kind not in _LABELS or taken or not tight:
        return reasons
    what = f"is labelled as {_LABELS[nearest.kind]} ({nearest.text})"
    earlier = [term for term in before[:-1] if term.kind == "code"]
    apart = (
        any(earlier[-1].end <= each.start < sighting.start for each in beside) if earlier else True
    )
    closes = ":" in gap or "：" in gap or re.search(r"\b(?:is|ist|lautet|est|es|è|é)\b", gap)
    if earlier and closes and not apart:
        reasons.append(Reason(LABELLED_AFTER_CODE, what))
    else:
        reasons.append(Reason(LABELLED, what))
    return reasons


def _named_in_segment(
    read: ReadLine, sighting: Sighting, words: list[Term], beside: list[Sighting]
) -> Reason | None:
    """A word for "code" in the same sentence; each names the number nearest to it."""
    best: Reason | None = None
    rivals = [
        each
        for each in beside
        if not _labelled(read, each, words)
        and not is_stale(read, each)
        and not read.line.look_at(each.start).struck
    ]
    for term in words:
        if term.kind != "code":
            continue
        after = sighting.start >= term.end
        gap = sighting.start - term.end if after else term.start - sighting.end
        if gap < 0 or gap > _FAR:
            continue
        if after:
            nearer = any(term.end <= each.start < sighting.start for each in rivals)
            points, text = NAMED_BEFORE - gap // 5, f"{term.text!r} stands before it"
        else:
            nearer = any(sighting.end <= each.start < term.start for each in rivals) or any(
                0 <= each.start - term.end <= _TIGHT for each in rivals
            )
            points, text = NAMED_AFTER - gap // 5, f"{term.text!r} stands after it"
        if nearer:
            points, text = NAMED_ELSEWHERE, f"{term.text!r} stands in the sentence"
        if best is None or points > best.points:
            best = Reason(points, text)
    return best


def _labelled(read: ReadLine, sighting: Sighting, words: list[Term]) -> bool:
    return _fatal(_label(read, sighting, words, []))


def _named_around(
    reads: list[ReadLine], index: int, sighting: Sighting, segment_start: int
) -> Reason | None:
    """A word for "code" in the sentence or the lines before, or the line below."""
    read = reads[index]
    before = [t for t in read.terms if t.end <= segment_start and t.kind == "code"]
    if before and not any(
        before[-1].end < each.start < segment_start and not is_stale(read, each)
        for each in read.found
    ):
        return Reason(NAMED_JUST_BEFORE, f"{before[-1].text!r} stands in the sentence before")
    if not (alone(read.clean, sighting) or alone_in_cell(read.clean, sighting)):
        return None
    above = _neighbours(reads, index, step=-1, count=5)
    for distance, line in enumerate(above):
        kinds = [term.kind for term in line.terms]
        if "code" in kinds:
            text = next(t.text for t in reversed(line.terms) if t.kind == "code")
            return Reason(NAMED_ABOVE - 4 * distance, f"{text!r} stands above it")
        if distance == 0 and (label := _short_label(line)):
            return Reason(LABELLED, f"is labelled as {_LABELS[label.kind]} ({label.text})")
        if any(alone(line.clean, each) for each in line.found):
            break
    below = _neighbours(reads, index, step=1, count=2)
    for distance, line in enumerate(below):
        for term in line.terms:
            if term.kind == "code":
                return Reason(NAMED_BELOW - 6 * distance, f"{term.text!r} stands below it")
    return None


def _short_label(line: ReadLine) -> Term | None:
    """The word that makes a short line the label of what follows."""
    if len(line.clean.strip()) > _NEAR or any(t.kind in {"act", "figures"} for t in line.terms):
        return None
    labels = [term for term in line.terms if term.kind in _LABELS]
    return labels[-1] if labels else None
