"""What a mail is made of: header fields, text, HTML, attachments (RFC 2045-2049)."""

from __future__ import annotations

import email.message
import re
from email.feedparser import FeedParser
from email.policy import compat32
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentmail.mail.charsets import codec_of
from pytest_agentmail.mail.decoding import decode
from pytest_agentmail.mail.headers import Headers, charsets_of_words, decode_words, parameters
from pytest_agentmail.mail.transfer import decode_transfer

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Attachment", "Structure", "dissect"]

_Part = email.message.Message

_HTML = re.compile(
    r"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|table)\b", re.IGNORECASE | re.DOTALL
)
_LINE_OF_BOUNDARY = re.compile(
    r"^--([^\s-].{0,69}?)[ \t]*\r?\n(?=content-)", re.MULTILINE | re.IGNORECASE
)
_CHARSET_IN_HTML = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w:.-]{1,40})", re.IGNORECASE
)
_FIELD = re.compile(rb"[!-9;-~]+[ \t]*:")
_DEEPEST = 60  # multiparts in multiparts; real mail stays below ten

# Alternatives that mail programs show instead of the HTML only in special cases.
_PASSED_OVER = frozenset({"text/x-amp-html", "text/watch-html", "text/calendar"})


class Attachment(NamedTuple):
    """A file that came with a mail."""

    filename: str | None
    content_type: str
    content: bytes


class Structure(NamedTuple):
    """A mail taken apart."""

    headers: Headers
    raw_headers: tuple[tuple[str, str], ...]
    text: str
    html: str | None
    attachments: tuple[Attachment, ...]
    defects: tuple[str, ...]
    charsets: tuple[str, ...]  # what the mail is written in, the surest first


class _Bodies:
    """What is collected while a mail is walked through."""

    def __init__(self, named: list[str]) -> None:
        self.named = named  # charsets that the header names
        self.found: list[str] = []  # charsets that bodies are in
        self.text: list[str] = []
        self.html: list[str] = []
        self.attachments: list[Attachment] = []
        self.attached: list[_Part] = []


def dissect(raw: bytes) -> Structure:
    """Take a mail apart. Never raises; every repair is noted in `defects`."""
    notes: list[str] = []
    root = _parse(raw, notes)
    fields = tuple((name, str(value)) for name, value in root.raw_items())
    bodies = _Bodies(charsets_of_words(value for _, value in fields))
    _collect(root, bodies, notes)
    if not bodies.text and not bodies.html and bodies.attached:
        notes.append("the mail has no body of its own; that of the attached message was read")
        _collect(bodies.attached[0], bodies, notes)
    charsets = tuple(dict.fromkeys([*bodies.found, *bodies.named]))
    headers = Headers((name, decode_words(value, notes, charsets)) for name, value in fields)
    html = "\n".join(bodies.html) if bodies.html else None
    return Structure(
        headers,
        fields,
        "\n".join(bodies.text),
        html,
        tuple(bodies.attachments),
        tuple(dict.fromkeys(notes)),
        charsets,
    )


def _parse(raw: bytes, notes: list[str]) -> _Part:
    stripped = raw.lstrip(b"\r\n")
    if stripped != raw and _FIELD.match(stripped):
        notes.append("blank lines before the header were skipped")
        raw = stripped
    try:
        return _parsed(raw)
    except (RecursionError, ValueError, LookupError, TypeError, AttributeError) as error:
        notes.append(f"the structure is beyond repair ({type(error).__name__}); read as one text")
        return _flat(raw)


def _parsed(raw: bytes) -> _Part:
    # As Latin-1 each octet is one character, so that none is lost and all can be had back.
    parser = FeedParser(policy=compat32)
    parser.feed(raw.decode("latin-1"))
    return parser.close()


def _flat(raw: bytes) -> _Part:
    """The header fields and, below them, all the rest as one text."""
    head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    root = _parsed(head + b"\n\n")
    for name in ("content-type", "content-transfer-encoding"):
        del root[name]
    root.set_payload(body.decode("latin-1"))
    return root


def _collect(root: _Part, bodies: _Bodies, notes: list[str]) -> None:
    for part, kind, settings in _leaves(root, notes):
        disposition, more = parameters(str(part.get("content-disposition", "")), notes)
        filename = more.get("filename") or settings.get("name") or None
        if kind == "message/rfc822":
            for inner in _children(part):
                bodies.attached.append(inner)
                bodies.attachments.append(Attachment(filename, kind, _as_bytes(inner)))
            continue
        octets = _octets(part, notes)
        is_body = kind.startswith("text/") and disposition != "attachment"
        if not is_body or (filename and (bodies.text or bodies.html)):
            if octets or filename:
                bodies.attachments.append(Attachment(filename, kind, octets))
        elif kind not in _PASSED_OVER:
            _read_body(octets, kind, settings, bodies, notes)


def _read_body(
    octets: bytes, kind: str, settings: dict[str, str], bodies: _Bodies, notes: list[str]
) -> None:
    label = settings.get("charset")
    if kind == "text/html" and (inner := _CHARSET_IN_HTML.search(octets[:4096])) and not label:
        label = inner[1].decode("ascii")
    decoded = decode(octets, label, notes, [*bodies.found, *bodies.named])
    # A label that nothing in the body puts to the test may still hold for the header.
    bodies.found += filter(None, [decoded.codec or codec_of(label)])
    text = re.sub(r"\r\n?", "\n", decoded.text)
    if kind == "text/html":
        bodies.html.append(text)
    elif _HTML.match(text):
        notes.append(f"a body labelled {kind} holds HTML and was read as such")
        bodies.html.append(text)
    else:
        bodies.text.append(_reflowed(text, settings) if "format" in settings else text)


def _reflowed(text: str, settings: dict[str, str]) -> str:
    """Text whose lines were broken for transport, put together again (RFC 3676)."""
    if settings["format"].lower() != "flowed":
        return text
    gap = "" if settings.get("delsp", "").lower() == "yes" else " "
    lines: list[str] = []
    flowing = False
    for line in text.split("\n"):
        content = line.removeprefix(" ")
        if flowing and not content.startswith(">"):
            lines[-1] += content.rstrip(" ")
        else:
            lines.append(content if line == "-- " else content.rstrip(" "))
        flowing = content.endswith(" ") and line != "-- "
        if flowing:
            lines[-1] += gap
    return "\n".join(line.rstrip(" ") for line in lines)


def _leaves(
    part: _Part, notes: list[str], depth: int = 0
) -> Iterator[tuple[_Part, str, dict[str, str]]]:
    """The parts that hold content, in order, with their type and its parameters."""
    notes += (_plain_words(type(defect).__name__) for defect in part.defects)
    kind, settings = _content_type(part, notes)
    if kind.startswith("multipart/") and depth < _DEEPEST:
        children = _children(part) or _split_by_guess(part, notes)
        for child in children:
            yield from _leaves(child, notes, depth + 1)
        if children:
            return
        kind = "text/plain"
    if kind.startswith("multipart/"):
        notes.append("parts nested too deep were not read")
        return
    yield part, kind, settings


def _content_type(part: _Part, notes: list[str]) -> tuple[str, dict[str, str]]:
    values = part.get_all("content-type") or ["text/plain"]
    kind, settings = parameters(str(values[0]), notes)
    kind = decode_words(kind, notes).strip("\"' ")
    if "/" not in kind:
        notes.append(f"the content type {kind!r} was taken for text")
        kind = {"html": "text/html"}.get(kind, "text/plain")
    return kind, settings


def _split_by_guess(part: _Part, notes: list[str]) -> list[_Part]:
    """The parts of a multipart whose boundary is missing or wrong in its header."""
    body = part.get_payload()
    found = _LINE_OF_BOUNDARY.search(body) if isinstance(body, str) else None
    if found is None:
        return []
    notes.append("the boundary in the header fits nothing; the one in the body was used")
    head = f'Content-Type: multipart/mixed; boundary="{found[1]}"\n\n'
    again = _parse((head + str(body)).encode("latin-1", "replace"), notes)
    return _children(again)


def _children(part: _Part) -> list[_Part]:
    payload = part.get_payload()
    return (
        [each for each in payload if isinstance(each, _Part)] if isinstance(payload, list) else []
    )


def _octets(part: _Part, notes: list[str]) -> bytes:
    if children := _children(part):
        return b"\n".join(_as_bytes(child) for child in children)
    body = str(part.get_payload()).encode("latin-1", "replace")
    return decode_transfer(body, str(part.get("content-transfer-encoding", "")), notes)


def _as_bytes(part: _Part) -> bytes:
    """An attached message, near enough as it was sent."""
    head = "".join(f"{name}: {value}\n" for name, value in part.raw_items())
    if children := _children(part):
        line = f"\n--{part.get_boundary()}".encode("latin-1", "replace")
        rest = b"".join(line + b"\n" + _as_bytes(child) for child in children) + line + b"--\n"
    else:
        rest = str(part.get_payload()).encode("latin-1", "replace")
    return head.encode("latin-1", "replace") + b"\n" + rest


def _plain_words(defect: str) -> str:
    return _DEFECTS.get(defect, f"the structure is damaged ({defect.removesuffix('Defect')})")


_DEFECTS = {
    "NoBoundaryInMultipartDefect": "a multipart names no boundary",
    "StartBoundaryNotFoundDefect": "a multipart's boundary never occurs",
    "CloseBoundaryNotFoundDefect": "a multipart is cut short: its last boundary is missing",
    "FirstHeaderLineIsContinuationDefect": "the header starts with a continuation line",
    "MisplacedEnvelopeHeaderDefect": "an envelope line stands inside the header",
    "MissingHeaderBodySeparatorDefect": "a line that is no field ends the header early",
    "MultipartInvariantViolationDefect": "a multipart holds no parts",
    "InvalidMultipartContentTransferEncodingDefect": "a multipart carries a transfer encoding",
}
