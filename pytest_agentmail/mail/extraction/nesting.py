"""HTML made harmless for a parser: what HTML5 parsing would take hours for is cut down first.

The tree construction of HTML5 is quadratic in the depth of open elements, and open formatting
elements are built anew in each paragraph. Real mail stays far below the limits; browsers have
such limits too.
"""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["bounded"]

_DEEPEST = 400
_MOST_FORMATTING = 60
_FEW = 60  # so few tags cannot hurt

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)[^>]*>")
_FORMATTING = frozenset(
    {"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt",
     "u"}
)  # fmt: skip
# Elements that hold nothing, and those that the next of their kind closes.
_NOT_NESTING = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
     "track", "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "option"}
)  # fmt: skip


def bounded(html: str) -> str:
    """The same HTML, without the tags that nest too deep."""
    if html.count("<") <= _FEW:
        return html
    opened: Counter[str] = Counter()
    depth = formatting = 0

    def keep(tag: re.Match[str]) -> str:
        nonlocal depth, formatting
        name = tag[2].lower()
        if name in _NOT_NESTING:
            return tag[0]
        if tag[1]:
            if not opened[name]:
                return tag[0] if name not in _FORMATTING else ""
            step = -1
        else:
            step = 1
        opened[name] += step
        before, depth = depth, depth + step
        formats = name in _FORMATTING
        formatting += step * formats
        too_deep = max(before, depth) > _DEEPEST or (
            formats and formatting + (step < 0) > _MOST_FORMATTING
        )
        return "" if too_deep else tag[0]

    return _TAG.sub(keep, html)
