"""What a run keeps in its store: a ledger, once somebody asks for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.runs.reader import RunReader
from pytest_agentmail.runs.snapshot import Action

if TYPE_CHECKING:
    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.mail.mailbox import Mailbox
    from pytest_agentmail.runs.reconciling import MailAcceptanceLog
    from pytest_agentmail.stores.opening import AnyStore

__all__ = ["Bookkeeping"]


class Bookkeeping:
    """Opens the ledger of a run when it is first used, and tells it of mailboxes and lives.

    Args:
        store: Where it is kept.
        run_id: The run.
        clock: The time of the run.
        mail_log: What the sink saw of it.
        resume_minimum: Checks that must be left for a further life to begin (C11).
    """

    def __init__(
        self,
        store: AnyStore,
        run_id: str,
        clock: Clock,
        mail_log: MailAcceptanceLog,
        resume_minimum: int,
    ) -> None:
        self._store = store
        self._run_id = run_id
        self._clock = clock
        self._mail_log = mail_log
        self._resume_minimum = resume_minimum
        self._lock = threading.RLock()
        self._mailboxes: list[Mailbox] = []
        self._ledger: Ledger | None = None

    @property
    def ledger(self) -> Ledger:
        """The ledger, as the life that goes on now writes it."""
        with self._lock:
            if self._ledger is None:
                self._ledger = Ledger.open(
                    self._store, run_id=self._run_id, clock=self._clock, mail_log=self._mail_log
                )
                for mailbox in self._mailboxes:
                    _enter(self._ledger, mailbox)
            return self._ledger

    @property
    def reader(self) -> RunReader | None:
        """The ledger, as one reads it who is none of its lives; None where none is kept.

        It need not have been opened here: an agent in another process may keep it.
        """
        if self._store.load(self._run_id) is None:
            return None
        return RunReader.open(self._store, run_id=self._run_id, clock=self._clock)

    def leased(self, mailbox: Mailbox) -> None:
        """Note a mailbox of the run; the ledger knows of it where a new one is allowed."""
        with self._lock:
            self._mailboxes.append(mailbox)
            if self._ledger is not None:
                _enter(self._ledger, mailbox)

    def resume(self) -> None:
        """Let a further life write the ledger, where one is kept.

        Raises:
            BudgetExceeded: Fewer checks are left than it takes; nothing was changed.
        """
        with self._lock:
            if self._ledger is not None:
                self._ledger.take_over(self._resume_minimum)


def _enter(ledger: Ledger, mailbox: Mailbox) -> None:
    if Action.LEASE_NEW_MAILBOX in ledger.allowed_actions():
        ledger.append(
            "mailbox_leased", recipient=mailbox.address, lease_expires_at=mailbox.lease_expires_at
        )
