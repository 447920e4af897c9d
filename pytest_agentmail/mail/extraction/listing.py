"""Lists of codes, such as backup codes: one per line or cell, or set apart by commas.

All of a list are equally good, so none of them is the code while another stands by itself.
"""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_agentmail.mail.extraction.reading import ReadLine
    from pytest_agentmail.mail.extraction.shapes import Sighting

__all__ = ["mark_choices", "mark_lists"]

_FEWEST = 3
_NUMBERING = re.compile(r"(?<!\S)[(#]?\d{1,2}[.):]?(?!\S)")
_BETWEEN = re.compile(r"\s*(?:[,;/|·•、，；]|[^\W\d_]{1,4})\s*(?:[^\W\d_]{1,4}\s*)?")
# Two that one of these joins are a choice: what names the one names the other.
_CHOICE = re.compile(
    r"\s*(?:/|\b(?:or|and|oder|und|ou|et|o|u|y|e|of|en|eller|og|och|tai|ja|lub|i|nebo|a|vagy|és|sau|și|или|и|або|та|ή|και"
    r"|veya|ve|atau|dan|hoặc|và)\b|或|和|或者|または|又は|と|또는|أو|או|یا|या|หรือ)\s*",
    re.IGNORECASE,
)


def mark_choices(reads: list[ReadLine]) -> None:
    """Note in each line which of its codes are offered one beside the other."""
    for read in reads:
        for first, second in pairwise(read.found):
            joined = _CHOICE.fullmatch(read.clean, first.end, second.start)
            if joined and _form_of(first) == _form_of(second):
                read.choices |= {first.start, second.start}


def mark_lists(reads: list[ReadLine]) -> None:
    """Note in each line which of its codes stand in a list."""
    for run in _runs(reads):
        if len({each.value for read in run for each in read.found}) >= _FEWEST:
            for read in run:
                read.listed = frozenset(each.start for each in read.found)
    for read in reads:
        for row in _rows(read):
            if len({each.value for each in row}) >= _FEWEST:
                read.listed |= {each.start for each in row}


def _runs(reads: list[ReadLine]) -> Iterator[list[ReadLine]]:
    """Neighbouring lines that hold nothing but codes of one form."""
    written = (read for read in reads if not read.empty)
    for form, run in groupby(written, key=_form):
        if form is not None:
            yield list(run)


def _form(read: ReadLine) -> tuple[int, bool] | None:
    """The form of the codes in a line that holds nothing else."""
    rest = read.clean
    for each in reversed(read.found):
        rest = rest[: each.start] + " " + rest[each.end :]
    if read.line.apart or re.search(r"[^\W_]", _NUMBERING.sub(" ", rest)):
        return None
    forms = {_form_of(each) for each in read.found}
    return forms.pop() if len(forms) == 1 else None


def _form_of(sighting: Sighting) -> tuple[int, bool]:
    return len(sighting.value), sighting.value.isdigit()


def _rows(read: ReadLine) -> Iterable[list[Sighting]]:
    """Codes of one form that nothing but commas or an "or" parts."""
    rows: list[list[Sighting]] = []
    for each in read.found:
        last = rows[-1][-1] if rows else None
        if (
            last is not None
            and _form_of(last) == _form_of(each)
            and _BETWEEN.fullmatch(read.clean, last.end, each.start)
        ):
            rows[-1].append(each)
        else:
            rows.append([each])
    return rows
