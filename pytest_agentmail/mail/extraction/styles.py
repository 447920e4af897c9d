"""Styles as far as they decide what can be seen: a small, forgiving reading of CSS.

Covers what mail uses: `style` attributes, presentational attributes, and rules of `<style>` whose
selectors are made of tags, classes and ids. Rules inside `@media` and the like are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Box", "Colour", "Sheet", "declarations", "parse_colour", "parse_length"]

Colour = tuple[int, int, int]
Declarations = dict[str, str]

_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_DECLARATION = re.compile(r"([-\w]+)\s*:\s*((?:[^;\"'(]|\"[^\"]*\"?|'[^']*'?|\([^)]*\)?)*)")
_COMPOUND = re.compile(r"(?P<tag>[a-zA-Z][\w-]*|\*)?(?P<rest>(?:[.#][\w-]+)*)")
_LENGTH = re.compile(
    r"\s*(-?\d{0,6}\.?\d{1,6})\s*(px|pt|em|rem|ex|ch|%|vh|vw|cm|mm|in)?", re.IGNORECASE
)
_TO_PIXELS = {"px": 1.0, "pt": 4 / 3, "rem": 16.0, "ex": 8.0, "ch": 8.0, "cm": 37.8, "mm": 3.78,
              "in": 96.0, "vh": 6.0, "vw": 6.0}  # fmt: skip
_MOST_RULES = 400

_NAMED: dict[str, Colour] = {
    "white": (255, 255, 255), "black": (0, 0, 0), "red": (255, 0, 0), "green": (0, 128, 0),
    "blue": (0, 0, 255), "gray": (128, 128, 128), "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "yellow": (255, 255, 0), "orange": (255, 165, 0), "navy": (0, 0, 128), "teal": (0, 128, 128),
    "maroon": (128, 0, 0), "purple": (128, 0, 128), "olive": (128, 128, 0), "lime": (0, 255, 0),
    "aqua": (0, 255, 255), "cyan": (0, 255, 255), "fuchsia": (255, 0, 255), "pink": (255, 192, 203),
    "magenta": (255, 0, 255), "whitesmoke": (245, 245, 245), "snow": (255, 250, 250),
    "lightgray": (211, 211, 211), "lightgrey": (211, 211, 211), "darkgray": (169, 169, 169),
    "dimgray": (105, 105, 105), "gainsboro": (220, 220, 220), "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255), "aliceblue": (240, 248, 255), "beige": (245, 245, 220),
}  # fmt: skip


def declarations(css: str) -> Declarations:
    """The declarations of a `style` attribute; later ones win, unless earlier are important."""
    found: Declarations = {}
    for name, value in _DECLARATION.findall(_COMMENT.sub(" ", css)):
        plain = value.strip().lower()
        important = plain.endswith("!important")
        key = name.lower()
        if important or not found.get(key, "").endswith("!important"):
            found[key] = plain
    return {key: value.removesuffix("!important").strip() for key, value in found.items()}


def parse_length(value: str, em: float = 16.0) -> float | None:
    """A length in pixels; None for words such as `auto`. `em` is what 1em and 100 % are."""
    found = _LENGTH.match(value)
    if found is None:
        return None
    number, unit = float(found[1]), (found[2] or "px").lower()
    if unit in ("em", "%"):
        return number * em / (100 if unit == "%" else 1)
    return number * _TO_PIXELS[unit]


def parse_colour(value: str) -> Colour | bool | None:
    """A colour; False for one that can be seen through, None for what is no colour."""
    text = value.strip().lower()
    if text == "transparent":
        return False
    if text in _NAMED:
        return _NAMED[text]
    for pattern, read in _COLOUR_FORMS:
        if found := pattern.match(text):
            return read(found)
    return None


def _of_digits(found: re.Match[str]) -> Colour | bool:
    digits = found[1] if len(found[1]) > 4 else "".join(digit * 2 for digit in found[1])  # noqa: PLR2004 - #rgb(a)
    if digits[6:] == "00":
        return False
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def _of_levels(found: re.Match[str]) -> Colour | bool | None:
    parts = re.findall(r"(\d{1,3}(?:\.\d+)?|\.\d+)(%?)", found[1])
    if len(parts) < 3:  # noqa: PLR2004 - red, green, blue
        return None
    if len(parts) > 3 and float(parts[3][0]) == 0:  # noqa: PLR2004 - alpha
        return False
    red, green, blue = (
        min(255, round(float(number) * (2.55 if share else 1))) for number, share in parts[:3]
    )
    return red, green, blue


def _of_lightness(found: re.Match[str]) -> Colour | None:
    """Only black and white, which have the same lightness in any hue."""
    level = min(255, round(float(found[1]) * 2.55))
    return (level, level, level) if level in {0, 255} else None


_COLOUR_FORMS: tuple[
    tuple[re.Pattern[str], Callable[[re.Match[str]], Colour | bool | None]], ...
] = (
    (re.compile(r"#?([0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})(?![0-9a-z])"), _of_digits),
    (re.compile(r"rgba?\(([^)]*)\)"), _of_levels),
    (re.compile(r"hsla?\([^)]*?,\s*(\d{1,3})%\s*\)"), _of_lightness),
)


class _Compound(NamedTuple):
    tag: str
    classes: frozenset[str]
    id: str

    def fits(self, box: Box) -> bool:
        return (
            (not self.tag or self.tag == box.tag)
            and (not self.id or self.id == box.id)
            and self.classes <= box.classes
        )


class _Rule(NamedTuple):
    weight: tuple[int, int, int]
    ancestors: tuple[_Compound, ...]
    subject: _Compound
    declared: Declarations


@dataclass(slots=True)
class Box:
    """An element as selectors see it, with the box around it."""

    tag: str
    classes: frozenset[str] = frozenset()
    id: str = ""
    parent: Box | None = None


@dataclass(slots=True)
class Sheet:
    """The rules of a mail's `<style>` elements."""

    rules: list[_Rule] = field(default_factory=list)

    def add(self, css: str) -> None:
        """Take in the text of a `<style>` element."""
        text = re.sub(r"<!--|-->", " ", _COMMENT.sub(" ", css))
        for selectors, block in _top_level_blocks(text):
            declared = declarations(block)
            for selector in selectors.split(",") if declared else ():
                rule = _rule(selector.strip(), declared)
                if rule is not None and len(self.rules) < _MOST_RULES:
                    self.rules.append(rule)
        self.rules.sort(key=lambda rule: rule.weight)

    def applied_to(self, box: Box) -> Declarations:
        """What the rules declare for an element, the most specific last."""
        declared: Declarations = {}
        for rule in self.rules:
            if rule.subject.fits(box) and _within(rule.ancestors, box.parent):
                declared |= rule.declared
        return declared


def _top_level_blocks(css: str) -> list[tuple[str, str]]:
    """(selectors, declarations) outside of at-rules."""
    blocks: list[tuple[str, str]] = []
    depth = start = opened = 0
    for brace in re.finditer(r"[{};]", css):
        if brace[0] == "{":
            if depth == 0:
                opened = brace.end()
            depth += 1
        elif brace[0] == "}":
            depth = max(0, depth - 1)
            if depth == 0:
                selectors = css[start : opened - 1].strip()
                if opened > start and not selectors.startswith("@"):
                    blocks.append((selectors, css[opened : brace.start()]))
                start = opened = brace.end()
        elif depth == 0:
            start = opened = brace.end()
    return blocks


def _rule(selector: str, declared: Declarations) -> _Rule | None:
    compounds: list[_Compound] = []
    for word in re.sub(r"\s*[>]\s*", " ", selector).split():
        found = _COMPOUND.fullmatch(word)
        if found is None:
            return None
        names = re.findall(r"([.#])([\w-]+)", found["rest"])
        compounds.append(
            _Compound(
                (found["tag"] or "").lower().strip("*"),
                frozenset(name for sign, name in names if sign == "."),
                next((name for sign, name in names if sign == "#"), ""),
            )
        )
    if not compounds:  # a comma that nothing follows
        return None
    weight = (
        sum(bool(c.id) for c in compounds),
        sum(len(c.classes) for c in compounds),
        sum(bool(c.tag) for c in compounds),
    )
    return _Rule(weight, tuple(compounds[:-1]), compounds[-1], declared)


def _within(ancestors: tuple[_Compound, ...], box: Box | None) -> bool:
    wanted = list(ancestors)
    while wanted and box is not None:
        if wanted[-1].fits(box):
            wanted.pop()
        box = box.parent
    return not wanted
