"""A run in memory, at a time that stands still unless it is moved."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from pytest_agentmail.runs.events import Spending
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.stores.memory import MemoryStore

START = datetime(2026, 10, 21, 15, tzinfo=UTC)


@dataclass
class StillClock:
    time: datetime = START

    def now(self):
        return self.time

    def advance(self, seconds):
        self.time += timedelta(seconds=seconds)


@dataclass
class MailLog:
    """What a mail server saw, as a test wants it."""

    mails: list = field(default_factory=list)
    connections: int = 0
    refused: list = field(default_factory=list)

    def accepted(self, run_id, criteria):
        return [mail for mail in self.mails if criteria["subject"] in mail.subject]

    def open_connections(self, run_id):
        return self.connections

    def refusals(self, run_id):
        return self.refused

    def accept(self, subject="Confirm", content=None):
        mail = SimpleNamespace(
            subject=subject, content=content or f"c{len(self.mails)}", accepted_at=START
        )
        self.mails.append(mail)

    def refuse(self, code, at=START):
        self.refused.append(SimpleNamespace(code=code, at=at))


class Run:
    """One run, and what lives of it can be opened with."""

    def __init__(self):
        self.clock = StillClock()
        self.store = MemoryStore()
        self.log = MailLog()
        self.spending = Spending(limit=10)

    def live(self, **how):
        return Ledger.open(
            self.store, run_id="run-1", clock=self.clock, spending=lambda _: self.spending, **how
        )

    def lease(self, ledger, recipient="ada@mail.test", seconds=3600):
        until = self.clock.now() + timedelta(seconds=seconds)
        return ledger.append("mailbox_leased", recipient=recipient, lease_expires_at=until)

    def upto(self, state, ledger=None):
        """A ledger whose run has come to `state` on the straight way."""
        ledger = ledger or self.live()
        self.lease(ledger)
        for event, data in (
            ("verification_requested", {}),
            ("wait_started", {"signal_id": "s1"}),
            ("message_received", {"message_id": "m-1", "signal_id": "s1"}),
            ("code_verified", {}),
        ):
            if ledger.snapshot.verification == state:
                break
            ledger.append(event, **data)
        assert ledger.snapshot.verification == state
        return ledger


@pytest.fixture
def run():
    return Run()


def result(
    status, *, final=None, signal_id="s1", recipient="ada@mail.test", message_id=None, cause=None
):
    """What a check of a signal may answer."""
    evidence = message_id and SimpleNamespace(
        message_id=message_id, sha256="0" * 64, received_at=START
    )
    return SimpleNamespace(
        status=status,
        final=status in {"found", "expired"} if final is None else final,
        signal=SimpleNamespace(signal_id=signal_id, recipient=recipient),
        evidence=evidence or None,
        cause=cause,
    )


@pytest.fixture
def answer():
    return result
