"""The public API as a type checker sees it; checked, never run."""

from __future__ import annotations

import re
from typing import assert_type

from pytest_agentmail import (
    AgentRun,
    CheckResult,
    Evidence,
    Ledger,
    Mailbox,
    MailWorld,
    Message,
    RunReport,
    Signal,
    SignalQueue,
    SignalStatus,
    Snapshot,
)
from pytest_agentmail.runs.checklist import Checklist


def mailboxes(mailbox: Mailbox) -> None:
    assert_type(mailbox.address, str)
    assert_type(mailbox.messages, list[Message])
    assert_type(mailbox.search(subject="x", header={"X": re.compile("y")}), list[Message])
    message = mailbox.wait(subject=lambda text: "x" in text, timeout=3)
    assert_type(message, Message)
    assert_type(message.code, str | None)
    assert_type(message.links, tuple[str, ...])
    mailbox.search(after=message)


async def waits(mailbox: Mailbox, signals: SignalQueue, signal: Signal) -> None:
    assert_type(await mailbox.wait_async(), Message)
    assert_type(await signals.wait_async(signal), CheckResult)


def queues(signals: SignalQueue) -> None:
    signal = signals.expect("verification", subject="Confirm", within=120, checks=10)
    result = signals.check(signal, "first_check")
    assert_type(result.status, SignalStatus)
    assert_type(result.evidence, Evidence | None)
    signals.expect("again", newer_than=result.evidence)


def runs(world: MailWorld) -> None:
    def agent(run: AgentRun, count: int) -> str:
        return run.run_id * count

    with world.open_run(checks=3) as run:
        assert_type(run.drive(agent, 2), RunReport)
        assert_type(run.lease("desk@hotel.example"), Mailbox)


def ledgers(run: AgentRun) -> None:
    assert_type(run.ledger, Ledger)
    assert_type(run.ledger.append("code_verified", expected_version=3), Snapshot)
    assert_type(run.report.snapshot, Snapshot | None)
    assert_type(run.checklist(), Checklist)

    def request(address: str) -> int:
        return len(address)

    durable = run.ledger.once(request, sends_mail={"subject": "Confirm"})
    assert_type(durable("ada@mail.test"), int)
    assert_type(Ledger.open("sqlite:///runs.db", run_id="run-1"), Ledger)
