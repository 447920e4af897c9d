"""From bytes to text: transfer encodings and charsets, however wrong their labels are.

Nothing here raises. What had to be repaired or replaced is noted in plain words.
"""

from __future__ import annotations

import binascii
import codecs
import re
from typing import TYPE_CHECKING

from pytest_agentmail.mail.alphabets import plausibility

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["decode_text", "decode_transfer"]

Notes = list[str]

# --- transfer encodings (RFC 2045 §6) -------------------------------------------------------

_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/=\s]")
_BASE64_LINE = re.compile(rb"[A-Za-z0-9+/]{20,}={0,2}\s*")
_SOFT_BREAK = re.compile(rb"[^\r\n]{40,79}=[ \t]*\r?\n")
_QUOTED_OCTET = re.compile(rb"=(?:3D|20|0A|09|[C-F][0-9A-F]=[89AB][0-9A-F])")
_PADDED_BREAK = re.compile(rb"=[ \t]+(?=\r?\n)")
_BAD_QUOTING = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*\r?\n|[ \t]*$)")
_WORDS_APART = re.compile(rb"\w +\w")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_MARKUP = re.compile(rb"<[a-zA-Z!/]")


def decode_transfer(payload: bytes, encoding: str, notes: Notes) -> bytes:
    """The octets of a part whose Content-Transfer-Encoding reads `encoding`.

    Args:
        payload: The part's body as it was sent.
        encoding: The label; unknown and missing ones mean "as it is" (RFC 2045 §6.1).
        notes: Repairs are added here.
    """
    label = encoding.strip().strip("\"';").lower()
    decode = _TRANSFER.get(label)
    if decode is None:
        notes.append(f"unknown transfer encoding {encoding.strip()!r}; the body was left as it is")
        decode = _as_it_is
    return _undo_second_encoding(decode(payload, notes), notes)


def _as_it_is(payload: bytes, notes: Notes) -> bytes:
    if _all_base64(payload):
        decoded = _base64(payload, [])
        if _is_text(decoded):
            notes.append("a base64 body without a label that says so was decoded")
            return decoded
    return payload


def _all_base64(payload: bytes) -> bool:
    """Whether every line is base64 and the first is as long as an encoder makes it."""
    lines = payload.split()
    return (
        bool(lines)
        and len(lines[0]) >= 40  # noqa: PLR2004 - shorter words may be prose
        and len(lines[0]) % 4 == 0
        and all(_BASE64_LINE.fullmatch(line) for line in lines[:-1])
        and not _NOT_BASE64.search(lines[-1])
    )


def _is_text(octets: bytes) -> bool:
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not re.search(r"[\x00-\x08\x0e-\x1f]", text)


def _quoted_printable(payload: bytes, notes: Notes) -> bytes:
    if _BAD_QUOTING.search(payload):
        notes.append("a '=' that starts no quoted-printable octet was kept as it is")
    return binascii.a2b_qp(_PADDED_BREAK.sub(b"=", payload))


def _base64(payload: bytes, notes: Notes) -> bytes:
    if _MARKUP.search(payload) or len(_WORDS_APART.findall(payload)) > 1:
        notes.append("a body labelled base64 holds plain text and was left as it is")
        return payload
    body = payload.translate(_URL_SAFE, b" \t\r\n\x0b\x0c")
    clean = _NOT_BASE64.sub(b"", body)
    if clean != body:
        notes.append("characters that are not base64 were skipped")
    decoded = bytearray()
    for piece in re.findall(rb"[^=]+", clean):
        whole = len(piece) - (len(piece) % 4 == 1)
        if whole < len(piece):
            notes.append("the base64 body is cut short")
        decoded += binascii.a2b_base64(piece[:whole] + b"=" * (-whole % 4))
    return bytes(decoded)


def _uuencoded(payload: bytes, notes: Notes) -> bytes:
    decoded = bytearray()
    for line in payload.splitlines():
        if not line or line.startswith((b"begin ", b"end")):
            continue
        try:
            decoded += binascii.a2b_uu(line)
        except binascii.Error:
            notes.append("an unreadable line of the uuencoded body was skipped")
    return bytes(decoded)


def _undo_second_encoding(octets: bytes, notes: Notes) -> bytes:
    """Quoted-printable that is still there: it was never labelled, or applied twice."""
    if _SOFT_BREAK.search(octets) and _QUOTED_OCTET.search(octets):
        notes.append("quoted-printable without a label that says so was decoded")
        return binascii.a2b_qp(octets)
    return octets


_TRANSFER: dict[str, Callable[[bytes, Notes], bytes]] = {
    "": _as_it_is,
    "7bit": _as_it_is,
    "8bit": _as_it_is,
    "binary": _as_it_is,
    "quoted-printable": _quoted_printable,
    "quotedprintable": _quoted_printable,
    "base64": _base64,
    "base-64": _base64,
    "x-uuencode": _uuencoded,
    "uuencode": _uuencoded,
    "x-uue": _uuencoded,
}

# --- charsets ----------------------------------------------------------------------------------

# Labels that senders use for a larger charset, as browsers do (WHATWG Encoding §4.2), and names
# that Python does not know.
_MEANT = {
    "ansi_x3.4-1968": "ascii",
    "us-ascii": "ascii",
    "unicode-1-1-utf-8": "utf-8",
    "unicode-1-1-utf-7": "utf-7",
    "gb2312": "gb18030",
    "gb_2312-80": "gb18030",
    "x-gbk": "gb18030",
    "gbk": "gb18030",
    "x-euc-cn": "gb18030",
    "euc-cn": "gb18030",
    "big5": "big5hkscs",
    "x-x-big5": "big5hkscs",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "x-euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp_ext",
    "cp50220": "iso2022_jp_ext",
    "cp50221": "iso2022_jp_ext",
    "koi8-r": "koi8_u",
    "ks_c_5601-1987": "cp949",
    "ksc5601": "cp949",
    "euc-kr": "cp949",
    "windows-949": "cp949",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "iso-8859-9": "cp1254",
    "iso-8859-8-i": "cp1255",
    "iso-8859-8": "cp1255",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    "macintosh": "mac_roman",
    "x-mac-roman": "mac_roman",
    "x-user-defined": "ascii",
}
_UNSAFE_CODECS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7"}

# What a body whose label is missing or wrong may be, most telling first: charsets that reject
# most foreign octets come before those that accept all.
_POSSIBLE = (
    "koi8_u", "cp1251", "cp866", "iso8859_5", "cp1253", "cp1255", "cp1256", "cp874",
    "cp1252", "cp1250", "iso8859_2", "cp1254", "cp1257", "cp1258", "gb18030", "big5hkscs", "cp932",
    "euc_jp", "cp949",
)  # fmt: skip

_ISO_2022 = re.compile(rb"\x1b(?:\$[@AB]|\(J|\$\([CD]|\$\)C)")
_TELLING_WORD = re.compile(rb"[^\s<>]*[\x80-\xff][^\s<>]*")
_SAMPLE = 20_000
_ENOUGH = 400
_CLEARLY = 0.25  # by how much another charset must read better than the one that was declared
_TOLERATED = 0.1  # the share of unreadable octets, among those that are not ASCII, of a mere slip


def decode_text(octets: bytes, label: str | None, notes: Notes) -> str:
    """The text of `octets`, whatever `label` says they are.

    Args:
        octets: Text after the transfer encoding was undone.
        label: The charset as it was declared, if it was.
        notes: Repairs and replacements are added here.
    """
    declared = _codec(label)
    if label and not declared:
        notes.append(f"unknown charset {label!r}")
    for text in _readings(octets, declared, label, notes):
        if "\x00" in text:
            notes.append("NUL characters were removed")
        return text.replace("\x00", "")
    raise AssertionError  # pragma: no cover - the last reading replaces what it cannot read


def _readings(
    octets: bytes, declared: str | None, label: str | None, notes: Notes
) -> Iterator[str]:
    """The ways to read `octets`, the most trusted first; each is yielded only when it fits."""
    for mark, codec in ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"),
                        (codecs.BOM_UTF16_BE, "utf-16")):  # fmt: skip
        if octets.startswith(mark):
            yield octets[len(mark) * (codec == "utf-8") :].decode(codec, "replace")
    if _ISO_2022.search(octets):
        family = "iso2022_kr" if b"\x1b$)C" in octets else "iso2022_jp_ext"
        if not (declared or "").startswith("iso2022"):
            notes.append(f"text labelled {label or 'nothing'} is {family} and was read as such")
        yield octets.decode(family, "replace")
    if octets.isascii() and not _stateful(declared):
        yield octets.decode("ascii")
    if (text := _strict(octets, "utf-8")) is not None and not _stateful(declared):
        if declared not in (None, "utf-8"):
            notes.append(f"text labelled {label} is UTF-8 and was read as such")
        yield text
    yield _without_label(octets, declared, label, notes)


def _without_label(octets: bytes, declared: str | None, label: str | None, notes: Notes) -> str:
    """Text that is not UTF-8, though it may say so."""
    codec = declared
    if declared is None or (not _wide(declared) and not _fits(octets, declared)):
        codec = _detect(octets) or declared or "cp1252"
    if codec != declared:
        notes.append(f"text labelled {label or 'nothing'} was read as {_said(codec)}")
    text = octets.decode(codec or "cp1252", "replace")
    if "\ufffd" in text:
        notes.append(f"octets that are not {_said(codec)} were replaced")
    return text


def _said(codec: str | None) -> str:
    return (codec or "").replace("_", "-")


def _fits(octets: bytes, declared: str) -> bool:
    """Whether `octets` are what they are declared to be, but for a few slips."""
    text = octets.decode(declared, "replace")
    if text.count("\ufffd") > sum(character > "\x7f" for character in text) * _TOLERATED:
        return False
    if declared == "utf-8":
        return True
    # A label without a slip still lies when another reading gives much better text.
    sample = _telling(octets)
    best = _detect(octets)
    return best is None or (
        plausibility(sample.decode(best, "replace"))
        < plausibility(sample.decode(declared, "replace")) + _CLEARLY
    )


def _strict(octets: bytes, codec: str) -> str | None:
    try:
        return octets.decode(codec)
    except (UnicodeError, ValueError):
        return None


def _codec(label: str | None) -> str | None:
    """The Python codec for a label as senders write it, or None."""
    name = (label or "").strip().strip("\"'<>;,").lower().removeprefix("charset=")
    name = re.sub(r"^(x-)?(cp|windows|win)[-_ ]?(?=\d{3,4}$)", "cp", name.replace(" ", "-"))
    name = re.sub(r"^utf[-_]*8.*", "utf-8", name)
    name = re.sub(r"^iso[-_]?8859[-_]?(?=\d)", "iso-8859-", name)
    name = _MEANT.get(name, name)
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError, UnicodeError):
        return None
    # Codecs from bytes to bytes (rot13, zlib) and those that are no charset.
    if not found._is_text_encoding or found.name in _UNSAFE_CODECS:  # noqa: SLF001 - no public way
        return None
    return found.name


def _stateful(codec: str | None) -> bool:
    """Whether ASCII octets mean something else in this codec."""
    return codec is not None and (_wide(codec) or codec.startswith(("hz", "iso2022", "cp037")))


def _wide(codec: str | None) -> bool:
    return codec is not None and codec.startswith(("utf-16", "utf-32"))


def _detect(octets: bytes) -> str | None:
    """The charset in which `octets` read most like a language; None when they do in none."""
    sample = _telling(octets)
    scores = {codec: plausibility(sample.decode(codec, "replace")) for codec in _POSSIBLE}
    best = max(_POSSIBLE, key=lambda codec: scores[codec])
    return best if scores[best] > 0 else _by_statistics(octets[:_SAMPLE])


def _telling(octets: bytes) -> bytes:
    """The words that are not plain ASCII, as many as a charset shows itself in."""
    return b" ".join(_TELLING_WORD.findall(octets[:_SAMPLE]))[:_ENOUGH]


def _by_statistics(sample: bytes) -> str | None:
    from charset_normalizer import from_bytes

    match = from_bytes(sample).best()
    return match.encoding if match else None
