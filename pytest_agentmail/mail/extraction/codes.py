"""The code a person would type in: every code-like thing of a mail, ranked with reasons.

Three tables hold the knowledge: `shapes` (what a code looks like), `noise` (what never is one) and
the vocabulary (what words say about it). `signs` and `naming` say how much each sign is worth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_agentmail.mail.extraction.age import STALE
from pytest_agentmail.mail.extraction.candidates import Candidate, Reason
from pytest_agentmail.mail.extraction.page import Page
from pytest_agentmail.mail.extraction.quoting import subject_line
from pytest_agentmail.mail.extraction.reading import read_lines
from pytest_agentmail.mail.extraction.shapes import ascii_forms
from pytest_agentmail.mail.extraction.signs import TO_ENTER, TO_ENTER_ABOVE, signs_of
from pytest_agentmail.mail.extraction.sole import sign_of_sole
from pytest_agentmail.mail.extraction.vocabulary import CODE_KINDS, terms

if TYPE_CHECKING:
    from collections.abc import Collection

    from pytest_agentmail.mail.extraction.shapes import Sighting

__all__ = ["find_codes"]

ENOUGH = 50  # points from which on something is taken for a code
ALIKE = 6  # points that make no difference between two codes


# What the mail as a whole says about one place.
NAMED_IN_SUBJECT = 15
IN_SUBJECT = 8
WHAT_TO_ENTER = 8
REPEATED = 6
BOUND_TO_DOMAIN = 12
NOT_DISPLAYED = -25
KEPT_FOR_LATER = -40


@dataclass(slots=True)
class _Tally:
    """All the places of one value."""

    value: str
    as_written: str
    best: list[Reason]
    points: int
    where: list[str] = field(default_factory=list)
    against: set[Reason] = field(default_factory=set)
    listed: bool = True  # only ever among others like it
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
    shown = "html" if html.visible_text else "text"
    sources = (
        ("subject", Page((subject_line(subject),)).cut().lines),
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
                reasons = list(signs_of(reads, index, sighting))
                if named_in_subject and where != "subject":
                    reasons.append(Reason(NAMED_IN_SUBJECT, "the subject speaks of a code"))
                    if TO_ENTER in reasons or TO_ENTER_ABOVE in reasons:
                        reasons.append(Reason(WHAT_TO_ENTER, "that is what one is told to enter"))
                unnamed = sum(reason.points for reason in reasons) < ENOUGH
                if where == shown and unnamed:
                    reasons += sign_of_sole(subject, reads, read, sighting)
                if where == "subject":
                    reasons.append(Reason(IN_SUBJECT, "stands in the subject"))
                if where == "text" and displayed and sighting.value not in displayed:
                    reasons.append(Reason(NOT_DISPLAYED, "the HTML part does not show it"))
                _note(tallies, sighting, where, reasons)
                tallies[sighting.value].listed &= sighting.start in read.listed
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


def _ranked(tallies: Collection[_Tally], bound: set[str]) -> tuple[Candidate, ...]:
    found: list[Candidate] = []
    one_by_itself = any(tally.points >= ENOUGH and not tally.listed for tally in tallies)
    for tally in tallies:
        reasons = list(tally.best)
        if tally.listed and one_by_itself:
            reasons.append(Reason(KEPT_FOR_LATER, "is one of a list, and another is none"))
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
