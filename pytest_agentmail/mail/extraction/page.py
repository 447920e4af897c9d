"""A mail as a person sees it: lines of text, what stands out in them, and what can be pressed."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

__all__ = ["INVISIBLE", "PLAIN", "Anchor", "Line", "Look", "Mark", "Page", "joined_characters"]

# Characters that take no room: zero width, direction marks, soft hyphens, tags, variation marks.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

# One character per cell, span or line, perhaps with a dash in the middle.
_APART = re.compile(r"(?<!\S)(?:\d|[A-Z])(?:[ \t\n]+(?:\d|[A-Z]|[-–—·](?=\s))){3,13}(?!\S)")


class Look(NamedTuple):
    """How a stretch of text is set."""

    bold: bool = False
    large: bool = False
    heading: bool = False
    framed: bool = False
    struck: bool = False
    quoted: bool = False
    dialled: bool = False
    indented: bool = False


PLAIN = Look()


class Mark(NamedTuple):
    """A stretch of a line that looks other than plain."""

    start: int
    end: int
    look: Look


class Line(NamedTuple):
    """One line of text. `apart` maps where joined characters stand to how they were written."""

    text: str
    marks: tuple[Mark, ...] = ()
    apart: tuple[tuple[int, str], ...] = ()

    def look_at(self, position: int) -> Look:
        """How the text at `position` is set."""
        return next((m.look for m in self.marks if m.start <= position < m.end), PLAIN)


class Anchor(NamedTuple):
    """Something that can be pressed; `line` and `start` tell where its text begins."""

    url: str
    text: str
    line: int
    start: int
    button: bool


class Page(NamedTuple):
    """The lines of a mail's text or HTML, in order; empty lines part paragraphs."""

    lines: tuple[Line, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    defects: tuple[str, ...] = ()

    @property
    def visible_text(self) -> str:
        """The text as displayed, blank lines between paragraphs."""
        text = "\n".join(line.text.replace("\t", " ").rstrip() for line in self.lines)
        return re.sub(r"\n{3,}", "\n\n", text).strip()

    def cut(self) -> Page:
        """The same page with no line longer than a person would read: searching stays linear."""
        if all(len(line.text) <= _LONG_LINE for line in self.lines):
            return self
        lines: list[Line] = []
        place: list[list[tuple[int, int]]] = []  # of each line: (where a piece starts, its number)
        for line in self.lines:
            starts = [*_piece_starts(line.text), len(line.text)]
            place.append([])
            for start, end in pairwise(starts):
                place[-1].append((start, len(lines)))
                lines.append(_piece(line, start, end))
            if not place[-1]:
                place[-1].append((0, len(lines)))
                lines.append(line)
        anchors: list[Anchor] = []
        for anchor in self.anchors:
            start, number = max(each for each in place[anchor.line] if each[0] <= anchor.start)
            anchors.append(anchor._replace(line=number, start=anchor.start - start))
        return Page(tuple(lines), tuple(anchors), self.defects)


_LONG_LINE = 800
_CAN_CUT = re.compile(r"\s|[\u0e00-\u0eff\u3000-\u9fff\uac00-\ud7af]")


def _piece_starts(text: str) -> list[int]:
    """Where to cut a long line: at blanks, so that no word and no address is cut."""
    starts = [0] if text else []
    while starts and len(text) - starts[-1] > _LONG_LINE:
        start = starts[-1]
        cut = text.rfind(" ", start + 1, start + _LONG_LINE)
        if cut < 0:
            found = _CAN_CUT.search(text, start + _LONG_LINE)
            if found is None:
                break
            cut = found.start()
        starts.append(cut)
    return starts


def _piece(line: Line, start: int, end: int) -> Line:
    marks = tuple(
        mark._replace(start=max(0, mark.start - start), end=mark.end - start)
        for mark in line.marks
        if mark.start < end and mark.end > start
    )
    apart = tuple((at - start, written) for at, written in line.apart if start <= at < end)
    return Line(line.text[start:end], marks, apart)


def joined_characters(text: str) -> tuple[str, tuple[tuple[int, str], ...], list[int]]:
    """Put characters that stand one by one together again.

    Returns the text, how each joined stretch was written by its start, and for every old position
    the new one.
    """
    pieces: list[str] = []
    apart: list[tuple[int, str]] = []
    moved: list[int] = []
    end = length = 0
    for found in _APART.finditer(text):
        if not _looks_like_one_code(found[0]):
            continue
        pieces.append(text[end : found.start()])
        moved += range(length, length + found.start() - end)
        length += found.start() - end
        together = "".join(found[0].split())
        apart.append((length, " ".join(found[0].split())))
        pieces.append(together)
        for character in found[0]:
            moved.append(length)
            length += not character.isspace()
        end = found.end()
    moved += range(length, length + len(text) - end + 1)
    return "".join([*pieces, text[end:]]), tuple(apart), moved


def _looks_like_one_code(characters: str) -> bool:
    pieces = characters.split()
    return len(pieces) - sum(p in "-–—·" for p in pieces) >= 4 and any(map(str.isdigit, pieces))  # noqa: PLR2004 - as short as codes get
