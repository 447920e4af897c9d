"""The places of a mail where addresses stand, with what stands around them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_agentmail.mail.extraction.addresses import find_addresses
from pytest_agentmail.mail.extraction.noise import INSTRUCTION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_agentmail.mail.extraction.page import Anchor, Page

__all__ = ["Place", "in_anchors", "in_lines"]

_AROUND = 160
_BEHIND = 60
_ABOVE = 12
_FOOTNOTE = re.compile(r"\s*\[(\d{1,2})\]:?\s*")


@dataclass(slots=True)
class Place:
    """One place an address stands at."""

    url: str
    text: str  # what one presses
    before: str  # what stands before it
    after: str  # what stands behind it in its sentence
    where: str
    button: bool
    alone: bool
    shown_address: str = ""
    ordered: bool = False
    quoted: bool = False


def in_anchors(page: Page) -> Iterator[Place]:
    """What can be pressed."""
    for last, anchor in zip([None, *page.anchors], page.anchors, strict=False):
        line = page.lines[anchor.line].text if page.lines else ""
        before = line[: anchor.start]
        if last and _is_other_choice(last, anchor, line):
            before = ""
        shown = find_addresses(anchor.text)
        alone = not re.search(r"[^\W_]", line.replace(anchor.text, "", 1))
        if alone:
            before = _above(page, anchor.line)
        yield Place(
            anchor.url,
            "" if shown and shown[0].url == anchor.text else anchor.text,
            before[-_AROUND:],
            re.split(r"[.!?。！？\t]", line[anchor.start + len(anchor.text) :])[0][:_BEHIND],
            "html",
            anchor.button,
            alone,
            shown[0].url if shown else _bare_host(anchor.text),
            bool(INSTRUCTION.search(line)),
            quoted=page.lines[anchor.line].look_at(anchor.start).quoted if page.lines else False,
        )


def _is_other_choice(last: Anchor, anchor: Anchor, line: str) -> bool:
    """Whether two buttons stand side by side, so that the one says nothing about the other."""
    between = line[last.start + len(last.text) : anchor.start]
    side_by_side = last.line == anchor.line and not re.search(r"[^\W_]", between)
    return side_by_side and last.button and anchor.button


def _bare_host(text: str) -> str:
    found = re.fullmatch(r"\s*((?:[\w-]+\.)+[a-z]{2,}(?:/\S*)?)\s*", text, re.IGNORECASE)
    return f"https://{found[1]}" if found else ""


def in_lines(page: Page, where: str) -> Iterator[Place]:
    """Addresses that are written out."""
    for index, line in enumerate(page.lines):
        found = find_addresses(line.text)
        end = 0
        for address in found:
            before = line.text[end : address.start]
            rest = line.text[: address.start] + line.text[address.end :]
            alone = not re.search(r"[^\W_]", rest)
            if note := _FOOTNOTE.fullmatch(before):
                before = _mention(page, note[1])
            elif not re.search(r"[^\W_]", before) and not end:
                before = _above(page, index)
            yield Place(
                address.url,
                "",
                before[-_AROUND:],
                "",
                where,
                button=False,
                alone=alone,
                ordered=bool(INSTRUCTION.search(line.text)),
                quoted=line.look_at(address.start).quoted,
            )
            end = address.end


def _mention(page: Page, number: str) -> str:
    """What stands before the place where a footnote is mentioned."""
    for line in page.lines:
        before, found, _ = line.text.partition(f"[{number}]")
        if found and before.strip():
            return before.rpartition("]")[2]
    return ""


def _above(page: Page, index: int) -> str:
    """The nearest line of words above a line."""
    for line in reversed(page.lines[max(0, index - _ABOVE) : index]):
        if re.search(r"[^\W_]", line.text):
            return line.text
    return ""
