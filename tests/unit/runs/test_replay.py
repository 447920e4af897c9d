"""The fold, and the checks of a resumed run, on their own (C7, C12; I6)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pytest_agentmail.errors import IllegalTransition
from pytest_agentmail.runs.events import Standing, new_event
from pytest_agentmail.runs.recovery import check_recovery
from pytest_agentmail.runs.replay import fold, replay
from pytest_agentmail.runs.snapshot import Snapshot

START = datetime(2026, 10, 21, 15, tzinfo=UTC)


def event(version, type="decision_confirmed", run_id="run-1", **data):
    data = data or {"decisions": {"n": version}}
    return new_event(type, data, run_id=run_id, version=version, at=START, life=1)


@pytest.mark.parametrize("other", [event(2), event(1, run_id="run-2")], ids=["gap", "run"])
def test_events_follow_one_another(other):
    with pytest.raises(
        ValueError, match=r"event \d of run 'run-\d' cannot follow version 0 of run 'run-1'"
    ):
        fold(Snapshot(run_id="run-1"), other)


def test_an_illegal_log_is_not_replayed():
    with pytest.raises(IllegalTransition):
        replay(Snapshot(run_id="run-1"), [event(1), event(2, "wait_started", signal_id="s1")])


def test_what_was_lost_is_named():
    """C12: the snapshot behind its events, and a decision that is not in it."""
    events = [event(1), event(2)]
    written = Snapshot(run_id="run-1", version=1)
    failed = check_recovery(written, events, Standing(), START).failed
    assert [str(check) for check in failed] == [
        "FAILED  context is whole: lost: n",
        "FAILED  steps are consistent: the snapshot is at version 1, the events at 2",
    ]
