"""From octets to text, however wrong the label of the charset is.

Nothing here raises. What had to be repaired or replaced is noted in plain words.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentmail.mail.charsets import charset_of, codec_of, is_stateful, is_wide

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Decoded", "decode", "decode_text"]

_Notes = list[str]

_ISO_2022 = re.compile(rb"\x1b(?:\$[@AB]|\(J|\(I|\$\([CD]|\$\)C)")
_ISO_2022_WITHOUT_ESCAPES = re.compile(rb"\$[@B]((?:[\x21-\x7e]{2}){1,200}?)\([BJ]")
_EVERYDAY_KANA = re.compile(rb"[%$][\x21-\x76]")
_FEW_SLIPS = 8  # so many times more UTF-8 sequences than slips make it UTF-8


class Decoded(NamedTuple):
    """Text and the codec it was read with; None where ASCII was enough."""

    text: str
    codec: str | None


def decode_text(octets: bytes, label: str | None, notes: _Notes, likely: Iterable[str] = ()) -> str:
    """The text of `octets`; see `decode`."""
    return decode(octets, label, notes, likely).text


def decode(octets: bytes, label: str | None, notes: _Notes, likely: Iterable[str] = ()) -> Decoded:
    """The text of `octets`, whatever `label` says they are.

    Args:
        octets: Text after the transfer encoding was undone.
        label: The charset as it was declared, if it was.
        notes: Repairs and replacements are added here.
        likely: Codecs that the rest of the mail is in; they count where the label does not.
    """
    declared = codec_of(label)
    if label and not declared:
        notes.append(f"unknown charset {label!r}")
    for text, codec in _readings(octets, declared, label, notes, likely):
        if "\x00" in text:
            notes.append("NUL characters were removed")
        return Decoded(text.replace("\x00", ""), codec)
    raise AssertionError  # pragma: no cover - the last reading replaces what it cannot read


def _readings(
    octets: bytes, declared: str | None, label: str | None, notes: _Notes, likely: Iterable[str]
) -> Iterator[Decoded]:
    """The ways to read `octets`, the most trusted first; each is yielded only when it fits."""
    for mark, marked in ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"),
                         (codecs.BOM_UTF16_BE, "utf-16")):  # fmt: skip
        if octets.startswith(mark):
            begin = len(mark) * (marked == "utf-8")
            yield Decoded(octets[begin:].decode(marked, "replace"), marked)
    if not is_wide(declared) and (wide := _wide_without_label(octets)):
        notes.append(f"text labelled {label or 'nothing'} is {wide} and was read as such")
        yield Decoded(octets.decode(wide, "replace"), wide)
    if whole := _iso_2022(octets):
        family = "iso2022_kr" if b"\x1b$)C" in octets else "iso2022_jp_ext"
        if not (declared or "").startswith("iso2022") or whole != octets:
            notes.append(f"text labelled {label or 'nothing'} is {family} and was read as such")
        yield Decoded(whole.decode(family, "replace"), family)
    if octets.isascii() and not is_stateful(declared):
        yield Decoded(octets.decode("ascii"), None)
    if not (octets.isascii() or is_wide(declared)) and (text := _utf_8(octets)) is not None:
        if declared not in (None, "utf-8"):
            notes.append(f"text labelled {label} is UTF-8 and was read as such")
        if "\ufffd" in text:
            notes.append("octets that are not utf-8 were replaced")
        yield Decoded(text, "utf-8")
    yield _in_some_charset(octets, declared, label, notes, likely)


def _in_some_charset(
    octets: bytes, declared: str | None, label: str | None, notes: _Notes, likely: Iterable[str]
) -> Decoded:
    """Text that is not UTF-8, though it may say so."""
    claims = [declared, *likely] if declared else likely
    sure = declared and (is_wide(declared) or octets.isascii())
    codec = declared if declared and sure else charset_of(octets, claims)
    if codec != declared:
        notes.append(f"text labelled {label or 'nothing'} was read as {_said(codec)}")
    text = octets.decode(codec, "replace")
    if "\ufffd" in text:
        notes.append(f"octets that are not {_said(codec)} were replaced")
    return Decoded(text, codec)


def _said(codec: str) -> str:
    return codec.replace("_", "-")


def _utf_8(octets: bytes) -> str | None:
    """The text when it is UTF-8, perhaps cut or with a few slips."""
    text = octets.decode("utf-8", "replace")
    slips = text.count("\ufffd")
    if slips == 0:
        return text
    whole = sum(mark > "\x7f" for mark in text) - slips
    return text if whole >= slips * _FEW_SLIPS else None


def _wide_without_label(octets: bytes) -> str | None:
    """UTF-16 shows by the NULs in every other place."""
    half = len(octets) // 2
    if half < 4 or octets.count(0) < half / 2:  # noqa: PLR2004 - too short to tell
        return None
    low, high = octets[::2].count(0), octets[1::2].count(0)
    if max(low, high) < half / 2 or min(low, high) > half / 10:
        return None
    return "utf-16-be" if low > high else "utf-16-le"


def _iso_2022(octets: bytes) -> bytes | None:
    """Octets with the escape sequences of ISO 2022, put back where a relay took the ESC away."""
    if _ISO_2022.search(octets):
        return octets
    if not octets.isascii():
        return None
    runs = [run[1] for run in _ISO_2022_WITHOUT_ESCAPES.finditer(octets)]
    kana = sum(len(_EVERYDAY_KANA.findall(run)) for run in runs)
    if kana * 4 < sum(map(len, runs)) or kana < 2:  # noqa: PLR2004 - a quarter of the octets
        return None
    return _ISO_2022_WITHOUT_ESCAPES.sub(
        lambda run: b"\x1b" + run[0][:2] + run[1] + b"\x1b(B", octets
    )
