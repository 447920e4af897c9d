"""What looks like a code and is none by its form alone: a table of patterns.

To teach a decoy of a new form, add an entry to `NOISE`. Decoys that only the words around them
give away belong to the vocabulary.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["DOMAIN_BOUND", "INSTRUCTION", "NOISE", "without_addresses", "without_noise"]


class Noise(NamedTuple):
    """A form that is never a code."""

    kind: str
    pattern: re.Pattern[str]


def _noise(kind: str, pattern: str) -> Noise:
    return Noise(kind, re.compile(pattern, re.IGNORECASE))


_WEB = ("address on the web", "e-mail address", "host name")
_SIGN = r"[$€£¥₹₽₩₺₴₪₫฿₦]"
_CURRENCY = (
    r"(?:US\$|kr|zł|Kč|Ft|лв|руб|грн|lei|USD|EUR|GBP|CHF|SEK|NOK|DKK|PLN|CZK|HUF|RON|TRY|TL|RUB|UAH"
    r"|INR|JPY|CNY|KRW|VND|IDR|Rp)"
)

NOISE: tuple[Noise, ...] = (
    _noise("machine text", r"[!-~]{200,}"),
    _noise("address on the web", r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.)[^\s<>\"]+"),
    _noise("e-mail address", r"(?<![\w.+%'-])[\w.+%'-]+@[\w-]+(?:\.[\w-]+)+"),
    _noise("host name", r"(?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,8}(?:example|test|invalid|com|org|net|io|dev|app|co|[a-z]{2})\b(?:/\S*)?"),
    _noise("identifier", r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    _noise("identifier", r"(?<![a-z0-9])(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{16,}(?![a-z0-9])"),
    _noise("colour", r"(?<![\w&#])#(?=[0-9a-f]*[a-f])[0-9a-f]{6}\b"),
    _noise("network address", r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"),
    _noise("network address", r"(?<![\w:])(?:[0-9a-f]{1,4}:){2,7}[0-9a-f:]*[0-9a-f]{1,4}(?!\w)|(?<![\w:])[0-9a-f:]{1,39}::[0-9a-f:]{0,39}"),
    _noise("date", r"(?<!\d)\d{4}([-./年])\s?\d{1,2}(?:\1|月)\s?\d{1,2}日?(?!\d)"),
    _noise("date", r"(?<!\d)(?:(?:3[01]|[12]\d|0?[1-9])([-./])\s?(?:1[0-2]|0?[1-9])|(?:1[0-2]|0?[1-9])([-./])\s?(?:3[01]|[12]\d|0?[1-9]))(?:\1|\2)\s?(?:(?:19|2[01])\d\d|\d\d)(?!\d)"),
    _noise("date", r"(?<!\d)\d{4}\s?[年년](?:\s?\d{1,2}\s?[月월])?(?:\s?\d{1,2}\s?[日일])?"),
    _noise("date", r"(?<!\d)\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]"),
    _noise("date", r"(?<![\w.])\d{1,2}\.?\s(?:de\s)?[^\W\d_]{3,12}\.?,?\s(?:de\s)?(?:19|20)\d{2}(?!\d)"),
    _noise("date", r"(?<!\w)[^\W\d_]{3,9}\.?\s\d{1,2}(?:st|nd|rd|th)?,\s?(?:19|20)\d{2}(?!\d)"),
    _noise("time", r"(?<![\w:])\d{1,2}[:.h]\d{2}(?:[:.]\d{2})?(?:\s?(?:am|pm|uhr))?(?![a-z\d:])"),
    _noise("copyright", r"(?:©|\(c\)|copyright)\s*(?:19|20)\d{2}(?:\s?[-–]\s?(?:19|20)\d{2})?"),
    _noise("years", r"(?<!\d)(?:19|20)\d{2}\s?[-–/]\s?(?:19|20)?\d{2}(?![\d-])"),
    _noise("price", rf"(?:{_SIGN}\s?|(?<![^\W\d_]){_CURRENCY}\s)\d[\d.,' ]*\d?"),
    _noise("price", rf"(?<![A-Za-z0-9])\d[\d.,']*(?:\s?{_SIGN}|\s{_CURRENCY})(?![^\W_])"),
    _noise("price", r"(?<![\d.,])\d{1,3}(?: \d{3})*[.,]\d{2}(?![\d.,]\d|\d)"),
    _noise("amount", r"(?<![\d.,])\d{1,3}(?:[.,']\d{2,3})+(?:[.,]\d+)?(?!\d)"),
    _noise("share", r"\d+(?:[.,]\d+)?\s?%|%\s?\d+"),
    _noise("masked number", r"(?<![\w*•●×·])[*•●x×·](?:[\s-]?[*•●x×·]){1,30}[\s-]?\d{2,6}(?![\w*])"),
    _noise("masked number", r"(?<![\w*•●])\d{1,6}(?:[\s-]?[*•●x×]){2,30}(?:[\s-]?\d{2,6})?(?![^\W_])"),
    _noise("card number", r"(?<!\d)\d{4}(?:[ -]\d{4}){3}(?!\d)"),
    _noise("account number", r"\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){3,7}(?:\s?[A-Z0-9]{1,3})?\b"),
    _noise("telephone number", r"(?<![\w+])(?:\+|00)\d[\d\s().-]{6,}\d"),
    _noise("telephone number", r"(?<!\w)\(\+?\d{1,5}\)[\s-]?\d[\d\s-]{3,}\d"),
    _noise("telephone number", r"(?<![\w-])(?!8\d\d[ -]\d{3}[ -]\d{3}(?![ /-]?\d))(?=(?:[\s/-]?\d){9})[08]\d{0,4}[\s/-]\d{2,5}(?:[\s/-]\d{2,5})+(?![\w-])"),
    _noise("version", r"\bv?\d+\.\d+\.\d+(?:[-.]\w+)*\b"),
    _noise("standard", r"\b(?:RFC|ISO|IEC|DIN|CVE|BSI|ANSI)[- ]\d[\d-]*\b"),
    _noise("size", r"(?<![\w])\d+\s?[x×]\s?\d+(?!\w)"),
)  # fmt: skip

# Most lines hold neither: no pattern need be tried on them.
_MAY_BE_NOISE = re.compile(r"\d|[@:.#*•●©]|[!-~]{200}")
_MAY_BE_ADDRESS = re.compile(r"[@:.]")

# The last line of a mail or message that browsers fill in by themselves: it repeats the code.
DOMAIN_BOUND = re.compile(r"^@[\w.-]+(?:\s+@[\w.-]+)?\s+#(\S+)$|^@[\w.-]+\s+#(\S+)\s+%\S+$")

# Talk to a machine that reads along, not to the person the mail is for.
INSTRUCTION = re.compile(
    r"ignor\w+ (?:all |any |the |your |these )*(?:previous|prior|above|earlier|other)"
    r"|disregard (?:all|any|the|your|previous|prior)|(?:previous|prior) instructions"
    r"|\b(?:AI|LLM|A\.I\.)\b|\bassistants?\b|\bagents?\b(?=[^.]{0,40}(?:must|should|need|:|use|enter))"
    r"|language model|chatbot|system (?:prompt|message|note|override)|^\s*system\s*:"
    r"|automated (?:reader|system|agent|tool)|\bbots?\b|prompt|override|you are now|new instructions"
    r"|the real code|the correct code|actual code",
    re.IGNORECASE,
)


def without_noise(text: str) -> str:
    """`text` with everything that is never a code blotted out; places stay the same."""
    if not _MAY_BE_NOISE.search(text):
        return text
    for noise in NOISE:
        text = noise.pattern.sub(_blot, text)
    return text


def without_addresses(text: str) -> str:
    """`text` with addresses blotted out, so that their words are not taken for its own."""
    if not _MAY_BE_ADDRESS.search(text):
        return text
    for noise in NOISE:
        if noise.kind in _WEB:
            text = noise.pattern.sub(_blot, text)
    return text


def _blot(found: re.Match[str]) -> str:
    return "\x1a" * len(found[0])
