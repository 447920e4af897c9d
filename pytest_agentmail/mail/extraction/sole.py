"""A mail that says next to nothing but its code: no word beside it has to name it.

What stands alone in a mail is what the mail is for, unless the subject or the few words around it
say that it is a number of another sort.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_agentmail.mail.extraction.candidates import Reason
from pytest_agentmail.mail.extraction.reading import alone
from pytest_agentmail.mail.extraction.shapes import ascii_forms
from pytest_agentmail.mail.extraction.vocabulary import CODE_KINDS, LINK_KINDS, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_agentmail.mail.extraction.reading import ReadLine
    from pytest_agentmail.mail.extraction.shapes import Sighting

__all__ = ["sign_of_sole"]

ALL_THERE_IS = 30  # enough for the forms that most codes have
HARDLY_MORE = 24

_FEW_LETTERS = 80  # as long as a greeting and a name at the end
_MOST_FOUND = 3  # more numbers than that are data
_OTHER_SORTS = frozenset({"other", "promo", "order", "reference", "phone", "price", "place"})
_CONFIRMED = frozenset({"phone", "place"})  # what one is asked to confirm is not what one is sent
_FOOTING = frozenset({"phone", "place"})  # of the sender; what stands right above labels it anyhow
_LETTER = re.compile(r"[^\W\d_]")
_IS_IT = re.compile(
    r"\s*(?:(?:is|ist|lautet|est|es|è|é|er|är|on|este|to|je|jest|είναι|adalah|ialah|là)\b|です|입니다|คือ|是|है)"
    r"\W*(?:[^\W\d_]{1,8}\W*){0,2}"
)
_IT_IS = re.compile(r"(?:\W*[^\W\d_]{1,8}){0,3}\W*[:：]\s*")


def sign_of_sole(
    subject: str, reads: Sequence[ReadLine], read: ReadLine, sighting: Sighting
) -> Iterator[Reason]:
    """Whether it is all that the mail says, or all but a greeting.

    Args:
        subject: The decoded subject.
        reads: The lines of the page that is displayed.
        read: The line of it that may hold the code.
        sighting: What may be the code.
    """
    numbers = {each.value for line in reads for each in line.found}
    if len(numbers) > _MOST_FOUND or _of_another_sort(subject, reads):
        return
    if not (alone(read.clean, sighting) or _is_pointed_at(read.clean, sighting)):
        return
    around = [_without_found(line) for line in reads if line is not read]
    letters = sum(len(_LETTER.findall(text)) for text in around)
    if not letters:
        yield Reason(ALL_THERE_IS, "the mail says nothing else")
    elif letters <= _FEW_LETTERS and _asks_for_it(subject):
        yield Reason(HARDLY_MORE, "the mail says hardly anything else")


def _of_another_sort(subject: str, reads: Sequence[ReadLine]) -> bool:
    """Whether any word of the mail labels its number otherwise."""
    named = {term.kind for term in terms(ascii_forms(subject), CODE_KINDS)}
    if "code" not in named and named & _OTHER_SORTS - (_CONFIRMED if _confirms(subject) else set()):
        return True
    return any(term.kind in _OTHER_SORTS - _FOOTING for line in reads for term in line.terms)


def _asks_for_it(subject: str) -> bool:
    named = any(term.kind == "code" for term in terms(ascii_forms(subject), CODE_KINDS))
    return named or _confirms(subject)


def _confirms(subject: str) -> bool:
    return any(term.kind == "confirm" for term in terms(subject, LINK_KINDS))


def _is_pointed_at(clean: str, sighting: Sighting) -> bool:
    """Whether the rest of the line only says that this is it."""
    before, after = clean[: sighting.start], clean[sighting.end :]
    if not re.search(r"\w", before):
        return bool(_IS_IT.fullmatch(after))
    return not re.search(r"\w", after) and bool(_IT_IS.fullmatch(before))


def _without_found(line: ReadLine) -> str:
    text = line.clean
    for each in line.found:
        text = text[: each.start] + " " * (each.end - each.start) + text[each.end :]
    return text
