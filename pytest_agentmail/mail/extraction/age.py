"""Whether a code is the one that counts now, or one that counts no more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_agentmail.mail.extraction.candidates import Reason
from pytest_agentmail.mail.extraction.reading import SENTENCE_END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_agentmail.mail.extraction.reading import ReadLine
    from pytest_agentmail.mail.extraction.shapes import Sighting
    from pytest_agentmail.mail.extraction.vocabulary import Term

__all__ = ["STALE", "is_stale", "signs_of_age"]

NEW = 12
STALE = -70
_NEAR = 30


def signs_of_age(read: ReadLine, sighting: Sighting) -> Iterator[Reason]:
    """Whether it is the new code of the mail, or one that counts no more."""
    start, end = read.segment_of(sighting.start)
    words = [term for term in read.ages if start <= term.start < end]
    beside = [each for each in read.found if start <= each.start < end and each != sighting]
    for term in words:
        preceded = term.end <= sighting.start
        between = (term.end, sighting.start) if preceded else (sighting.end, term.start)
        if any(between[0] <= each.start < between[1] for each in beside):
            continue
        near = between[1] - between[0] <= _NEAR
        over_between = any(
            other.kind == "over" and between[0] <= other.start < between[1] for other in words
        )
        if (term.kind == "old" and preceded and near and not over_between) or (
            term.kind == "over"
            and (not preceded or (near and "\t" in read.clean[between[0] : between[1]]))
            and not _conditional(read.clean, term)
        ):
            yield Reason(STALE, f"counts no more ({term.text})")
        elif term.kind == "fresh" and near:
            yield Reason(NEW, f"is the new one ({term.text})")


def is_stale(read: ReadLine, sighting: Sighting) -> bool:
    """Whether it counts no more."""
    return any(reason.points == STALE for reason in signs_of_age(read, sighting))


_CONDITION = re.compile(
    r"(?<!\w)(?:if|when|once|until|unless|after|wenn|falls|sobald|si|cuando|se|quando|als|om|hvis|når|jos|jeśli|gdy|pokud|"
    r"ha|dacă|αν|εάν|eğer|если|когда|якщо|коли|إذا|אם|اگر|यदि|अगर|หาก|ถ้า|nếu|khi|jika|apabila)(?!\w)",
)


def _conditional(clean: str, term: Term) -> bool:
    """Whether the sentence only says what holds when the code has expired."""
    start = max((found.end() for found in SENTENCE_END.finditer(clean, 0, term.start)), default=0)
    return bool(_CONDITION.search(clean[start : term.start].lower()))
