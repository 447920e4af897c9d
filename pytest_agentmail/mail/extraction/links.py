"""The link a person would press to go on: every address of a mail, ranked with reasons.

Nothing is ever fetched. What a link leads to is judged by its words, its place and its parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, urlsplit

from pytest_agentmail.mail.extraction.addresses import (
    host_of,
    looks_random,
    site_of,
    split,
    words_of,
)
from pytest_agentmail.mail.extraction.candidates import Candidate, Reason
from pytest_agentmail.mail.extraction.destinations import (
    ASIDE,
    FILE_NAME,
    GOING_ON,
    SHORT_TOKEN,
    TOKEN_KEYS,
)
from pytest_agentmail.mail.extraction.places import Place, in_anchors, in_lines
from pytest_agentmail.mail.extraction.vocabulary import LINK_KINDS, Term, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_agentmail.mail.extraction.page import Page

__all__ = ["find_links"]

_SENTENCES = re.compile(r"[.!?;](?=\s)|[。！？；।؟]|\t")
_ENDED = re.compile(r"(?:[.!;。！；।]|^)\s*$")
_LABEL = 40  # characters; what stands nearer is no sentence

ENOUGH = 40
ALIKE = 4
MOST_PLACES = 500  # nobody presses a link after so many


SAYS_CONFIRM = 40
CONFIRM_BEFORE = 22
CONFIRM_AFTER = 22
CONFIRM_IN_SUBJECT = 10
BUTTON = 14
OWN_LINE = 14
TOKEN = 24
TOKEN_KEY = 14
GOING_ON_WORD = 16
SAME_SITE = 8
IN_HTML = 3
REPEATED = 5

SAYS_OTHERWISE = {"leave": -90, "deny": -60, "aside": -50}
OTHERWISE_BEFORE = {"leave": -60, "deny": -35, "aside": -28}
SIDE_WORD = -55
FILE = -80
BARE = -35
UNEXPLAINED = -12
ONLY_SHORT_TOKEN = -8
NO_TOKEN = -60
LOOK_ALIKE = -30
SHOWS_GOING_ON = 16
DISGUISED = -80
INSTRUCTED = -50
QUOTED = -90


@dataclass(slots=True)
class _Tally:
    url: str
    reasons: list[Reason]
    points: int
    where: list[str] = field(default_factory=list)
    places: int = 1
    against: Reason | None = None  # what it says wherever it is pressed


def find_links(subject: str, sender: str, html: Page, text: Page) -> tuple[Candidate, ...]:
    """The links a person could press to go on, best first; empty when there are none.

    Args:
        subject: The decoded subject.
        sender: The address the mail says it is from.
        html: What is displayed of the HTML part; empty when there is none.
        text: The plain-text part; empty when there is none.
    """
    general = []
    if any(term.kind == "confirm" for term in terms(subject, LINK_KINDS)):
        general.append(Reason(CONFIRM_IN_SUBJECT, "the subject asks to go on"))
    site = site_of(sender.rpartition("@")[2])
    tallies: dict[str, _Tally] = {}
    for seen in _places(html.cut(), text.cut()):
        parts = split(seen.url)
        if parts is None:
            continue
        reasons = [*_signs(seen, parts, site), *general]
        points = sum(reason.points for reason in reasons)
        tally = tallies.setdefault(seen.url, _Tally(seen.url, reasons, points, [], 0))
        tally.places += 1
        tally.against = tally.against or _says_otherwise(terms(seen.text, LINK_KINDS))
        if points > tally.points:
            tally.reasons, tally.points = reasons, points
        if seen.where not in tally.where:
            tally.where.append(seen.where)
    return _ranked(list(tallies.values()))


def _places(html: Page, text: Page) -> Iterator[Place]:
    yield from islice(in_anchors(html), MOST_PLACES)
    yield from islice(in_lines(html, "html"), MOST_PLACES)
    yield from islice(in_lines(text, "text"), MOST_PLACES)


def _ranked(tallies: list[_Tally]) -> tuple[Candidate, ...]:
    found: list[Candidate] = []
    for tally in tallies:
        longer = (other.url for other in tallies if other is not tally)
        if any(url.startswith(tally.url) and "html" not in tally.where for url in longer):
            continue  # the text part lost the end of it
        reasons = list(tally.reasons)
        if tally.against and tally.against not in reasons:
            reasons.append(tally.against)
        if tally.places > 1:
            reasons.append(Reason(REPEATED, "stands there more than once"))
        score = sum(reason.points for reason in reasons)
        if score >= ENOUGH:
            reasons.sort(key=lambda reason: -abs(reason.points))
            texts = tuple(f"{reason.points:+d} {reason.text}" for reason in reasons)
            found.append(Candidate(tally.url, tally.url, ", ".join(tally.where), score, texts))
    found.sort(key=lambda candidate: -candidate.score)
    return tuple(
        each._replace(score=found[0].score) if found[0].score - each.score < ALIKE else each
        for each in found
    )


# --- signs for and against ---------------------------------------------------------------------


def _signs(seen: Place, parts: SplitResult, site: str) -> Iterator[Reason]:
    yield from _signs_of_words(seen)
    if seen.button:
        yield Reason(BUTTON, "is a button")
    if seen.alone:
        yield Reason(OWN_LINE, "stands alone in its line")
    if seen.where == "html":
        yield Reason(IN_HTML, "stands in the HTML part")
    if seen.ordered:
        yield Reason(INSTRUCTED, "stands beside instructions to a machine")
    if seen.quoted:
        yield Reason(QUOTED, "stands in a quoted mail")
    yield from _signs_of_parts(parts)
    yield from _signs_of_host(seen, parts, site)


def _signs_of_words(seen: Place) -> Iterator[Reason]:
    reasons = list(_signs_of_speech(seen))
    yield from reasons
    if not any(reason.points > 0 for reason in reasons) and not GOING_ON.intersection(
        words_of(urlsplit(seen.url).path)
    ):
        yield Reason(UNEXPLAINED, "nothing says that it goes on")


def _signs_of_speech(seen: Place) -> Iterator[Reason]:
    said = terms(seen.text, LINK_KINDS)
    kinds = {term.kind: term.text for term in reversed(said)}
    if otherwise := _says_otherwise(said):
        yield otherwise
    elif "confirm" in kinds:
        yield Reason(SAYS_CONFIRM, f"says {kinds['confirm']!r}")
        if condition := _in_open_sentence(seen.before):
            yield Reason(SAYS_OTHERWISE[condition.kind], f"is for {condition.text!r}")
    behind = terms(seen.after, LINK_KINDS)
    if behind and behind[0].kind == "confirm" and not said:
        yield Reason(CONFIRM_AFTER, f"{behind[0].text!r} stands behind it")
    if seen.shown_address and GOING_ON.intersection(words_of(seen.shown_address)):
        yield Reason(SHOWS_GOING_ON, "shows an address that goes on")
    near = terms(seen.before, LINK_KINDS)
    if near and not said:
        last = _in_last_sentence(seen.before) or near[-1]
        if last.kind == "confirm":
            yield Reason(CONFIRM_BEFORE, f"{last.text!r} stands before it")
        elif last.end > _begin_of_last(seen.before) or len(seen.before) - last.end <= _LABEL:
            yield Reason(OTHERWISE_BEFORE[last.kind], f"{last.text!r} stands before it")


def _says_otherwise(said: list[Term]) -> Reason | None:
    """What the words that are pressed say, when that is not to go on."""
    kinds = {term.kind: term.text for term in reversed(said)}
    otherwise = [kind for kind in SAYS_OTHERWISE if kind in kinds]
    if not otherwise or (otherwise == ["aside"] and said[0].kind == "confirm"):
        return None
    return Reason(SAYS_OTHERWISE[otherwise[0]], f"says {kinds[otherwise[0]]!r}")


def _in_last_sentence(before: str) -> Term | None:
    """What the sentence that leads to a link is about: stopping or undoing, else going on."""
    begin = _begin_of_last(before)
    words = [term for term in terms(before, LINK_KINDS) if term.end > begin]
    against = next((term for term in words if term.kind in {"deny", "leave"}), None)
    return against or next((term for term in words if term.kind == "confirm"), None)


def _in_open_sentence(before: str) -> Term | None:
    """A word for stopping or undoing in a sentence that is not at its end before the link."""
    word = None if _ENDED.search(before) else _in_last_sentence(before)
    return word if word and word.kind != "confirm" else None


def _begin_of_last(before: str) -> int:
    ends = [found.end() for found in _SENTENCES.finditer(before.rstrip())]
    return max((end for end in ends if end < len(before.rstrip())), default=0)


def _signs_of_parts(parts: SplitResult) -> Iterator[Reason]:
    words = words_of(parts.path)
    if going_on := GOING_ON.intersection(words):
        yield Reason(GOING_ON_WORD, f"its path says {min(going_on)!r}")
    if aside := ASIDE.intersection(words) or _words_aside(words):
        yield Reason(SIDE_WORD, f"its path says {min(aside)!r}")
    if FILE_NAME.search(parts.path):
        yield Reason(FILE, "leads to a file")
    values = parse_qsl(parts.query or "", keep_blank_values=True)
    fragment = parse_qsl(parts.fragment.partition("?")[2] or parts.fragment)
    keyed = [key for key, value in [*values, *fragment] if TOKEN_KEYS.fullmatch(key) and value]
    if keyed:
        yield Reason(TOKEN_KEY, f"carries a {keyed[0]!r}")
    pieces = [
        *re.split(r"[/:;@]", parts.path),
        *(value for _, value in values),
        *re.split(r"[/=&?]", parts.fragment),
    ]
    if any(looks_random(piece) for piece in pieces):
        yield Reason(TOKEN, "carries a token")
    elif keyed or any(SHORT_TOKEN.search(piece) for piece in pieces):
        yield Reason(ONLY_SHORT_TOKEN, "carries at most a short token")
    else:
        yield Reason(NO_TOKEN, "carries no token")
    if parts.path in ("", "/") and not parts.query and not parts.fragment:
        yield Reason(BARE, "leads to the front page")


def _words_aside(words: list[str]) -> set[str]:
    """Words of other scripts and with accents that the vocabulary knows."""
    spoken = " ".join(word for word in words if not word.isascii())
    return {term.text for term in terms(spoken, LINK_KINDS) if term.kind in SAYS_OTHERWISE}


def _signs_of_host(seen: Place, parts: SplitResult, site: str) -> Iterator[Reason]:
    host = host_of(seen.url)
    if site and site_of(host) == site:
        yield Reason(SAME_SITE, "leads to the sender's domain")
    if seen.shown_address:
        shown = host_of(seen.shown_address)
        if shown and site_of(shown) != site_of(host):
            yield Reason(LOOK_ALIKE, f"shows {shown} but leads to {host}")
    if "@" in parts.netloc:
        yield Reason(DISGUISED, "hides its host behind a name")
