"""Text quoted from an earlier mail: where it begins and ends on a page.

Mail programs put a line above it ("On Monday Ann wrote:"), a rule ("-----Original Message-----") or
a block of header fields. What is passed on on purpose ("Fwd:") is the mail itself and no quote.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_agentmail.mail.extraction.page import Line, Look, Mark, Page
from pytest_agentmail.mail.extraction.vocabulary import QUOTE_KINDS, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_passed_on", "subject_line", "with_quotes_marked"]

_WORD = re.compile(r"[^\W_]")
_RULED = re.compile(r"[-–—_=*#]{2,}[ \t]*(\S.{0,60}?)[ \t]*[-–—_=*#]{2,}|\S.{0,60}:")
_ENDS_LIKE_ATTRIBUTION = re.compile(r"[:：]\W{0,3}$")
_NAMES_SOMEBODY = re.compile(r"\d|@|<")
_ADDRESS_LAST = re.compile(r"\d.*[<(\[][^\s<>]+@[^\s<>]+[>)\]]\W{0,3}[:：]\W{0,3}$")
_FIELD = re.compile(r"\W{0,4}([^\W\d_][^:：]{0,24}?)\s?\W{0,2}[:：]")
_LONGEST = 250  # characters of a line above a quote
_HEADER_LINES = 6
_PREFIX = re.compile(r"\W{0,3}([^\W\d_]{1,10})\s*[:：]")


def is_passed_on(subject: str) -> bool:
    """Whether the subject says that the mail passes another one on."""
    return _has_prefix(subject, "forwarded")


def subject_line(subject: str) -> Line:
    """The subject as a line; that of an answer is quoted from the mail that is answered."""
    line = Line(subject)
    return _quoted(line) if _has_prefix(subject, "reply") else line


def _has_prefix(subject: str, kind: str) -> bool:
    found = _PREFIX.match(subject)
    return found is not None and _is_whole(found[1], kind)


def with_quotes_marked(page: Page, *, passed_on: bool) -> Page:
    """The page with the look of quoted text where text is quoted.

    Args:
        page: The lines of a mail's text or HTML.
        passed_on: The mail passes another one on, so that one is what it says.
    """
    if passed_on or _passes_on(page.lines):
        return Page(tuple(_unquoted(line) for line in page.lines), page.anchors, page.defects)
    quoted = set(_quoted_lines(page.lines))
    if not quoted:
        return page
    lines = (_quoted(line) if index in quoted else line for index, line in enumerate(page.lines))
    return Page(tuple(lines), page.anchors, page.defects)


def _passes_on(lines: tuple[Line, ...]) -> bool:
    """Whether a rule says so, and nothing above it makes that rule a part of a quote."""
    for line in lines:
        if _is_rule(line.text, "forwarded"):
            return True
        if _is_rule(line.text, "original"):
            return False
    return False


def _quoted(line: Line) -> Line:
    marks = [mark._replace(look=mark.look._replace(quoted=True)) for mark in line.marks]
    return line._replace(marks=(*marks, Mark(0, len(line.text), Look(quoted=True))))


def _unquoted(line: Line) -> Line:
    marks = (mark._replace(look=mark.look._replace(quoted=False)) for mark in line.marks)
    return line._replace(marks=tuple(marks))


def _quoted_lines(lines: tuple[Line, ...]) -> Iterator[int]:
    """The numbers of lines that what stands above them makes quotes."""
    written = [index for index, line in enumerate(lines) if _WORD.search(line.text)]
    for place, index in enumerate(written):
        if index == written[0] and not _is_attribution(lines, written, place):
            continue  # nothing new stands above it
        if _is_attribution(lines, written, place):
            following = written[place + 1 :]
            if following and _is_set_off(lines[following[0]]):
                yield from _while_set_off(lines, following)
                continue
            yield from range(index + 1, len(lines))
            return
        if _is_rule(lines[index].text, "original") or _is_header_block(lines, written[place:]):
            yield from range(index, len(lines))
            return


def _is_set_off(line: Line) -> bool:
    """Whether the line shows by itself that it is quoted: behind a `>` or indented."""
    look = line.look_at(0)
    return look.quoted or look.indented


def _while_set_off(lines: tuple[Line, ...], following: list[int]) -> Iterator[int]:
    for index in following:
        if not _is_set_off(lines[index]):
            return
        yield index


def _is_attribution(lines: tuple[Line, ...], written: list[int], place: int) -> bool:
    """Whether it says who wrote what follows, and when; perhaps broken over two lines."""
    text = lines[written[place]].text
    if not _ENDS_LIKE_ATTRIBUTION.search(text[-4:]) or len(text) > _LONGEST:
        return False
    above = lines[written[place - 1]].text if place else ""
    whole = f"{above[-_LONGEST:]} {text}" if written[place] - 1 in written[:place] else text
    if _ADDRESS_LAST.search(whole):
        return True
    if not _NAMES_SOMEBODY.search(whole):
        return False
    return any(term.kind == "wrote" for term in terms(text, QUOTE_KINDS))


def _is_rule(text: str, kind: str) -> bool:
    found = _RULED.fullmatch(text.strip())
    return found is not None and _is_whole(found[1] or text.strip().rstrip(":"), kind)


def _is_whole(words: str, kind: str) -> bool:
    """Whether the words are one term of that kind and nothing else."""
    return any(
        term.kind == kind and not _WORD.search(words[: term.start] + words[term.end :])
        for term in terms(words, (kind,))
    )


def _is_header_block(lines: tuple[Line, ...], following: list[int]) -> bool:
    """Whether a block begins here that names a sender and a subject."""
    names: list[str] = []
    for number, index in enumerate(following[:_HEADER_LINES]):
        found = _FIELD.match(lines[index].text)
        if number == 0 and found is None:
            return False
        if found is not None:
            names += [kind for kind in ("sent_by", "about") if _is_whole(found[1], kind)]
        if number == 0 and "sent_by" not in names:
            return False
    return "about" in names
