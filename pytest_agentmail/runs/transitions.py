"""What may follow what: the one table of the state machine."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_agentmail.errors import IllegalTransition
from pytest_agentmail.runs.events import EventType
from pytest_agentmail.runs.snapshot import Verification

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CONDITIONS", "TRANSITIONS", "allowed_events", "target"]

_S = Verification
_E = EventType

TRANSITIONS: Mapping[tuple[EventType, Verification], Verification] = MappingProxyType(
    {
        (_E.MAILBOX_LEASED, _S.NONE): _S.LEASED,
        (_E.MAILBOX_LEASED, _S.EXPIRED): _S.LEASED,
        (_E.VERIFICATION_REQUESTED, _S.LEASED): _S.REQUESTED,
        (_E.WAIT_STARTED, _S.REQUESTED): _S.WAITING,
        (_E.MESSAGE_RECEIVED, _S.WAITING): _S.RECEIVED,
        (_E.MESSAGE_RECEIVED, _S.REQUESTED): _S.RECEIVED,
        (_E.MESSAGE_RECEIVED, _S.LEASED): _S.RECEIVED,
        (_E.CODE_REJECTED, _S.RECEIVED): _S.WAITING,
        (_E.RESEND_REQUESTED, _S.WAITING): _S.REQUESTED,
        (_E.CODE_VERIFIED, _S.RECEIVED): _S.VERIFIED,
        (_E.LEASE_EXPIRED, _S.LEASED): _S.EXPIRED,
        (_E.LEASE_EXPIRED, _S.REQUESTED): _S.EXPIRED,
        (_E.LEASE_EXPIRED, _S.WAITING): _S.EXPIRED,
        **{(_E.DECISION_CONFIRMED, state): state for state in _S},
    }
)

# Two rows hold only as long as an effect is, or is not, pending: mail may come before a request
# is known to have been accepted; and while it is open whether a mail went out, no further
# mailbox may lead to another one.
GUARDS: Mapping[tuple[EventType, Verification], Callable[[bool], bool]] = MappingProxyType(
    {
        (_E.MESSAGE_RECEIVED, _S.LEASED): lambda pending: pending,
        (_E.MAILBOX_LEASED, _S.EXPIRED): lambda pending: not pending,
    }
)

CONDITIONS: Mapping[EventType, str] = MappingProxyType(
    {
        _E.MAILBOX_LEASED: "a lease exists",
        _E.VERIFICATION_REQUESTED: "the app accepted the request",
        _E.WAIT_STARTED: "a signal exists",
        _E.MESSAGE_RECEIVED: "a message matches run, recipient and kind",
        _E.CODE_REJECTED: "the app refused the code",
        _E.RESEND_REQUESTED: "a new mail was asked for",
        _E.CODE_VERIFIED: "the app accepted the code",
        _E.LEASE_EXPIRED: "the time passed or the checks are used up",
        _E.DECISION_CONFIRMED: "a decision was confirmed",
    }
)
"""The condition of each event that can be seen from outside; why it happened, if nobody says."""


def target(state: Verification, event: EventType, *, pending: bool) -> Verification:
    """The state that `event` leads to; `pending` tells whether an effect is.

    Raises:
        IllegalTransition: Naming the state, the event and what is allowed.
    """
    if not _possible(state, event, pending=pending):
        raise IllegalTransition(state.value, event.value, allowed_events(state, pending=pending))
    return TRANSITIONS[event, state]


def allowed_events(state: Verification, *, pending: bool) -> tuple[EventType, ...]:
    """The events that can happen in `state`, in alphabetical order."""
    return tuple(e for e in sorted(EventType) if _possible(state, e, pending=pending))


def _possible(state: Verification, event: EventType, *, pending: bool) -> bool:
    guard = GUARDS.get((event, state))
    return (event, state) in TRANSITIONS and (guard is None or guard(pending))
