"""From a body as it was sent to its octets: transfer encodings (RFC 2045 §6), however damaged.

Nothing here raises. What had to be repaired is noted in plain words.
"""

from __future__ import annotations

import binascii
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["decode_transfer"]

_Notes = list[str]

_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/=]")
_SOFT_BREAK = re.compile(rb"[^\r\n]{40,79}=[ \t]*\r?\n")
_QUOTED_OCTET = re.compile(rb"=(?:3D|20|0A|09|[C-F][0-9A-F]=[89AB][0-9A-F])")
_QUOTED_UTF8 = re.compile(rb"=(?:C[2-9A-F]|D[0-9A-F]|E[0-9A-F]=[89AB][0-9A-F])=[89AB][0-9A-F]")
_PADDED_BREAK = re.compile(rb"=[ \t]+(?=\r?\n)")
_BAD_QUOTING = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*\r?\n|[ \t]*$)")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_RULE = re.compile(rb"-{5,}|_{5,}")  # a line drawn above what a gateway appends
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def decode_transfer(payload: bytes, encoding: str, notes: _Notes) -> bytes:
    """The octets of a part whose Content-Transfer-Encoding reads `encoding`.

    Args:
        payload: The part's body as it was sent.
        encoding: The label; unknown and missing ones mean "as it is" (RFC 2045 §6.1).
        notes: Repairs are added here.
    """
    label = encoding.strip().strip("\"';").lower()
    decode = _TRANSFER.get(label)
    if decode is None:
        near = get_close_matches(re.sub(r"[\s_]+", "-", label), _TRANSFER, n=1, cutoff=0.8)
        meant = f"taken for {near[0]!r}" if near else "the body was left as it is"
        notes.append(f"unknown transfer encoding {encoding.strip()!r}; {meant}")
        decode = _TRANSFER[near[0]] if near else _as_it_is
    return _undo_second_encoding(decode(payload, notes), notes)


# --- as it is -----------------------------------------------------------------------------------

_SURELY_BASE64 = 40  # octets in a first line that no prose has


def _as_it_is(payload: bytes, notes: _Notes) -> bytes:
    first = payload.lstrip().partition(b"\n")[0].rstrip()
    if len(first) >= _SURELY_BASE64 and len(first) % 4 == 0 and not _NOT_BASE64.search(first):
        block = _Base64Block(payload)
        decoded = block.decoded([])
        if block.is_most_of_it and _is_text(decoded):
            notes.append("a base64 body without a label that says so was decoded")
            return decoded + block.trailer
    return payload


def _is_text(octets: bytes) -> bool:
    try:
        octets.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not _CONTROL.search(octets)


def _undo_second_encoding(octets: bytes, notes: _Notes) -> bytes:
    """Quoted-printable that is still there: it was never labelled, or applied twice."""
    if (_SOFT_BREAK.search(octets) and _QUOTED_OCTET.search(octets)) or (
        octets.isascii() and len(_QUOTED_UTF8.findall(octets)) > 1
    ):
        notes.append("quoted-printable without a label that says so was decoded")
        return binascii.a2b_qp(octets)
    return octets


# --- quoted-printable and uuencode ----------------------------------------------------------


def _quoted_printable(payload: bytes, notes: _Notes) -> bytes:
    if _BAD_QUOTING.search(payload):
        notes.append("a '=' that starts no quoted-printable octet was kept as it is")
    return binascii.a2b_qp(_PADDED_BREAK.sub(b"=", payload))


def _uuencoded(payload: bytes, notes: _Notes) -> bytes:
    decoded = bytearray()
    for line in payload.splitlines():
        if not line or line.startswith((b"begin ", b"end")):
            continue
        try:
            decoded += binascii.a2b_uu(line)
        except binascii.Error:
            notes.append("an unreadable line of the uuencoded body was skipped")
    return bytes(decoded)


# --- base64 --------------------------------------------------------------------------------------

_LONG_LINE = 20  # characters; a word of prose is shorter
_FEW_STRAYS = 0.1  # the share of foreign characters in a line that is base64 all the same
_READABLE = 0.02  # the share of control characters that text may have


def _base64(payload: bytes, notes: _Notes) -> bytes:
    block = _Base64Block(payload)
    decoded = block.decoded(notes)
    controls = len(_CONTROL.findall(decoded))
    if block.strange and (not block.lines or controls > len(decoded) * _READABLE):
        notes.append("a body labelled base64 holds plain text and was left as it is")
        return payload
    if block.skipped:
        notes.append("characters that are not base64 were skipped")
    if block.trailer:
        notes.append("plain text behind the base64 body was kept")
    return decoded + block.trailer


class _Base64Block:
    """A base64 body among what else stands there: stray characters, foreign lines, a trailer.

    Encoders make all lines but the last equally long, so a shorter line between them is foreign
    even when it holds nothing but letters.
    """

    def __init__(self, payload: bytes) -> None:
        self.lines: list[bytes] = []
        self.strange = self.skipped = False
        rows = [row.strip(b" \t\r\x0b\x0c") for row in payload.split(b"\n")]
        good = [_without_strays(row) for row in rows]
        self._width = max((len(line) for line in good if line), default=0)
        last = self._last_row(good)
        for number, line in enumerate(good[: last + 1]):
            if line is None:
                self.strange = self.skipped = True
            elif line and not self._foreign(line, last=number == last):
                self.lines.append(line)
                self.skipped |= line != rows[number].translate(_URL_SAFE, b" \t\x0b\x0c")
            else:
                self.skipped |= bool(line)
        rest = b"\n".join(rows[last + 1 :]).strip(b"\n")
        self.trailer = b"\n\n" + rest if rest else b""
        self.strange |= bool(rest)

    @property
    def is_most_of_it(self) -> bool:
        """Whether more of the body is base64 than is not."""
        return sum(map(len, self.lines)) > len(self.trailer)

    def _last_row(self, good: list[bytes | None]) -> int:
        """The last line that is base64 by its form, or by what stands above it."""
        if None not in good:
            return len(good) - 1
        last, above = -1, False
        for number, line in enumerate(good):
            fits = line is not None and (
                len(line) >= _LONG_LINE
                or line.endswith(b"=")
                or (above and len(line) % 4 == 0 and bool(line))
            )
            if fits:
                last = number
            above = fits and line is not None and len(line) == self._width
        return last

    def _foreign(self, line: bytes, *, last: bool) -> bool:
        return (
            not last
            and len(line) < self._width
            and len(line) < _LONG_LINE
            and len(line) % 4 != 0
            and self._width % 4 == 0
        )

    def decoded(self, notes: _Notes) -> bytes:
        """The octets; what stands behind padding begins anew."""
        decoded = bytearray()
        for piece in re.findall(rb"[^=]+", b"".join(self.lines)):
            whole = len(piece) - (len(piece) % 4 == 1)
            if whole < len(piece):
                notes.append("the base64 body is cut short")
            decoded += binascii.a2b_base64(piece[:whole] + b"=" * (-whole % 4))
        return bytes(decoded)


def _without_strays(row: bytes) -> bytes | None:
    """A line without the few characters that are not base64; None when it is something else."""
    if _RULE.fullmatch(row):
        return None
    packed = row.translate(_URL_SAFE, b" \t\x0b\x0c")
    line = _NOT_BASE64.sub(b"", packed)
    if re.search(rb"[^=]=+[^=]", row) and re.search(rb"[\"'<>&?]", row):
        return None  # markup or an address
    strays = len(packed) - len(line)
    apart = len(row.split()) - 1
    if strays and strays > max(1, len(row) * _FEW_STRAYS):
        return None
    return None if apart > 1 and len(line) < _LONG_LINE * 3 else line


_TRANSFER: dict[str, Callable[[bytes, _Notes], bytes]] = {
    "": _as_it_is,
    "7bit": _as_it_is,
    "8bit": _as_it_is,
    "7-bit": _as_it_is,
    "8-bit": _as_it_is,
    "binary": _as_it_is,
    "none": _as_it_is,
    "quoted-printable": _quoted_printable,
    "quotedprintable": _quoted_printable,
    "qp": _quoted_printable,
    "base64": _base64,
    "base-64": _base64,
    "b64": _base64,
    "x-uuencode": _uuencoded,
    "uuencode": _uuencoded,
    "x-uue": _uuencoded,
}
