"""The table of the state machine, row by row (A5)."""

from __future__ import annotations

import pytest

from pytest_agentmail.errors import IllegalTransition
from pytest_agentmail.runs.events import EventType
from pytest_agentmail.runs.snapshot import Verification
from pytest_agentmail.runs.transitions import CONDITIONS, allowed_events, target

TABLE = {
    ("none", "mailbox_leased"): "leased",
    ("leased", "verification_requested"): "requested",
    ("leased", "lease_expired"): "expired",
    ("requested", "wait_started"): "waiting",
    ("requested", "message_received"): "received",
    ("requested", "lease_expired"): "expired",
    ("waiting", "message_received"): "received",
    ("waiting", "resend_requested"): "requested",
    ("waiting", "lease_expired"): "expired",
    ("received", "code_rejected"): "waiting",
    ("received", "code_verified"): "verified",
    ("expired", "mailbox_leased"): "leased",
}


@pytest.mark.parametrize("state", Verification)
@pytest.mark.parametrize("event", EventType)
def test_with_nothing_pending(state, event):
    expected = state if event is EventType.DECISION_CONFIRMED else TABLE.get((state, event))
    if expected is None:
        with pytest.raises(IllegalTransition) as refusal:
            target(state, event, pending=False)
        assert (refusal.value.state, refusal.value.event) == (state, event)
        assert refusal.value.allowed == allowed_events(state, pending=False)
    else:
        assert target(state, event, pending=False) == expected


def test_a_pending_request_lets_mail_come_early_and_keeps_further_mailboxes_away():
    changed = {
        (state, event)
        for state in Verification
        for event in EventType
        if (event in allowed_events(state, pending=True))
        != (event in allowed_events(state, pending=False))
    }
    assert changed == {("leased", "message_received"), ("expired", "mailbox_leased")}
    assert target(Verification.LEASED, EventType.MESSAGE_RECEIVED, pending=True) == "received"


def test_the_refusal_names_state_event_and_what_is_allowed():
    with pytest.raises(IllegalTransition) as refusal:
        target(Verification.VERIFIED, EventType.CODE_REJECTED, pending=False)
    assert str(refusal.value) == (
        "'code_rejected' cannot happen in state 'verified'; allowed: decision_confirmed"
    )


def test_every_event_has_its_observable_condition():
    assert set(CONDITIONS) == set(EventType)
