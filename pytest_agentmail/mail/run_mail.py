"""The mail of one run, in all its mailboxes."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentmail.mail.fate import MailFaults
from pytest_agentmail.mail.smtp.planned import SmtpFaults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from pytest_agentmail.mail.mailbox import Mailbox
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.world import MailFault, SmtpFault

__all__ = ["Refused", "RunMail"]


class Refused(NamedTuple):
    """A mail that was refused."""

    code: int
    """The reply code (RFC 5321 §4.2)."""
    at: datetime
    """When, by the clock of its run (UTC)."""


class RunMail:
    """What the post office knows of one run."""

    def __init__(self, run_id: str) -> None:
        self.names: Iterator[str] = (f"m{number}.{run_id}" for number in itertools.count(1))
        """Ids for its messages: short and in order, then what makes them unique."""
        self.sent: list[Message] = []
        """Every mail accepted for it, once, in order of arrival; lost and delayed mail too."""
        self.refusals: list[Refused] = []
        """What was refused for it, oldest first."""
        self.faults: MailFaults = MailFaults()
        """What is to become of its mail."""
        self.smtp_faults: SmtpFaults = SmtpFaults()
        """What is to go wrong while it is sent."""
        self._lock = threading.Lock()
        self._expecting: list[tuple[int, Callable[[], object]]] = []
        self.held: list[tuple[Mailbox, Message]] = []
        """Mail that can be found only after the next one."""

    def add_sent(self, message: Message) -> list[Callable[[], object]]:
        """Note a mail that was accepted; gives what tells whoever expected one."""
        with self._lock:
            self.sent.append(message)
            due = [tell for count, tell in self._expecting if len(self.sent) > count]
            self._expecting = [each for each in self._expecting if len(self.sent) <= each[0]]
        return due

    def when_more_than(self, count: int, tell: Callable[[], object]) -> None:
        """Have `tell` called when more than `count` mails were accepted and announced."""
        with self._lock:
            if len(self.sent) <= count:
                self._expecting.append((count, tell))
                return
        tell()

    def happened(self) -> list[str]:
        """What faults did to its mail, a sentence each."""
        return [*self.smtp_faults.notes(), *self.faults.notes()]

    def pending(self) -> list[MailFault | SmtpFault]:
        """The faults that never struck."""
        return [*self.smtp_faults.pending(), *self.faults.pending()]
