"""Lines of a page put together from pieces of text, breaks and anchors."""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urljoin

from pytest_agentmail.mail.extraction.page import (
    INVISIBLE,
    PLAIN,
    Anchor,
    Line,
    Look,
    Mark,
    Page,
    joined_characters,
)

__all__ = ["Composer"]

_BLANKS = re.compile(r"\s+")


class _Opened(NamedTuple):
    url: str
    line: int
    start: int
    button: bool
    words: list[str]
    pictures: list[str]


class Composer:
    """Takes what is displayed, in order, and gives the page."""

    def __init__(self, base: str = "") -> None:
        self._base = base
        self._action = ""
        self._done: list[tuple[str, list[Mark]]] = []
        self._text = ""
        self._marks: list[Mark] = []
        self._opened: list[_Opened] = []
        self._anchors: list[Anchor] = []

    # --- text and breaks --------------------------------------------------------------------

    def text(self, raw: str, look: Look, *, kept_blanks: bool) -> None:
        """Add displayed text."""
        clean = unicodedata.normalize("NFC", INVISIBLE.sub("", raw))
        if kept_blanks and "\n" in clean:
            first, *rest = clean.split("\n")
            self._add(first, look)
            for line in rest:
                self.line_break()
                self._add(line, look)
        elif kept_blanks:
            self._add(clean, look)
        else:
            flat = _BLANKS.sub(" ", clean)
            self._add(flat.lstrip() if self._text[-1:] in {"", " ", "\t"} else flat, look)

    def line_break(self) -> None:
        """Begin a new line, also on an empty one."""
        self._done.append((self._text, self._marks))
        self._text, self._marks = "", []

    def block(self) -> None:
        """Begin a new line, unless one has just begun."""
        if self._text.strip():
            self.line_break()
        else:
            self._text, self._marks = "", []

    def paragraph(self) -> None:
        """Begin a new line after an empty one."""
        self.block()
        if self._done and self._done[-1][0].strip():
            self.line_break()

    def cell(self) -> None:
        """Begin a new cell of the line."""
        if self._text and not self._text.endswith("\t"):
            self._text = self._text.rstrip(" ") + "\t"

    def _add(self, text: str, look: Look) -> None:
        if not text:
            return
        if look != PLAIN:
            self._marks.append(Mark(len(self._text), len(self._text) + len(text), look))
        self._text += text
        for anchor in self._opened:
            anchor.words.append(text)

    # --- anchors ------------------------------------------------------------------------------

    def open_anchor(self, url: str, *, button: bool) -> None:
        """Begin something that can be pressed."""
        whole = re.sub(r"[\t\r\n]", "", url).strip()
        if self._base:
            with suppress(ValueError):  # an address beyond repair stays as it is
                whole = urljoin(self._base, whole)
        line = len(self._done)
        self._opened.append(_Opened(whole, line, len(self._text), button, [], []))

    def form(self, action: str) -> None:
        """Remember where the buttons of a form lead."""
        self._action = action

    def open_form_button(self) -> None:
        """Begin a button of the current form."""
        self.open_anchor(self._action, button=True)

    def picture(self, description: str) -> None:
        """Note what a picture inside an anchor is said to show."""
        for anchor in self._opened:
            anchor.pictures.append(description)

    def close_anchor(self) -> None:
        """End the innermost thing that can be pressed."""
        if not self._opened:
            return
        opened = self._opened.pop()
        text = _BLANKS.sub(" ", "".join(opened.words)).strip()
        shown = text or " ".join(opened.pictures).strip()
        if opened.url and (text or opened.pictures):
            self._anchors.append(
                Anchor(opened.url, shown, opened.line, opened.start, opened.button)
            )

    # --- the page -------------------------------------------------------------------------------

    def page(self) -> Page:
        """Everything that was added, characters that stand one by one joined."""
        self.block()
        texts = [text.strip() for text, _ in self._done]
        lines: list[Line] = []
        place: list[int] = []
        index = 0
        while index < len(self._done):
            run = _single_characters(texts, index)
            if run:
                joined, apart, _ = joined_characters("\n".join(t for t in texts[index:run] if t))
                marks = [mark for _, each in self._done[index:run] for mark in each]
                look = marks[0].look if marks else PLAIN
                place += [len(lines)] * (run - index)
                lines.append(Line(joined, (Mark(0, len(joined), look),), apart))
                index = run
                continue
            place.append(len(lines))
            lines.append(_finished(*self._done[index]))
            index += 1
        place.append(max(0, len(lines) - 1))
        anchors = tuple(
            anchor._replace(line=place[min(anchor.line, len(place) - 1)])
            for anchor in self._anchors
        )
        return Page(tuple(lines), anchors)


def _finished(raw: str, marks: list[Mark]) -> Line:
    text = raw.rstrip()
    joined, apart, moved = joined_characters(text)
    if apart:
        last = len(moved) - 1
        marks = [
            m._replace(start=moved[min(m.start, last)], end=moved[min(m.end, last)]) for m in marks
        ]
    return Line(joined, tuple(marks), apart)


def _single_characters(texts: list[str], first: int) -> int:
    """The end of a run of lines of one character each that begins at `first`; 0 for none."""
    if len(texts[first]) != 1:
        return 0
    end, count = first, 0
    while end < len(texts) and len(texts[end]) <= 1:
        count += bool(texts[end])
        end += 1
    run = "\n".join(text for text in texts[first:end] if text)
    joined, apart, _ = joined_characters(run)
    return end if apart and "\n" not in joined else 0
