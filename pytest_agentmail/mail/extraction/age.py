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

__all__ = ["STALE", "signs_of_age"]

NEW = 12
STALE = -70
_NEAR = 30


def signs_of_age(
    read: ReadLine, sighting: Sighting, words: list[Term], beside: list[Sighting]
) -> Iterator[Reason]:
    """Whether it is the new code of the mail, or one that counts no more."""
    for term in words:
        between = (
            (term.end, sighting.start) if term.end <= sighting.start else (sighting.end, term.start)
        )
        if any(between[0] <= each.start < between[1] for each in beside):
            continue
        gap = read.clean[slice(*between)]
        preceded = term.end <= sighting.start
        over_between = any(
            other.kind == "over" and between[0] <= other.start < between[1] for other in words
        )
        if (term.kind == "old" and preceded and len(gap) <= _NEAR and not over_between) or (
            term.kind == "over" and not preceded and not _conditional(read.clean, term)
        ):
            yield Reason(STALE, f"counts no more ({term.text})")
        elif term.kind == "fresh" and preceded and len(gap) <= _NEAR:
            yield Reason(NEW, f"is the new one ({term.text})")


_CONDITION = re.compile(
    r"(?<!\w)(?:if|when|once|until|unless|after|wenn|falls|sobald|si|cuando|se|quando|als|om|hvis|når|jos|jeśli|gdy|pokud|"
    r"ha|dacă|αν|εάν|eğer|если|когда|якщо|коли|إذا|אם|اگر|यदि|अगर|หาก|ถ้า|nếu|khi|jika|apabila)(?!\w)",
)


def _conditional(clean: str, term: Term) -> bool:
    """Whether the sentence only says what holds when the code has expired."""
    start = max((found.end() for found in SENTENCE_END.finditer(clean, 0, term.start)), default=0)
    return bool(_CONDITION.search(clean[start : term.start].lower()))
