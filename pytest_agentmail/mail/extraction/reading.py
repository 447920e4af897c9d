"""Lines of a mail read for codes: what looks like one, and the words beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_agentmail.mail.extraction.listing import mark_choices, mark_lists
from pytest_agentmail.mail.extraction.noise import (
    DOMAIN_BOUND,
    INSTRUCTION,
    without_addresses,
    without_noise,
)
from pytest_agentmail.mail.extraction.passwords import (
    blotted,
    names_password_below,
    password_alone,
    password_given,
)
from pytest_agentmail.mail.extraction.shapes import Sighting, ascii_forms, sightings
from pytest_agentmail.mail.extraction.vocabulary import (
    AGE_KINDS,
    CODE_KINDS,
    LINK_KINDS,
    Term,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_agentmail.mail.extraction.page import Line

__all__ = ["SENTENCE_END", "ReadLine", "alone", "alone_in_cell", "read_lines"]

SENTENCE_END = re.compile(
    r"(?<=[^\W\d_)\"'»”])[.](?=\s|$)|(?<=\d)\.(?=\s|$)|[!?;。！？；।؟]+(?=\s|$|[^\x00-\x7f])|\n"
)

_MOST_IN_LINE = 24  # a line with more numbers is a table or a jumble


@dataclass(slots=True)
class ReadLine:
    """A line with what was found in it."""

    line: Line
    plain: str
    clean: str
    found: list[Sighting]
    terms: list[Term]
    ages: list[Term]
    aims: list[Term]
    segments: list[tuple[int, int]]
    ordered: bool = False  # talks to machines
    listed: frozenset[int] = frozenset()  # where codes start that are listed with others
    choices: frozenset[int] = frozenset()  # where codes start of which each is as good

    def segment_of(self, place: int) -> tuple[int, int]:
        """The sentence that `place` stands in."""
        return next(each for each in self.segments if each[0] <= place < each[1])

    def words_beside(self, sighting: Sighting) -> list[Term]:
        """The words of the sentence that it stands in."""
        start, end = self.segment_of(sighting.start)
        return [term for term in self.terms if start <= term.start < end]

    def found_beside(self, sighting: Sighting) -> list[Sighting]:
        """What else looks like a code in the sentence that it stands in."""
        start, end = self.segment_of(sighting.start)
        return [each for each in self.found if start <= each.start < end and each != sighting]

    @property
    def empty(self) -> bool:
        """Whether nothing is left of it."""
        return not self.clean.strip()


def read_lines(lines: Iterable[Line], bound: set[str]) -> list[ReadLine]:
    """Read `lines`; codes that a line binds to a domain are added to `bound`."""
    reads: list[ReadLine] = []
    expected = False  # whether the line above names a password
    for line in lines:
        plain = ascii_forms(line.text)
        if found := DOMAIN_BOUND.match(plain.strip()):
            bound.add(found[1] or found[2])
            plain = ""
        clean = without_noise(plain)
        spoken = without_addresses(plain)
        words = terms(spoken, CODE_KINDS)
        given = password_given(spoken, line.text)
        if expected and not given:
            given = password_alone(line.text)
        if plain.strip():
            expected = names_password_below(spoken)
        seen = sorted(
            each
            for each in [*given, *sightings(blotted(clean, given), line.text, dict(line.apart))]
            if each in given or not any(t.start <= each.start and each.end <= t.end for t in words)
        )
        if len(seen) > _MOST_IN_LINE:
            seen = []
        ends = [found.end() for found in SENTENCE_END.finditer(clean)]
        segments = list(zip([0, *ends], [*ends, len(clean)], strict=True))
        ages, aims = terms(spoken, AGE_KINDS), terms(spoken, LINK_KINDS)
        reads.append(ReadLine(line, plain, clean, seen, words, ages, aims, segments))
    for paragraph in _paragraphs(reads):
        if any(INSTRUCTION.search(read.clean) for read in paragraph):
            for read in paragraph:
                read.ordered = bool(INSTRUCTION.search(read.clean)) or len(paragraph) > 1
    mark_lists(reads)
    mark_choices(reads)
    return reads


def _paragraphs(reads: list[ReadLine]) -> Iterator[list[ReadLine]]:
    paragraph: list[ReadLine] = []
    for read in reads:
        if read.empty:
            yield paragraph
            paragraph = []
        else:
            paragraph.append(read)
    yield paragraph


def alone(clean: str, sighting: Sighting) -> bool:
    """Whether nothing else stands in the line."""
    rest = clean[: sighting.start] + clean[sighting.end :]
    return not re.search(r"[^\W_]", rest)


def alone_in_cell(clean: str, sighting: Sighting) -> bool:
    """Whether nothing else stands in its cell of the line."""
    before = clean[: sighting.start].rpartition("\t")[2]
    after = clean[sighting.end :].partition("\t")[0]
    return "\t" in clean and not re.search(r"[^\W_]", before + after)
