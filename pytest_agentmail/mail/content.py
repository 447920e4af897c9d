"""What one mail says, read on demand and never refused."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_agentmail.errors import AmbiguousMail

if TYPE_CHECKING:
    from pytest_agentmail.mail.extraction.candidates import Candidate
    from pytest_agentmail.mail.extraction.page import Page
    from pytest_agentmail.mail.headers import Headers, NamedAddress
    from pytest_agentmail.mail.structure import Attachment, Structure

__all__ = ["Content"]

# What servers add on the way: trace fields (RFC 5321 §4.4), delivery notes, checks and seals.
_TRACE = frozenset(
    {
        b"return-path",
        b"received",
        b"x-received",
        b"delivered-to",
        b"x-delivered-to",
        b"x-original-to",
        b"envelope-to",
        b"x-envelope-to",
        b"received-spf",
        b"authentication-results",
        b"arc-seal",
        b"arc-message-signature",
        b"arc-authentication-results",
    }
)
_FIELD = re.compile(rb"([!-9;-~]+)[ \t]*:[^\n]*(?:\n|$)(?:[ \t][^\n]*(?:\n|$))*")


class Content:
    """The readable side of one mail; parsed on first use, shared by all its deliveries.

    Reading never raises, but for `code` and `link` of a mail that holds several equally good
    ones. What was repaired or replaced on the way is told by `defects`.
    """

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @cached_property
    def sha256(self) -> str:
        """The hexadecimal SHA-256 of the raw bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    @cached_property
    def fingerprint(self) -> str:
        """The hexadecimal SHA-256 without trace fields: equal for copies of the same mail."""
        digest, end = hashlib.sha256(), 0
        while field := _FIELD.match(self.raw, end):
            if field[1].lower() not in _TRACE:
                digest.update(field[0])
            end = field.end()
        digest.update(self.raw[end:])
        return digest.hexdigest()

    # --- header ---------------------------------------------------------------------------

    @property
    def headers(self) -> Headers:
        """All header fields, decoded (RFC 2047)."""
        return self._structure.headers

    @cached_property
    def subject(self) -> str:
        """The decoded subject; empty when there is none."""
        return next((value for value in self.headers.get_all("subject") if value), "")

    @property
    def sender(self) -> str:
        """The address in From, without the name; empty when there is none."""
        return self._from.address

    @property
    def sender_name(self) -> str:
        """The name in From; the sender chose it, so it proves nothing."""
        return self._from.name

    @cached_property
    def recipients(self) -> tuple[str, ...]:
        """The addresses in To and Cc, in order; blind copies are not among them."""
        listed = self._addresses("to") + self._addresses("cc")
        return tuple(dict.fromkeys(each.address for each in listed if each.address))

    @cached_property
    def message_id(self) -> str | None:
        """The sender's Message-ID as written, angle brackets included; it identifies nothing."""
        value = re.sub(r"\s+", "", self.headers.get("message-id") or "")
        return value or None

    @cached_property
    def date(self) -> dt.datetime | None:
        """The Date field, aware; None when missing or unreadable. Not the time of arrival."""
        try:
            date = parsedate_to_datetime(self.headers.get("date") or "")
            aware = date if date.tzinfo else date.replace(tzinfo=dt.UTC)
            aware.astimezone(dt.UTC)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        return aware

    # --- body -------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The plain-text part; empty when there is none."""
        return self._structure.text

    @property
    def html(self) -> str | None:
        """The HTML part as sent; None when there is none."""
        return self._structure.html

    @cached_property
    def visible_text(self) -> str:
        """What a person sees: the HTML as displayed, else the text."""
        return self._page.visible_text or self._text_page.visible_text

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The files that came along."""
        return self._structure.attachments

    @cached_property
    def defects(self) -> tuple[str, ...]:
        """What is wrong with the mail and what was done about it, in plain words."""
        found = (*self._structure.defects, *self._page.defects, *self._field_defects())
        return tuple(dict.fromkeys(found))

    # --- code and link ------------------------------------------------------------------------

    @property
    def code(self) -> str | None:
        """The code to type in, or None. Raises `AmbiguousMail` when several are equally good."""
        return _only("code", self.code_candidates)

    @property
    def codes(self) -> tuple[str, ...]:
        """All codes, best first."""
        return tuple(candidate.value for candidate in self.code_candidates)

    @property
    def link(self) -> str | None:
        """The link to press, or None. Raises `AmbiguousMail` when several are equally good."""
        return _only("link", self.link_candidates)

    @property
    def links(self) -> tuple[str, ...]:
        """All links a person could press to go on, best first."""
        return tuple(candidate.value for candidate in self.link_candidates)

    @cached_property
    def code_candidates(self) -> tuple[Candidate, ...]:
        """The codes found, best first, each with the reasons for its rank."""
        from pytest_agentmail.mail.extraction.codes import find_codes

        return find_codes(self.subject, self._page, self._text_page)

    @cached_property
    def link_candidates(self) -> tuple[Candidate, ...]:
        """The links found, best first, each with the reasons for its rank."""
        from pytest_agentmail.mail.extraction.links import find_links

        return find_links(self.subject, self.sender, self._page, self._text_page)

    # --- parsing ------------------------------------------------------------------------------

    @cached_property
    def _structure(self) -> Structure:
        from pytest_agentmail.mail.structure import dissect

        return dissect(self.raw)

    @cached_property
    def _page(self) -> Page:
        from pytest_agentmail.mail.extraction.visible import page_of_html

        return self._with_quotes(page_of_html(self.html or ""))

    @cached_property
    def _text_page(self) -> Page:
        from pytest_agentmail.mail.extraction.plain import page_of_text

        return self._with_quotes(page_of_text(self.text))

    def _with_quotes(self, page: Page) -> Page:
        from pytest_agentmail.mail.extraction.quoting import is_passed_on, with_quotes_marked

        return with_quotes_marked(page, passed_on=is_passed_on(self.subject))

    @cached_property
    def _from(self) -> NamedAddress:
        from pytest_agentmail.mail.headers import NamedAddress

        listed = self._addresses("from") or self._addresses("sender")
        with_address = (each for each in listed if each.address)
        return next(with_address, listed[0] if listed else NamedAddress("", ""))

    def _addresses(self, name: str) -> list[NamedAddress]:
        from pytest_agentmail.mail.headers import addresses

        fields = self._structure.raw_headers
        values = [value for field, value in fields if field.lower() == name]
        return [each for value in values for each in addresses(value, [], self._structure.charsets)]

    def _field_defects(self) -> list[str]:
        defects = [
            f"the header has {len(self.headers.get_all(name))} {name} fields; the first counts"
            for name in ("Subject", "From", "To", "Date", "Message-ID", "Content-Type")
            if len(self.headers.get_all(name)) > 1
        ]
        if "date" not in self.headers:
            defects.append("there is no Date")
        elif self.date is None:
            defects.append(f"the Date {self.headers['date']!r} cannot be read")
        if self.message_id is None:
            defects.append("there is no Message-ID")
        elif not re.fullmatch(r"<[^<>@]+@[^<>@]+>", self.message_id):
            defects.append(f"the Message-ID {self.message_id!r} is malformed")
        if not self.sender:
            defects.append("there is no sender address")
        return defects


def _only(what: str, candidates: tuple[Candidate, ...]) -> str | None:
    """The best candidate, unless others are just as good."""
    if not candidates:
        return None
    equal = [each.value for each in candidates if each.score == candidates[0].score]
    if len(equal) > 1:
        raise AmbiguousMail(what, equal)
    return candidates[0].value
