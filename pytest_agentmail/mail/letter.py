"""A mail on its way from the sink into mailboxes."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pytest_agentmail.mail.content import Content

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_agentmail.mail.fate import Fate
    from pytest_agentmail.mail.mailbox import Mailbox
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.world import Adversary

__all__ = ["Letter"]


class Letter:
    """One accepted mail, what becomes of it in each run, and where its copies went."""

    def __init__(self, raw: bytes, envelope_from: str, *, by_app: bool) -> None:
        self.envelope_from = envelope_from
        self.by_app = by_app
        """Whether an app sent it; else the world wrote it."""
        self.fates: dict[str, Fate] = {}
        """What becomes of it, by run."""
        self.deliveries: list[tuple[Mailbox, Message]] = []
        self.overtaken: list[tuple[Mailbox, Message]] = []
        """Held mail that becomes visible behind it."""
        self.expected: list[Callable[[], object]] = []
        """Tells whoever expected a mail of its runs, once it is announced."""
        self._contents: dict[tuple[Adversary, ...], Content] = {(): Content(raw)}

    def content(self, fate: Fate) -> Content:
        """What it says, rewritten where that is its fate; parsed once for all its copies."""
        if fate.rewritten not in self._contents:
            from pytest_agentmail.mail.composing import rewritten

            raw = reduce(rewritten, fate.rewritten, self._contents[()].raw)
            self._contents[fate.rewritten] = Content(raw)
        return self._contents[fate.rewritten]
