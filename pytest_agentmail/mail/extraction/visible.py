"""HTML as a person sees it: which text is displayed, in which lines, and how it stands out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_agentmail.mail.extraction.composing import Composer
from pytest_agentmail.mail.extraction.nesting import bounded
from pytest_agentmail.mail.extraction.page import PLAIN, Look, Page
from pytest_agentmail.mail.extraction.styles import (
    Box,
    Colour,
    Declarations,
    Sheet,
    declarations,
    parse_colour,
    parse_length,
)

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["page_of_html"]

_NEVER_SHOWN = frozenset(
    {"head", "title", "style", "script", "template", "noframes", "noembed", "object", "iframe",
     "video", "audio", "canvas", "map", "datalist", "math"}
)  # fmt: skip
_BLOCKS = frozenset(
    {"address", "article", "aside", "body", "center", "dd", "details", "dialog", "dir", "div", "dl",
     "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "html", "legend", "li",
     "main", "menu", "nav", "section", "summary", "table", "tbody", "tfoot", "thead", "tr",
     "caption", "optgroup", "option"}
)  # fmt: skip
_PARAGRAPHS = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "blockquote", "pre", "hr"}
)
_CELLS = frozenset({"td", "th"})
_HEADING_EMS = {"h1": 2.0, "h2": 1.5, "h3": 1.17, "h4": 1.0, "h5": 0.83, "h6": 0.67}
_OF_TAG: dict[str, Declarations] = {
    **{tag: {"font-weight": "bold", "font-size": f"{ems}em"} for tag, ems in _HEADING_EMS.items()},
    **{tag: {"font-weight": "bold"} for tag in ("b", "strong", "th")},
    **{tag: {"text-decoration": "line-through"} for tag in ("s", "strike", "del")},
    "big": {"font-size": "1.2em"},
    "pre": {"white-space": "pre"},
}
_FONT_SIZES = {"1": 10.0, "2": 13.0, "3": 16.0, "4": 18.0, "5": 24.0, "6": 32.0, "7": 48.0}
_SIZE_WORDS = {"xx-small": 9.0, "x-small": 10.0, "small": 13.0, "medium": 16.0, "large": 18.0,
               "x-large": 24.0, "xx-large": 32.0, "xxx-large": 48.0}  # fmt: skip
_INLINE = frozenset({"span", "b", "strong", "font", "em", "code", "u", "i"})
_LAYOUT = frozenset({"html", "body", "table", "tbody", "tr", "center", "section", "main"})
_BUTTON_PADDING = 4.0
_LARGE = 20.0
_READABLE = 1.0  # pixels; nobody reads smaller print
_ALIKE = 8  # colours whose red, green and blue all differ by no more look the same
_OFF_SCREEN = -300.0
_BOLD = re.compile(r"bold|bolder|[6-9]00")
_BUTTON = re.compile(r"\b(?:btn|button|cta)|(?:btn|button)\b", re.IGNORECASE)

# What mail programs call the element around a quote.
_QUOTE = re.compile(
    r"gmail_quote|yahoo_quoted|moz-cite|protonmail_quote|zmail_extra|tutanota_quote|mail-quote"
    r"|quoted-?text|reply-?quote|OLK_SRC_BODY|divRplyFwdMsg|OutlookMessageHeader|history_container",
    re.IGNORECASE,
)

_CUT_DOWN = "HTML elements nested too deep were left out; the text in them was kept"

_BLACK: Colour = (0, 0, 0)
_WHITE: Colour = (255, 255, 255)
_LINK: Colour = (0, 0, 238)


@dataclass(frozen=True, slots=True)
class _Style:
    """What an element passes on to what stands in it."""

    box: Box
    shown: bool = True
    visible: bool = True
    size: float = 16.0
    colour: Colour | None = _BLACK  # None is transparent
    ground: Colour | None = _WHITE  # None is unknown: a picture
    kept_blanks: bool = False
    look: Look = PLAIN
    side_by_side: bool = False
    pressable: bool = False

    @property
    def readable(self) -> bool:
        return (
            self.shown
            and self.visible
            and self.size > _READABLE
            and self.colour is not None
            and not (self.ground is not None and _alike(self.colour, self.ground))
        )


def page_of_html(html: str) -> Page:
    """What a person sees of `html`. Never raises, however broken it is."""
    if not html.strip():
        return Page()
    from selectolax.lexbor import LexborHTMLParser

    flat = bounded(html)
    root = LexborHTMLParser(flat).root
    if root is None:  # pragma: no cover - the type says it may be, the parser never does
        return Page()
    sheet = Sheet()
    for node in root.css("style"):
        sheet.add(node.text(deep=True))
    page = _Reader(sheet, _base(root)).read(root)
    return page if flat == html else page._replace(defects=(_CUT_DOWN,))


def _base(root: LexborNode) -> str:
    node = root.css_first("base[href]")
    return (node.attributes.get("href") or "").strip() if node is not None else ""


class _Reader:
    """Walks through a document, without recursion, and hands what is seen to a composer."""

    def __init__(self, sheet: Sheet, base: str) -> None:
        self._sheet = sheet
        self._composer = Composer(base)

    def read(self, root: LexborNode) -> Page:
        outermost = _Style(Box(""))
        pending: list[tuple[LexborNode, _Style, bool]] = [(root, outermost, False)]
        while pending:
            node, style, leaving = pending.pop()
            if leaving:
                self._leave(node, style)
            elif node.is_text_node:
                if style.readable:
                    text = node.text_content or ""
                    self._composer.text(text, style.look, kept_blanks=style.kept_blanks)
            elif node.is_element_node and (node.tag or "") not in _NEVER_SHOWN:
                own = self._style(node, style)
                if not own.shown:
                    continue
                self._enter(node, own)
                pending.append((node, own, True))
                pending.extend((child, own, False) for child in _children_backwards(node))
        return self._composer.page()

    def _style(self, node: LexborNode, around: _Style) -> _Style:
        tag, attributes = node.tag or "", node.attributes
        box = Box(
            tag,
            frozenset((attributes.get("class") or "").split()),
            attributes.get("id") or "",
            around.box,
        )
        declared = _by_tag(tag, attributes) | self._sheet.applied_to(box)
        declared |= declarations(attributes.get("style") or "")
        return _Cascade(tag, attributes, declared).over(around, box)

    def _enter(self, node: LexborNode, style: _Style) -> None:
        tag, attributes, composer = style.box.tag, node.attributes, self._composer
        if tag == "br":
            composer.line_break()
        elif tag in _PARAGRAPHS:
            composer.paragraph()
        elif tag in _CELLS or style.side_by_side:
            composer.cell()
        elif tag in _BLOCKS or _is_block(style, node):
            composer.block()
        if tag in {"a", "area"} and (url := attributes.get("href")):
            composer.open_anchor(url, button=_is_button(attributes, style))
        elif tag == "form":
            composer.form(attributes.get("action") or "")
        elif tag == "button":
            composer.open_form_button()
        elif tag == "img" and style.readable:
            composer.picture(attributes.get("alt") or attributes.get("title") or "")
        elif tag == "input":
            self._input(attributes, style)

    def _input(self, attributes: dict[str, str | None], style: _Style) -> None:
        kind = (attributes.get("type") or "text").lower()
        value = attributes.get("value") or ""
        if kind == "submit":
            self._composer.open_form_button()
        if style.readable and kind in {"text", "submit", "button", "tel", "number", "email"}:
            self._composer.text(f" {value} ", style.look, kept_blanks=False)
        if kind == "submit":
            self._composer.close_anchor()

    def _leave(self, node: LexborNode, style: _Style) -> None:
        tag = style.box.tag
        if tag in {"a", "area", "button"}:
            self._composer.close_anchor()
        if tag in _PARAGRAPHS:
            self._composer.paragraph()
        elif tag in _CELLS or style.side_by_side:
            self._composer.cell()
        elif tag in _BLOCKS or _is_block(style, node):
            self._composer.block()


def _children_backwards(node: LexborNode) -> list[LexborNode]:
    children: list[LexborNode] = []
    child = node.last_child
    while child is not None:
        children.append(child)
        child = child.prev
    return children


def _is_block(style: _Style, node: LexborNode) -> bool:
    text = (node.attributes.get("style") or "").replace(" ", "").lower()
    return style.box.tag in {"a", "span", "b", "strong", "font", "em"} and "display:block" in text


def _is_button(attributes: dict[str, str | None], style: _Style) -> bool:
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return style.pressable or bool(_BUTTON.search(names)) or attributes.get("role") == "button"


def _by_tag(tag: str, attributes: dict[str, str | None]) -> Declarations:
    """What an element looks like by itself and by its presentational attributes."""
    declared = dict(_OF_TAG.get(tag, {}))
    if tag == "font" and (size := (attributes.get("size") or "").strip()) in _FONT_SIZES:
        declared["font-size"] = f"{_FONT_SIZES[size]}px"
    if tag == "font" and (colour := attributes.get("color")):
        declared["color"] = colour
    if ground := attributes.get("bgcolor"):
        declared["background-color"] = ground
    if attributes.get("background"):
        declared["background-image"] = "url()"
    return declared


class _Cascade:
    """The declarations of one element, laid over the style around it."""

    def __init__(self, tag: str, attributes: dict[str, str | None], declared: Declarations) -> None:
        self._tag = tag
        self._attributes = attributes
        self._declared = declared

    def over(self, around: _Style, box: Box) -> _Style:
        size = self._size(around.size)
        ground, framed = self._ground(around)
        visibility = self._get("visibility")
        return replace(
            around,
            box=box,
            shown=around.shown and not self._removed(size),
            visible=visibility == "visible" or (around.visible and not visibility),
            size=size,
            colour=self._colour(around),
            ground=ground,
            kept_blanks=self._get("white-space").startswith("pre")
            or (around.kept_blanks and not self._get("white-space")),
            look=self._look(around.look, size, framed=framed),
            side_by_side=self._side_by_side(),
            pressable=framed
            or self._padded()
            or (around.pressable and self._tag in {*_INLINE, "a"} and around.box.tag in _CELLS),
        )

    def _get(self, name: str) -> str:
        return self._declared.get(name, "")

    def _pixels(self, name: str, em: float = 16.0) -> float | None:
        return parse_length(self._get(name), em) if name in self._declared else None

    def _size(self, around: float) -> float:
        value = self._get("font-size")
        if not value and (font := self._get("font")):
            found = re.search(r"(?:^|\s)(\d[\d.]*(?:px|pt|em|rem|%))", font)
            value = found[1] if found else ""
        if value in _SIZE_WORDS:
            return _SIZE_WORDS[value]
        length = parse_length(value, around) if value else None
        return around if length is None else length

    def _removed(self, size: float) -> bool:
        """Whether the element and all in it takes part in the display."""
        return (
            "hidden" in self._attributes
            or self._get("display") == "none"
            or (self._get("mso-hide") == "all" and self._tag != "a")
            or self._get("visibility") == "collapse"
            or parse_length(self._get("opacity") or "1") in {0.0, *_FAINT}
            or self._squeezed(size)
            or self._elsewhere()
        )

    def _squeezed(self, size: float) -> bool:
        clipped = any("hidden" in self._get(n) or "clip" in self._get(n)
                      for n in ("overflow", "overflow-x", "overflow-y"))  # fmt: skip
        extents = (self._pixels(n, size) for n in ("max-height", "height", "max-width", "width"))
        return clipped and any(extent is not None and extent <= 1 for extent in extents)

    def _elsewhere(self) -> bool:
        """Moved out of the display, cut away or shrunk to nothing."""
        moved = [self._pixels(n) for n in ("text-indent", "margin-left", "margin-top")]
        if self._get("position") in {"absolute", "fixed"}:
            moved += [self._pixels(n) for n in ("left", "top", "right", "bottom")]
        transform = self._get("transform").replace(" ", "")
        return (
            any(distance is not None and distance <= _OFF_SCREEN for distance in moved)
            or bool(re.search(r"rect\((?:[01](?:px)?[,\s]*){4}\)", self._get("clip")))
            or bool(re.search(r"inset\((?:50|100)%", self._get("clip-path")))
            or bool(re.search(r"scale[xy]?\(0(?:\.0+)?[,)]|translate[xy]?\(-\d{4}", transform))
        )

    def _colour(self, around: _Style) -> Colour | None:
        inherited = _LINK if self._tag == "a" and around.colour == _BLACK else around.colour
        colour = parse_colour(self._get("-webkit-text-fill-color") or self._get("color"))
        if colour is None or isinstance(colour, bool):
            return None if colour is False else inherited
        return colour

    def _ground(self, around: _Style) -> tuple[Colour | None, bool]:
        """The colour behind the text, None for a picture; and whether it is the element's own."""
        shorthand, image = self._get("background"), self._get("background-image")
        if "url(" in shorthand + image or "gradient" in shorthand + image:
            return None, self._tag not in _LAYOUT
        for value in (self._get("background-color"), shorthand):
            for word in re.findall(r"[\w#-]+(?:\([^)]*\))?", value):
                colour = parse_colour(word)
                if isinstance(colour, tuple):
                    return colour, colour != around.ground and self._tag not in _LAYOUT
        return around.ground, False

    def _look(self, around: Look, size: float, *, framed: bool) -> Look:
        weight = self._get("font-weight") or self._get("font")
        bold = bool(_BOLD.search(weight)) or (around.bold and "normal" not in weight)
        href = (self._attributes.get("href") or "").lower()
        decorated = self._get("text-decoration") + self._get("text-decoration-line")
        quote = self._tag == "blockquote" and self._attributes.get("type") == "cite"
        names = f"{self._attributes.get('class') or ''} {self._attributes.get('id') or ''}"
        return Look(
            bold=bold,
            large=size >= _LARGE,
            heading=around.heading or self._tag in _HEADING_EMS,
            framed=framed
            or (around.framed and self._tag in _INLINE)
            or any(n.startswith("border") and "dashed" in v for n, v in self._declared.items())
            or (self._pixels("letter-spacing") or 0) >= 2,  # noqa: PLR2004 - pixels: set apart
            struck=around.struck or "line-through" in decorated,
            quoted=around.quoted or quote or bool(_QUOTE.search(names)),
            indented=around.indented or self._tag == "blockquote",
            dialled=around.dialled or href.startswith(("tel:", "sms:", "callto:")),
        )

    def _padded(self) -> bool:
        """Whether the element itself has the room around its text that buttons have."""
        padding = self._get("padding") or self._get("padding-top")
        border = self._get("border")
        return self._tag == "a" and (
            (parse_length(padding) or 0) >= _BUTTON_PADDING
            or (bool(border) and border[:1] in "123")
        )

    def _side_by_side(self) -> bool:
        beside = self._get("display") in {"inline-block", "table-cell", "inline-flex"}
        return self._tag in {"div", "p", "li"} and (
            beside or self._get("float") in {"left", "right"}
        )


_FAINT = frozenset({0.0, 0.01, 0.001})


def _alike(one: Colour, other: Colour) -> bool:
    return all(abs(a - b) <= _ALIKE for a, b in zip(one, other, strict=True))
