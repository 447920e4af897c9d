"""A plain-text body as a page: what was broken for transport is put together again."""

from __future__ import annotations

import re
import unicodedata

from pytest_agentmail.mail.extraction.page import (
    INVISIBLE,
    PLAIN,
    Line,
    Look,
    Mark,
    Page,
    joined_characters,
)

__all__ = ["page_of_text"]

_FULL_LINE = 45  # shorter lines were ended on purpose
_BROKEN_URL_LINE = 60
_ENDS_IN_URL = re.compile(r"https?://[^\s<>\"]+$", re.IGNORECASE)
_REST_OF_URL = re.compile(r"[A-Za-z0-9%&=./?#_~+:;,@!$'()*-]+[>)\]]?[.,;]?")
_IN_BRACKETS = re.compile(r"<(https?://[^<>\s]*(?:\r?\n[ \t]*[^<>\s]+){1,8})>", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?:;。！？：；…।]\s*$")
_CONTINUES = re.compile(r"[^\W\d_]|[\d(\"'«„“]")
_OWN_LINE = re.compile(r"\W*[\w-]{3,14}\W*|\s*[-*•·–>\d]{1,3}[.)]?\s.*|.*https?://.*|.{0,40}:\s.*")
_BOLD = re.compile(r"(?<![\w*])\*{1,2}([^\s*][^*\n]{0,60}?)\*{1,2}(?![\w*])")


def page_of_text(text: str) -> Page:
    """The lines of a plain-text body, with wrapped paragraphs and broken addresses whole."""
    clean = (
        unicodedata.normalize("NFC", INVISIBLE.sub("", text))
        .replace("\xa0", " ")
        .replace("\u3000", " ")
    )
    clean = _IN_BRACKETS.sub(lambda found: "".join(found[0].split()), clean)
    return Page(tuple(_line(line) for line in _unwrapped(clean.split("\n"))))


def _unwrapped(lines: list[str]) -> list[str]:
    whole: list[str] = []
    last = ""  # the line above, as it was written
    for raw in lines:
        line = raw.rstrip()
        if whole and _url_goes_on(last, line):
            whole[-1] += line.strip()
        elif whole and _paragraph_goes_on(last, line):
            whole[-1] += f" {line.strip()}"
        else:
            whole.append(line)
        last = line
    return whole


def _url_goes_on(last: str, line: str) -> bool:
    rest = line.strip()
    return (
        len(last) >= _BROKEN_URL_LINE
        and (bool(_ENDS_IN_URL.search(last)) or _is_piece_of_url(last))
        and bool(_REST_OF_URL.fullmatch(rest))
        and not rest.lower().startswith(("http://", "https://", "www."))
        and _is_piece_of_url(rest)
    )


def _is_piece_of_url(line: str) -> bool:
    """Whether a line without blanks is no word: it has signs of an address or a token in it."""
    return " " not in line and bool(re.search(r"[=&%/_]|\d|[a-z][A-Z]", line))


def _paragraph_goes_on(last: str, line: str) -> bool:
    return (
        len(last) >= _FULL_LINE
        and not _SENTENCE_END.search(last)
        and bool(_CONTINUES.match(line))
        and not _OWN_LINE.fullmatch(line)
        and last.startswith(">") == line.startswith(">")
    )


def _line(raw: str) -> Line:
    look = Look(quoted=True) if raw.startswith(">") else PLAIN
    text = re.sub(r"^(?:>\s?)+", "", raw).strip()
    joined, apart, _ = joined_characters(re.sub(r"[ \t]+", " ", text))
    marks = [Mark(0, len(joined), look)] if look != PLAIN else []
    bold = Look(bold=True, quoted=look.quoted)
    marks = [*(Mark(*found.span(1), bold) for found in _BOLD.finditer(joined)), *marks]
    return Line(joined, tuple(marks), apart)
