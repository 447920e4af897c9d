"""The header section of a mail, decoded however broken it is (RFC 2047, RFC 2231, RFC 5322).

Nothing here raises. What had to be repaired is noted in plain words.
"""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, NamedTuple, overload
from urllib.parse import unquote_to_bytes

from pytest_agentmail.mail.charsets import codec_of
from pytest_agentmail.mail.decoding import decode_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "Headers",
    "NamedAddress",
    "addresses",
    "charsets_of_words",
    "decode_words",
    "parameters",
]

_Notes = list[str]


class Headers:
    """The decoded header fields of a mail, in order; names are matched in any case.

    Several fields may share a name: `headers["received"]` gives the first, `get_all` all.
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self._fields = tuple(fields)

    def __getitem__(self, name: str) -> str:
        """The first field of that name. Raises `KeyError` when there is none."""
        for value in self.get_all(name):
            return value
        raise KeyError(name)

    @overload
    def get(self, name: str) -> str | None: ...
    @overload
    def get(self, name: str, default: str) -> str: ...
    def get(self, name: str, default: str | None = None) -> str | None:
        """The first field of that name, or `default`."""
        return next(iter(self.get_all(name)), default)

    def get_all(self, name: str) -> tuple[str, ...]:
        """All fields of that name, in order."""
        wanted = name.lower()
        return tuple(value for field, value in self._fields if field.lower() == wanted)

    def items(self) -> tuple[tuple[str, str], ...]:
        """All fields as they stand, names as written."""
        return self._fields

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self.get_all(name))

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({list(self._fields)!r})"


# --- encoded words (RFC 2047) ---------------------------------------------------------------

# Wider than the RFC: blanks inside, a language (RFC 2231 §5), a missing end. In a Q word a
# question mark may stand unescaped, so the end is the first `?=` that no hexadecimal digit follows.
_WORD = re.compile(
    r"=\?(?P<charset>[^?\s*]*)(?:\*[^?]*)?\?\s*(?:"
    r"(?P<b>[bB])\?(?P<base64>[^?]*)(?:\?=|$)"
    r"|(?P<q>[qQ])\?(?P<quoted>.*?)(?:\?=(?![0-9A-Fa-f]{2}[^?]*\?=)|$)"
    r")"
)
_NESTING = 3  # encoded words inside encoded words: senders that encode twice


def decode_words(raw: str, notes: _Notes, likely: Sequence[str] = ()) -> str:
    """A header value as people read it.

    Args:
        raw: The value as sent, each octet as one character (Latin-1).
        notes: Repairs are added here.
        likely: Codecs that the rest of the mail is in, the most trusted first.
    """
    text = _unfold(raw, notes, likely)
    for _ in range(_NESTING):
        if not _WORD.search(text):
            break
        text = _decode_once(text, notes, likely)
    return text.strip()


def charsets_of_words(values: Iterable[str]) -> list[str]:
    """The codecs that the encoded words of header values name, each once."""
    labels = (word["charset"] for value in values for word in _WORD.finditer(value))
    named = (codec_of(label) for label in labels)
    return list(dict.fromkeys(codec for codec in named if codec))


def _unfold(raw: str, notes: _Notes, likely: Sequence[str]) -> str:
    # Blanks are the same in all charsets that can stand here unencoded.
    octets = raw.replace("\x00", "").encode("latin-1", "replace")
    text = decode_text(octets, None, notes, likely)
    # A word that was folded in its middle has no blank there (RFC 2047 §2 forbids it anyway).
    text = re.sub(r"(=\?[^?\s]+\?[bB]\?[^?\s]*)\r?\n[ \t]+(?=[A-Za-z0-9+/=]+\?=)", r"\1", text)
    text = re.sub(r"[\r\n]+[ \t]*", " ", text)
    clean = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", text)
    if clean != text or "\x00" in raw:
        notes.append("control characters in a header were removed")
    return clean


def _decode_once(text: str, notes: _Notes, likely: Sequence[str]) -> str:
    decoded: list[str] = []
    pending, charset, end = b"", "", 0

    def flush() -> None:
        nonlocal pending
        if pending:
            decoded.append(decode_text(pending, charset, notes, likely))
        pending = b""

    for word in _WORD.finditer(text):
        between = text[end : word.start()]
        octets = _word_octets(word, notes)
        # Neighbours in one charset are joined as octets: a character may be cut between them.
        if between.strip() or not end or word["charset"].lower() != charset.lower():
            flush()
            if between.strip() or not end:
                decoded.append(between)
        pending, charset, end = pending + octets, word["charset"], word.end()
    flush()
    return "".join(decoded) + text[end:]


def _word_octets(word: re.Match[str], notes: _Notes) -> bytes:
    if not word[0].endswith("?="):
        notes.append("an encoded word without an end was read to the end of its header")
    if word["b"]:
        clean = re.sub(r"[^A-Za-z0-9+/]", "", word["base64"].replace("-", "+").replace("_", "/"))
        whole = clean[: len(clean) - (len(clean) % 4 == 1)]
        if len(word["base64"].rstrip("=").strip()) != len(whole):
            notes.append("a base64 word in a header is damaged")
        return binascii.a2b_base64(whole + "=" * (-len(whole) % 4))
    quoted = word["quoted"].encode("utf-8", "replace").replace(b"_", b" ")
    return re.sub(rb"=([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), quoted)


# --- parameters (RFC 2045 §5.1, RFC 2231) -------------------------------------------------------

_PARAMETER = re.compile(
    r""";\s*(?P<name>[^\s=;*]+)(?:\*(?P<part>\d+))?(?P<extended>\*)?\s*=\s*"""
    r"""(?:"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?P<token>[^;]*))"""
)


class _Piece(NamedTuple):
    part: int
    extended: bool
    text: str


def parameters(raw: str, notes: _Notes) -> tuple[str, dict[str, str]]:
    """The value of a structured field before its first `;`, in lower case, and its parameters."""
    flat = re.sub(r"[\r\n]+[ \t]*", " ", raw)
    pieces: dict[str, list[_Piece]] = {}
    for found in _PARAMETER.finditer(flat):
        text = found["token"].strip() if found["quoted"] is None else found["quoted"]
        if found["quoted"] is not None:
            text = re.sub(r"\\(.)", r"\1", text)
        piece = _Piece(int(found["part"] or 0), bool(found["extended"]), text)
        pieces.setdefault(found["name"].lower(), []).append(piece)
    value = flat.partition(";")[0].strip().lower()
    return value, {name: _joined(parts, notes) for name, parts in pieces.items()}


def _joined(pieces: list[_Piece], notes: _Notes) -> str:
    """A parameter from its continuations (RFC 2231 §3), in the charset its first piece names."""
    pieces = sorted(pieces, key=lambda piece: piece.part)
    first = pieces[0]
    if not any(piece.extended for piece in pieces):
        distinct = {piece.part: piece.text for piece in reversed(pieces)}
        return decode_words("".join(distinct[part] for part in sorted(distinct)), notes)
    charset, octets = "", b""
    for piece in pieces:
        text = piece.text
        if piece is first and text.count("'") >= 2:  # noqa: PLR2004 - charset'language'value
            charset, _, text = text.split("'", 2)
        raw = text.encode("latin-1", "replace")
        octets += unquote_to_bytes(raw) if piece.extended else raw
    return decode_text(octets, charset or None, notes)


# --- addresses (RFC 5322 §3.4) ------------------------------------------------------------------


class NamedAddress(NamedTuple):
    """An address and the name it stands under, either of them perhaps empty."""

    name: str
    address: str


_MAILBOX = re.compile(
    r"""(?P<comma>[,;])|(?P<quoted>"(?:[^"\\]|\\.)*"?)|(?P<comment>\((?:[^()\\]|\\.)*\)?)"""
    r"""|<(?P<angle>[^<>]*)>?|(?P<group>:)|(?P<plain>[^,;"(<:]+)"""
)

# Text in ISO 2022 that was left as it is: its octets look like punctuation.
_SHIFTED = re.compile(r"\x1b\$(?:[@AB]|\([CD])[^\x1b]*(?:\x1b\([BJ]|$)")


def addresses(raw: str, notes: _Notes, likely: Sequence[str] = ()) -> list[NamedAddress]:
    """The mailboxes of a From, To or Cc field, in order; groups are opened, empty ones vanish."""
    found: list[NamedAddress] = []
    words: list[str] = []
    angle: str | None = None
    comment = ""

    def close() -> None:
        nonlocal angle, comment
        name = " ".join(word for word in words if word)
        if angle is None and words:
            name, angle = ("", name) if "@" in name else (name, "")
        if angle or name:
            address = _bare(angle or "")
            found.append(NamedAddress(decode_words(name or comment, notes, likely), address))
        words.clear()
        angle, comment = None, ""

    for token in _MAILBOX.finditer(_SHIFTED.sub(lambda run: "x" * len(run[0]), raw)):
        written = raw[token.start(token.lastgroup or 0) : token.end(token.lastgroup or 0)]
        if token["comma"]:
            close()
        elif token["group"]:
            words.clear()
        elif token["angle"] is not None:
            angle = written
        elif token["comment"]:
            comment = written.strip("()")
        elif token["quoted"]:
            words.append(re.sub(r"\\(.)", r"\1", written.strip('"')))
        else:
            words.append(written.strip())
    close()
    return [each for each in found if each.address or each.name]


def _bare(address: str) -> str:
    """An addr-spec without the blanks, folds and source route (RFC 5321 App. C) around it."""
    octets = address.encode("latin-1", "replace")
    text = re.sub(r"\s+", "", octets.decode("utf-8", "replace"))
    if text.startswith("@") and ":" in text:
        text = text.rpartition(":")[2]
    return text.removeprefix("mailto:")
