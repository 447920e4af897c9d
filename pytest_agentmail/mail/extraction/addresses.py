"""Addresses on the web inside plain text, and what their parts give away."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

__all__ = ["Found", "find_addresses", "host_of", "looks_random", "site_of", "split", "words_of"]

# Stops at blanks, quotes and brackets, and at East Asian text that is glued to the address.
_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9])(?:[a-z][a-z0-9+.-]{1,20}://|www\.)"
    r"[^\s<>\"“”„«»\u2018\u2019\u0e00-\u0e7f\u1100-\u11ff\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]+",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?'*_`~|\\…·،؛؟।"
_MOST_TRAILING = 50
_PAIRS = {")": "(", "]": "[", "}": "{"}
_ESCAPED_AMPERSAND = re.compile(r"&amp;(?=[\w.%\[\]-]+=)")
_NOT_HTTP = (
    "javascript:",
    "data:",
    "cid:",
    "mailto:",
    "tel:",
    "sms:",
    "file:",
    "about:",
    "callto:",
)


class Found(NamedTuple):
    """An address in a text."""

    start: int
    end: int
    url: str


def find_addresses(text: str) -> list[Found]:
    """The addresses in a text, without the punctuation and brackets around them."""
    found: list[Found] = []
    for match in _ADDRESS.finditer(text):
        url = _trimmed(match[0])
        if re.search(r"[./][^/]", url.partition("//")[2] or url) and not url.endswith("://"):
            end = match.start() + len(url)
            if "&amp;" in url and not re.search(r"&(?!amp;)", url):
                url = _ESCAPED_AMPERSAND.sub("&", url)
            if url.lower().startswith("www."):
                url = f"http://{url}"
            found.append(Found(match.start(), end, url))
    return found


def _trimmed(url: str) -> str:
    for _ in range(_MOST_TRAILING):
        last = url[-1:]
        unpaired = last in _PAIRS and url.count(last) > url.count(_PAIRS[last])
        if not last or not (last in _TRAILING or unpaired):
            break
        url = url[:-1]
    return url


def split(url: str) -> SplitResult | None:
    """The parts of an address that can be opened, or None."""
    if url.lower().startswith(_NOT_HTTP):
        return None
    try:
        parts = urlsplit(url)
        _ = parts.hostname, parts.port
    except ValueError:
        return None
    return parts if parts.scheme and (parts.netloc or parts.path) else None


def host_of(url: str) -> str:
    """The host in lower case; Unicode and punycode forms of a name give the same."""
    parts = split(url)
    host = (parts.hostname if parts else None) or ""
    try:
        return host.encode("idna").decode("ascii") if not host.isascii() else host
    except UnicodeError:
        return host


def site_of(host: str) -> str:
    """The last two labels of a host, near enough who it belongs to."""
    return ".".join(host.lower().strip(".").split(".")[-2:])


def words_of(path: str) -> list[str]:
    """The words a path is made of, in lower case, also those joined by capitals."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", unquote(path, errors="replace"))
    return re.findall(r"[^\W\d_]+", spaced.lower())


_RANDOM = 2.6  # bits per character; words have less
_SHORTEST = 8
_MANY_KINDS = 8  # different characters


def looks_random(text: str) -> bool:
    """Whether a piece of an address was drawn, not written: a token."""
    if len(text) < _SHORTEST:
        return False
    mixed = bool(re.search(r"\d", text)) and bool(re.search(r"[A-Za-z]", text))
    cased = bool(re.search(r"[a-z][A-Z]|[A-Z][a-z]+[A-Z]", text))
    digits = text.isdigit() and len(text) > 9  # noqa: PLR2004 - shorter ones count something
    hyphenated_words = re.fullmatch(r"[a-z]+(?:[-_+.][a-z]+)*(?:[-_.]\d{1,4})?", text)
    if hyphenated_words or not (mixed or cased or digits):
        return False
    counts = Counter(text)
    entropy = -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
    # Padding makes a token no less random.
    return entropy >= _RANDOM or len(counts) >= _MANY_KINDS
