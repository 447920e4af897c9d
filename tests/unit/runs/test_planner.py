"""The one thing to do next (A1, A6, A10, A14)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pytest_agentmail.runs.events import PendingEffect
from pytest_agentmail.runs.planner import allowed_actions, next_action
from pytest_agentmail.runs.snapshot import Budget, Snapshot, Verification

START = datetime(2026, 10, 21, 15, tzinfo=UTC)
IN_TIME, LATE = START, START + timedelta(hours=2)
PENDING = (PendingEffect(name="send", step="0"),)
UNKNOWN = (PendingEffect(name="send", step="0", unknown=True),)


def snapshot(state, left=3, **more):
    return Snapshot(
        run_id="run-1",
        verification=state,
        attempts_left=left,
        lease_expires_at=START + timedelta(hours=1),
        **more,
    )


@pytest.mark.parametrize(
    ("state", "more", "now", "actions"),
    [
        ("none", {}, IN_TIME, "lease_new_mailbox"),
        ("leased", {}, IN_TIME, "request_verification"),
        ("leased", {}, LATE, "lease_new_mailbox finish"),
        ("leased", {"left": 0}, IN_TIME, "finish"),
        ("leased", {"left": 0}, LATE, "finish"),
        ("leased", {"left": None}, IN_TIME, "request_verification"),
        ("leased", {"pending_effects": PENDING}, LATE, "reconcile"),
        ("leased", {"pending_effects": UNKNOWN}, IN_TIME, "poll_inbox reconcile"),
        ("leased", {"pending_effects": UNKNOWN, "left": 0}, IN_TIME, "finish"),
        ("requested", {}, IN_TIME, "start_waiting"),
        ("requested", {}, LATE, "start_waiting"),
        ("requested", {"left": 0}, IN_TIME, "finish"),
        ("requested", {"pending_effects": PENDING}, IN_TIME, "reconcile"),
        ("waiting", {}, IN_TIME, "poll_inbox"),
        ("waiting", {}, LATE, "poll_inbox"),
        ("waiting", {"left": 0}, IN_TIME, "finish"),
        ("waiting", {"left": 0, "budget": Budget(answered=True)}, IN_TIME, "poll_inbox"),
        ("waiting", {"last_action": "code_rejected"}, IN_TIME, "request_verification poll_inbox"),
        ("waiting", {"pending_effects": PENDING}, IN_TIME, "reconcile"),
        ("received", {}, LATE, "validate_evidence"),
        ("received", {"left": 0, "pending_effects": PENDING}, IN_TIME, "validate_evidence"),
        ("verified", {}, LATE, "finish"),
        ("expired", {}, LATE, "lease_new_mailbox finish"),
        ("expired", {"left": 0}, LATE, "finish"),
        ("expired", {"pending_effects": UNKNOWN}, LATE, "finish"),
    ],
)
def test_each_row(state, more, now, actions):
    standing = snapshot(state, **more)
    assert " ".join(allowed_actions(standing, now)) == actions
    assert next_action(standing, now) == actions.split()[0]


@pytest.mark.parametrize("state", Verification)
@pytest.mark.parametrize("pending", [(), PENDING, UNKNOWN])
def test_no_attempts_left_means_no_polling(state, pending):
    actions = allowed_actions(snapshot(state, left=0, pending_effects=pending), IN_TIME)
    assert "poll_inbox" not in actions
