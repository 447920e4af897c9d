"""How much a text reads like a language: what tells a right charset from a wrong one.

A language is one entry of `ALPHABETS`. Text read in a wrong charset mixes letters of several
alphabets, signs inside words, and capitals after small letters.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

__all__ = ["ALPHABETS", "plausibility"]

_COMMON, _USUAL, _FOREIGN = 1.0, 0.5, -1.0
_SHOUTING = 0.3


class Alphabet(NamedTuple):
    """The small letters beyond ASCII of one language; `common` are the frequent ones."""

    common: str
    usual: str = ""


class Plane(NamedTuple):
    """The everyday characters of a large character set, by their lead bytes in `codec`."""

    codec: str
    first: int
    last: int
    weight: float


ALPHABETS: dict[str, Alphabet] = {
    "cs sk": Alphabet("áčéěířšůýž", "ďňóťúľĺŕôä"),
    "da no": Alphabet("æøå", "éó"),
    "de": Alphabet("äöüß", "é"),
    "es gl ca": Alphabet("áéíóúñ", "üçàèòï"),
    "fr": Alphabet("éèêàç", "âîôûùëïüœæÿ"),
    "hr sl sr": Alphabet("čšž", "ćđ"),
    "hu": Alphabet("áéőö", "íóúüű"),
    "it": Alphabet("àèìòù", "éóî"),
    "nl": Alphabet("ëéï", "èöüáóĳ"),
    "pl": Alphabet("ąęłóśż", "ćńź"),
    "pt": Alphabet("ãáçéêõó", "âíúàôü"),
    "ro": Alphabet("ăâîșț", "şţ"),
    "sv fi": Alphabet("äöå", "é"),
    "tr az": Alphabet("ıişğüöç", "âîûiə"),
    "lt lv et": Alphabet("ėščžųūįąāēīļņģķõäöü"),
    "vi": Alphabet("ạảấầậắặệềểếịọốồộớờợụủứừựưươđđôơêâăáàãéèíìóòõúùýỵ̀̀́̉̃"),
    "ru": Alphabet("оеаинтсрвлкмдпу", "яыьгзбчйхжшюцщэфъё"),
    "uk": Alphabet("оаниівтерсклдмпу", "язьбгчйхжшюцщєїґф"),
    "bg mk sr": Alphabet("аоиентрсвлдкпмз", "бъягучщшжцйхюьфјљњџћђ"),
    "el": Alphabet("αοιετσνηυρπκμλςάόίέή", "ώύγδφθβχξζψωϊϋΐΰ"),
    "he": Alphabet("אבגדהוזחטיכךלמםנןסעפףצץקרשת", "ְִֵֶַָֹֻּׁׂ״׳"),
    "ar fa ur": Alphabet("ابتجحخدذرزسشصضطظعغفقكلمنهويىةأإآؤئء", "پچژگکیًٌٍَُِّْ،؟؛"),
    "th": Alphabet("รานอกเงมยลวดทสตะปบคหแจพชขใัิี่้", "ไโซถผธณภญศษฐฝฟฉุูื์ึำ็ๆๅ"),
    "hi": Alphabet("".join(map(chr, range(0x0900, 0x0980)))),
}

# Everyday characters of the large character sets stand in their first planes, so a charset's own
# order tells them from the rare ones. Hangul counts for more: Korean octets all happen to be
# everyday Chinese too, but hardly ever the other way round.
_EVERYDAY: dict[str, Plane] = {
    "zh-Hans": Plane("gb2312", 0xB0, 0xD7, 0.75),
    "zh-Hant": Plane("big5", 0xA4, 0xC6, 0.75),
    "ja": Plane("shift_jis", 0x81, 0x98, 0.75),
    "ko": Plane("euc_kr", 0xB0, 0xC8, 0.85),
}

_WEIGHTS = tuple(
    dict.fromkeys(each.usual, _USUAL) | dict.fromkeys(each.common, _COMMON)
    for each in ALPHABETS.values()
)

_TYPOGRAPHY = frozenset(
    "\xa0\xad“”„‚‘’–—…·•©®™€£°«»‹›¿¡¿¡§′″→←✓№、。，！？：；（）「」『』【】〜～・ー\u200b\u200c\u200d\u200e\u200f\ufeff"
)


def plausibility(text: str) -> float:
    """From -1 (no text at all) to 1 (surely a language); 0 for ASCII alone."""
    marks = [mark for mark in text if mark > "\x7f" and mark not in _TYPOGRAPHY]
    if not marks:
        return 0.0
    counted = Counter(marks)
    small = Counter(mark.lower() for mark in marks)
    fits = [_fit(small, weights) for weights in _WEIGHTS]
    return (max(*fits, _everyday(counted)) - _faults(text)) / len(marks)


def _fit(small: Counter[str], weights: dict[str, float]) -> float:
    return sum(weights.get(letter, _FOREIGN) * count for letter, count in small.items())


def _everyday(counted: Counter[str]) -> float:
    """How many of the characters are everyday ones of one East Asian language."""
    return max(
        sum(
            (plane.weight if _stands_in(plane, mark) else _FOREIGN) * count
            for mark, count in counted.items()
        )
        for plane in _EVERYDAY.values()
    )


@lru_cache(maxsize=20_000)
def _stands_in(plane: Plane, character: str) -> bool:
    try:
        octets = character.encode(plane.codec)
    except UnicodeEncodeError:
        return False
    return len(octets) > 1 and plane.first <= octets[0] <= plane.last


def _faults(text: str) -> float:
    """Neighbours that no word has: a capital after a small letter, letters of two scripts."""
    faults = 0.0
    for before, after in pairwise(text):
        if before > "\x7f" or after > "\x7f":
            faults += before.islower() and after.isupper()
            faults += before.isalpha() and after in "¿¡"
            faults += _SHOUTING * (before.isupper() and after.isupper())
            faults += before.isascii() != after.isascii() and _scripts_clash(before, after)
    return faults


def _scripts_clash(before: str, after: str) -> bool:
    """Whether one of two neighbours is an ASCII letter and the other of a script with words."""
    foreign, latin = (before, after) if before > "\x7f" else (after, before)
    return latin.isalpha() and "\u0370" <= foreign < "\u0e80"
