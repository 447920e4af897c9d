"""What a code may look like: a table of shapes, and where they stand in a line."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

__all__ = ["BY_NAME_ALONE", "SHAPES", "Shape", "Sighting", "ascii_forms", "sightings"]


class Shape(NamedTuple):
    """A form that codes have.

    Attributes:
        name: What it is called in reasons.
        pattern: Finds it in a line of ASCII forms.
        points: How likely a code has this form.
        joined: Whether an app takes it without its separators.
    """

    name: str
    pattern: re.Pattern[str]
    points: int
    joined: bool = False

    def value_of(self, written: str) -> str:
        """What an app accepts for the form as written."""
        if self.name == "prefix and digits":
            return written.rpartition("-")[2]
        return re.sub(r"[ -]", "", written) if self.joined else written


BY_NAME_ALONE = "password"  # the shape of what words alone make a code


class Sighting(NamedTuple):
    """Something code-like in a line."""

    start: int
    end: int
    value: str
    as_written: str
    shape: str
    points: int


_BEFORE = r"(?<![A-Za-z0-9_@/\\=+])(?<![A-Za-z0-9]-)(?<!\d[.,:'])"
_AFTER = r"(?![A-Za-z0-9_@])(?!-[A-Za-z0-9])(?![.,:/']\d)"


def _shape(name: str, pattern: str, points: int, *, joined: bool = False) -> Shape:
    return Shape(name, re.compile(f"{_BEFORE}(?:{pattern}){_AFTER}"), points, joined)


def _whole(groups: str) -> str:
    """Groups of digits that no further group stands beside."""
    return rf"(?<!\d[ -])(?:{groups})(?![ -]\d)"


# The first that fits wins. Groups are of one length: other groupings are telephone numbers.
SHAPES: tuple[Shape, ...] = (
    _shape("two groups of three digits", _whole(r"\d{3}[ -]\d{3}"), 18, joined=True),
    _shape("groups of digits", _whole(r"\d{2}(?:[ -]\d{2}){2,4}|\d{4}[ -]\d{4}|\d{3}(?:[ -]\d{3}){2}|\d{5}[ -]\d{5}"), 10, joined=True),
    _shape("uneven groups of digits", r"(?<=\A)\d{2,4}(?:[ -]\d{2,4}){1,3}(?=\Z)", 4, joined=True),
    _shape("spaced groups of capitals and digits", r"(?<=\A)(?=[A-Z ]*\d)(?=[\d ]*[A-Z])[A-Z0-9]{2,5}(?: [A-Z0-9]{2,5}){1,4}(?=\Z)", -4),
    _shape("prefix and digits", r"[A-Z]{1,2}-\d{4,8}", 18),
    _shape("six digits", r"\d{6}", 20),
    _shape("four, five, seven or eight digits", r"\d{4,5}|\d{7,8}", 14),
    _shape("nine or ten digits", r"\d{9,10}", 6),
    _shape("groups of capitals and digits", r"(?=[A-Z-]*\d|[A-Z]{3,5}-[A-Z]{3,5})[A-Z0-9]{1,6}(?:-[A-Z0-9]{1,6}){1,4}", 10),
    _shape("capitals and digits", r"(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{4,12}", 10),
    _shape("letters and digits", r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{5,12}", 6),
    _shape("groups of letters and digits", r"(?=[a-z-]*\d|[a-z]{3,}(?:-[a-z]{3,}){2})[a-z0-9]{3,10}(?:-[a-z0-9]{3,10}){1,4}", 0),
    _shape("capitals", r"[A-Z]{4,10}", -4),
)  # fmt: skip

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-")


def ascii_forms(text: str) -> str:
    """The same text with ASCII digits, letters, blanks and dashes; places stay the same."""
    if text.isascii():
        return text
    return "".join(map(_ascii_form, text)).translate(_DASHES)


def _ascii_form(character: str) -> str:
    if character <= "\x7f":
        return character
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    if "\uff01" <= character <= "\uff5e" and character.isalnum():
        return chr(ord(character) - 0xFEE0)
    return " " if character.isspace() and character != "\n" else character


def sightings(clean: str, original: str, apart: dict[int, str]) -> list[Sighting]:
    """What looks like a code in a line, in order, none overlapping another.

    Args:
        clean: The line in ASCII forms, without noise.
        original: The line as it stands in the mail.
        apart: How joined characters that start at a place were written.
    """
    found: list[Sighting] = []
    taken = bytearray(len(clean))
    for start, end in _uneven_groups(clean):
        taken[start:end] = b"\x01" * (end - start)
    for shape in SHAPES:
        for match in shape.pattern.finditer(clean):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            taken[start:end] = b"\x01" * (end - start)
            written = apart.get(start, original[start:end])
            found.append(
                Sighting(start, end, shape.value_of(match[0]), written, shape.name, shape.points)
            )
    return sorted(found)


_GROUPED = re.compile(r"(?<![A-Za-z0-9_])\d{1,5}(?:[ -]\d{1,5})+(?![A-Za-z0-9_])")


def _uneven_groups(clean: str) -> list[tuple[int, int]]:
    """Where digits stand in groups of different lengths, as in telephone numbers."""
    spans: list[tuple[int, int]] = []
    for found in _GROUPED.finditer(clean):
        if found[0] == clean.strip():
            continue
        groups = re.split(r"[ -]", found[0])
        digits = sum(map(len, groups))
        uneven = len({len(group) for group in groups}) > 1
        if (uneven and (len(groups) > 2 or "-" in found[0]) and digits > 6) or digits > 10:  # noqa: PLR2004 - no code is so long
            spans.append(found.span())
    return spans
