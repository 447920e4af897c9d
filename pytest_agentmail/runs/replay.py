"""How a snapshot follows from events: the fold, and replaying it."""

from __future__ import annotations

from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_agentmail.runs.events import (
    CodeRejected,
    CodeVerified,
    DecisionConfirmed,
    Facts,
    LeaseExpired,
    MailboxLeased,
    MessageReceived,
    ResendRequested,
    VerificationRequested,
    WaitStarted,
)
from pytest_agentmail.runs.planner import next_action
from pytest_agentmail.runs.snapshot import MailboxState, Snapshot
from pytest_agentmail.runs.transitions import target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from pytest_agentmail.runs.events import Event, Standing
    from pytest_agentmail.runs.snapshot import Budget

    Changes = dict[str, Any]

__all__ = ["fold", "replay", "seen"]


def replay(start: Snapshot, events: Iterable[Event]) -> Snapshot:
    """The snapshot after `events`, which follow `start` without a gap."""
    return reduce(fold, events, start)


def fold(before: Snapshot, event: Event) -> Snapshot:
    """The snapshot after one more event.

    Raises:
        IllegalTransition: If `event` cannot happen in the state `before` is in.
        ValueError: If `event` is of another run, or not the next one.
    """
    if (event.run_id, event.version) != (before.run_id, before.version + 1):
        raise ValueError(
            f"event {event.version} of run {event.run_id!r} cannot follow "
            f"version {before.version} of run {before.run_id!r}"
        )
    facts = event.facts
    state = target(before.verification, event.type, pending=bool(event.standing.pending))
    changes = {
        "verification": state,
        "last_action": event.type,
        **_CHANGES[type(facts)](before, facts),
        "version": event.version,
    }
    return _with(before, changes, event.standing, event.at)


def seen(snapshot: Snapshot, standing: Standing, now: datetime) -> Snapshot:
    """`snapshot` with what checks and effects have come to, and what to do at the time `now`."""
    return _with(snapshot, {}, standing, now)


def _with(before: Snapshot, changes: Changes, standing: Standing, now: datetime) -> Snapshot:
    spending = standing.spending
    budget: Budget = changes.get("budget", before.budget)
    spent = {
        "checks": spending.checks,
        "checks_limit": spending.limit,
        "answered": spending.answered,
    }
    changed = before.model_copy(
        update={
            **changes,
            "attempt": spending.checks,
            "attempts_left": spending.left,
            "pending_effects": standing.pending,
            "budget": budget.model_copy(update=spent),
        }
    )
    return changed.model_copy(update={"next_action": next_action(changed, now)})


def _leased(before: Snapshot, facts: MailboxLeased) -> Changes:
    return {
        "mailbox": MailboxState.LEASED,
        "recipient": facts.recipient,
        "lease_expires_at": facts.lease_expires_at,
        "signal_id": None,
        "budget": _counted(before, "mailboxes"),
    }


def _requested(before: Snapshot, _: Facts) -> Changes:
    return {"budget": _counted(before, "requests")}


def _wait_started(_: Snapshot, facts: WaitStarted) -> Changes:
    return {"signal_id": facts.signal_id}


def _received(before: Snapshot, facts: MessageReceived) -> Changes:
    return {
        "accepted_message_id": facts.message_id,
        "signal_id": facts.signal_id or before.signal_id,
    }


def _rejected(before: Snapshot, _: CodeRejected) -> Changes:
    accepted = before.accepted_message_id
    return {
        "spent": (*before.spent, *((accepted,) if accepted else ())),
        "accepted_message_id": None,
        "signal_id": None,
    }


def _verified(_: Snapshot, __: CodeVerified) -> Changes:
    return {}


def _expired(_: Snapshot, __: LeaseExpired) -> Changes:
    return {"mailbox": MailboxState.EXPIRED}


def _decided(before: Snapshot, facts: DecisionConfirmed) -> Changes:
    known = before.context
    return {
        "last_action": before.last_action,
        "context": known.model_copy(
            update={
                "prompt_version": facts.prompt_version or known.prompt_version,
                "parameters": {**known.parameters, **facts.parameters},
                "decisions": {**known.decisions, **facts.decisions},
            }
        ),
    }


def _counted(before: Snapshot, what: str) -> Any:
    return before.budget.model_copy(update={what: getattr(before.budget, what) + 1})


_CHANGES: Mapping[type[Facts], Callable[[Snapshot, Any], Changes]] = MappingProxyType(
    {
        MailboxLeased: _leased,
        VerificationRequested: _requested,
        WaitStarted: _wait_started,
        MessageReceived: _received,
        CodeRejected: _rejected,
        ResendRequested: _requested,
        CodeVerified: _verified,
        LeaseExpired: _expired,
        DecisionConfirmed: _decided,
    }
)
