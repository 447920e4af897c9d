"""What to do next: a pure function of the snapshot and the time."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_agentmail.runs.events import EventType
from pytest_agentmail.runs.snapshot import Action, Verification

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pytest_agentmail.runs.snapshot import Snapshot

    Rule = Callable[[Snapshot, datetime], tuple[Action, ...]]

__all__ = ["allowed_actions", "next_action"]


def next_action(snapshot: Snapshot, now: datetime) -> Action:
    """The one thing to do next, at the time `now` (aware)."""
    return allowed_actions(snapshot, now)[0]


def allowed_actions(snapshot: Snapshot, now: datetime) -> tuple[Action, ...]:
    """Everything a model may choose from; the first is `next_action`, and there is always one."""
    return _RULES[snapshot.verification](snapshot, now)


def _leased(snapshot: Snapshot, now: datetime) -> tuple[Action, ...]:
    if snapshot.pending_effects:
        return _unsettled(snapshot)
    if not _may_look(snapshot):
        return (Action.FINISH,)
    if snapshot.lease_expires_at is not None and now > snapshot.lease_expires_at:
        return Action.LEASE_NEW_MAILBOX, Action.FINISH
    return (Action.REQUEST_VERIFICATION,)


def _requested(snapshot: Snapshot, _: datetime) -> tuple[Action, ...]:
    if snapshot.pending_effects:
        return _unsettled(snapshot)
    # Not a question of time: mail that came while nobody looked is found by one more look (A14).
    return (Action.START_WAITING,) if _may_look(snapshot) else (Action.FINISH,)


def _waiting(snapshot: Snapshot, _: datetime) -> tuple[Action, ...]:
    if snapshot.pending_effects:
        return _unsettled(snapshot)
    if not _may_look(snapshot):
        return (Action.FINISH,)
    if snapshot.last_action is EventType.CODE_REJECTED:
        return Action.REQUEST_VERIFICATION, Action.POLL_INBOX
    return (Action.POLL_INBOX,)


def _expired(snapshot: Snapshot, _: datetime) -> tuple[Action, ...]:
    if snapshot.pending_effects or snapshot.attempts_left == 0:
        return (Action.FINISH,)
    return Action.LEASE_NEW_MAILBOX, Action.FINISH


def _unsettled(snapshot: Snapshot) -> tuple[Action, ...]:
    """First ask whether it happened; where nobody can tell, the mail itself is the answer."""
    if not all(effect.unknown for effect in snapshot.pending_effects):
        return (Action.RECONCILE,)
    if _may_look(snapshot):
        return Action.POLL_INBOX, Action.RECONCILE
    return (Action.FINISH,)


def _may_look(snapshot: Snapshot) -> bool:
    return snapshot.budget.answered or snapshot.attempts_left != 0


def _always(action: Action) -> Rule:
    return lambda _snapshot, _now: (action,)


_RULES: Mapping[Verification, Rule] = MappingProxyType(
    {
        Verification.NONE: _always(Action.LEASE_NEW_MAILBOX),
        Verification.LEASED: _leased,
        Verification.REQUESTED: _requested,
        Verification.WAITING: _waiting,
        Verification.RECEIVED: _always(Action.VALIDATE_EVIDENCE),
        Verification.VERIFIED: _always(Action.FINISH),
        Verification.EXPIRED: _expired,
    }
)
