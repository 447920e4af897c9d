"""The words beside a number that say what it is: a code, or a number of another sort."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_agentmail.mail.extraction.age import is_stale
from pytest_agentmail.mail.extraction.candidates import Reason
from pytest_agentmail.mail.extraction.reading import ReadLine, alone, alone_in_cell
from pytest_agentmail.mail.extraction.shapes import BY_NAME_ALONE

if TYPE_CHECKING:
    from pytest_agentmail.mail.extraction.shapes import Sighting
    from pytest_agentmail.mail.extraction.vocabulary import Term

__all__ = ["names_of", "neighbours"]

# A number with a word for "code" right before it is one; nothing else is enough alone.
NAMED_BEFORE = 45
NAMED_AFTER = 42
NAMED_ELSEWHERE = 12
NAMED_ABOVE = 42
NAMED_BELOW = 32
NAMED_JUST_BEFORE = 25
NAMED_JUST_AFTER = 25

LABELLED = -60
LABELLED_AFTER_CODE = -8
COUNTS_SOMETHING = -80

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


def names_of(reads: list[ReadLine], index: int, sighting: Sighting) -> list[Reason]:
    """What words call it, in its sentence or in the lines around it.

    Args:
        reads: The lines of the page.
        index: The number of its line.
        sighting: What may be a code.
    """
    if sighting.shape == BY_NAME_ALONE:
        return []  # it was found by its name
    read = reads[index]
    words, beside = read.words_beside(sighting), read.found_beside(sighting)
    labels = _labels_of(read, sighting, words, beside)
    if _fatal(labels):
        return labels
    named = _named_in_segment(read, sighting, words, beside) or _named_around(
        reads, index, sighting
    )
    return [*labels, named] if named else labels


def _labels_of(
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
    together = read.listed if sighting.start in read.listed else read.choices
    listed = [each for each in [*beside, sighting] if {each.start, sighting.start} <= together]
    first = min(listed, default=sighting)
    rivals = [
        each
        for each in beside
        if each not in listed
        and not _labelled(read, each, words)
        and not is_stale(read, each)
        and not read.line.look_at(each.start).struck
    ]
    for term in words:
        if term.kind != "code":
            continue
        after = first.start >= term.end
        gap = first.start - term.end if after else term.start - sighting.end
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
    return _fatal(_labels_of(read, sighting, words, []))


def _named_around(reads: list[ReadLine], index: int, sighting: Sighting) -> Reason | None:
    """A word for "code" in the sentence or the lines before, or the line below."""
    read = reads[index]
    segment_start, _ = read.segment_of(sighting.start)
    before = [t for t in read.terms if t.end <= segment_start and t.kind == "code"]
    if before and not any(
        before[-1].end < each.start < segment_start and not is_stale(read, each)
        for each in read.found
    ):
        return Reason(NAMED_JUST_BEFORE, f"{before[-1].text!r} stands in the sentence before")
    if after := _named_just_after(reads, index, sighting):
        return after
    listed = sighting.start in read.listed
    if not (listed or alone(read.clean, sighting) or alone_in_cell(read.clean, sighting)):
        return None
    while listed and index > 0 and (reads[index].listed or reads[index].empty):
        index -= 1  # what stands above the list names all of it
    above = neighbours(reads, index + listed, step=-1, count=5)
    for distance, line in enumerate(above):
        named = [term for term in line.terms if term.kind == "code"]
        label = None if distance else _label_above(line, named)
        if label:
            return Reason(LABELLED, f"is labelled as {_LABELS[label.kind]} ({label.text})")
        if named:
            return Reason(NAMED_ABOVE - 4 * distance, f"{named[-1].text!r} stands above it")
        if any(alone(line.clean, each) for each in line.found):
            break
    return _named_below(reads, index)


def _named_just_after(reads: list[ReadLine], index: int, sighting: Sighting) -> Reason | None:
    """What one is told to enter is what the next sentence calls a code."""
    read = reads[index]
    if not any(term.kind == "act" for term in read.words_beside(sighting)):
        return None
    _, end = read.segment_of(sighting.start)
    following = read, end
    if not re.search(r"[^\W_]", read.clean[end:]) and index + 1 < len(reads):
        following = reads[index + 1], 0
    line, begin = following
    for term in line.terms:
        if term.kind == "code" and begin <= term.start <= begin + _NEAR:
            start, stop = line.segment_of(term.start)
            if not any(start <= each.start < stop for each in line.found):
                return Reason(NAMED_JUST_AFTER, f"{term.text!r} stands in the next sentence")
    return None


def _named_below(reads: list[ReadLine], index: int) -> Reason | None:
    for distance, line in enumerate(neighbours(reads, index, step=1, count=2)):
        for term in line.terms:
            if term.kind == "code":
                return Reason(NAMED_BELOW - 6 * distance, f"{term.text!r} stands below it")
    return None


def _label_above(line: ReadLine, named: list[Term]) -> Term | None:
    """The word by which the line right above says that it is a number of another sort."""
    if not named:
        return _short_label(line)
    return next((term for term in line.terms if term.kind == "promo"), None)


def _short_label(line: ReadLine) -> Term | None:
    """The word that makes a short line the label of what follows; a number in it has it."""
    if line.found or len(line.clean.strip()) > _NEAR:
        return None
    if any(t.kind in {"act", "figures"} for t in line.terms):
        return None
    labels = [term for term in line.terms if term.kind in _LABELS]
    return labels[-1] if labels else None


def neighbours(reads: list[ReadLine], index: int, *, step: int, count: int) -> list[ReadLine]:
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
