"""One delivery of one mail to one mailbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from pytest_agentmail.mail.content import Content
    from pytest_agentmail.mail.headers import Headers
    from pytest_agentmail.mail.structure import Attachment

__all__ = ["Message"]


class Message:
    """One delivery of a mail to a mailbox; what it says is parsed when it is first asked for.

    Nothing raises on reading, except `code` and `link`, which raise `AmbiguousMail` where several
    are equally good.
    """

    __slots__ = (
        "content",
        "envelope_from",
        "envelope_to",
        "id",
        "received_at",
        "seq",
        "visible_at",
    )

    id: str
    """Our name for this delivery; unique, and no part of the mail."""
    seq: int
    """Its place in the order of acceptance, the only order there is."""
    envelope_from: str
    """The sender named in the SMTP envelope; empty for a bounce (RFC 5321 §4.5.5)."""
    envelope_to: tuple[str, ...]
    """The envelope's recipients that belong to this mailbox, as the sender wrote them."""
    received_at: datetime
    """When the sink accepted it (UTC)."""
    visible_at: datetime
    """From when on it can be found (UTC)."""

    def __init__(  # noqa: PLR0913  (one argument a field)
        self,
        content: Content,
        *,
        id: str,
        seq: int,
        envelope_from: str,
        envelope_to: tuple[str, ...],
        received_at: datetime,
        visible_at: datetime,
    ) -> None:
        self.content: Content = content
        self.id = id
        self.seq = seq
        self.envelope_from = envelope_from
        self.envelope_to = envelope_to
        self.received_at = received_at
        self.visible_at = visible_at

    def __repr__(self) -> str:
        return f"<Message {self.id} to {', '.join(self.envelope_to)}>"

    @property
    def name(self) -> str:
        """What it is called in texts: "m1" for the first of its run; the beginning of `id`."""
        return self.id.partition(".")[0]

    @property
    def message_id(self) -> str | None:
        """The sender's Message-ID; it identifies nothing here."""
        return self.content.message_id

    @property
    def subject(self) -> str:
        """The decoded subject, on one line."""
        return self.content.subject

    @property
    def sender(self) -> str:
        """The address in the From header."""
        return self.content.sender

    @property
    def recipients(self) -> tuple[str, ...]:
        """The addresses in the To and Cc headers."""
        return self.content.recipients

    @property
    def text(self) -> str:
        """The plain text part."""
        return self.content.text

    @property
    def html(self) -> str | None:
        """The HTML part."""
        return self.content.html

    @property
    def visible_text(self) -> str:
        """What a person would see."""
        return self.content.visible_text

    @property
    def code(self) -> str | None:
        """The code to type in, or None.

        Raises:
            AmbiguousMail: Several are equally good; `codes` has them all.
        """
        return self.content.code

    @property
    def codes(self) -> tuple[str, ...]:
        """All that may be codes, best first."""
        return self.content.codes

    @property
    def link(self) -> str | None:
        """The link to press to confirm, or None; it is never opened.

        Raises:
            AmbiguousMail: Several are equally good; `links` has them all.
        """
        return self.content.link

    @property
    def links(self) -> tuple[str, ...]:
        """All links, best first."""
        return self.content.links

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The attached files."""
        return self.content.attachments

    @property
    def headers(self) -> Headers:
        """All headers, decoded; names are compared without case."""
        return self.content.headers

    @property
    def raw(self) -> bytes:
        """The mail as it was received, with CRLF line ends."""
        return self.content.raw

    @property
    def sha256(self) -> str:
        """The hexadecimal SHA-256 of `raw`."""
        return self.content.sha256

    @property
    def defects(self) -> tuple[str, ...]:
        """What had to be repaired to read it."""
        return self.content.defects
