"""What the checks of a run have come to, from its signals in the same store (C4; I4)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pytest_agentmail.errors import StoreCorrupt
from pytest_agentmail.runs.events import Spending
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.runs.spending import spending_in
from pytest_agentmail.signals.signal import Query, Signal
from pytest_agentmail.stores.protocol import SignalRecord


def signal(run, signal_id="s1", checks=0, most=10, **more):
    now = run.clock.now()
    return Signal(
        signal_id=signal_id,
        run_id="run-1",
        kind="verification_email",
        recipient="ada@mail.test",
        expected_subject="Confirm",
        criteria="subject contains 'Confirm'",
        created_at=now,
        expires_at=now + timedelta(seconds=120),
        max_checks=most,
        history=(Query(at=now, reason="first_check"),) * checks,
        **more,
    )


def keep(run, signal):
    body = signal.model_dump_json()
    run.store.add(SignalRecord("run-1", signal.signal_id, signal.signal_id, 1, None, body))


def ledger_of(run):
    return Ledger.open(run.store, run_id="run-1", clock=run.clock)


def test_checks_are_summed_and_the_latest_signal_says_what_is_left(run):
    keep(run, signal(run, "s1", checks=4, status="expired"))
    keep(run, signal(run, "s2", checks=1, most=3))
    snapshot = ledger_of(run).snapshot
    assert (snapshot.attempt, snapshot.attempts_left) == (5, 2)


def test_without_a_signal_there_is_no_limit(run):
    assert ledger_of(run).snapshot.attempts_left is None


def test_an_answer_that_was_not_recorded_can_be_had_for_nothing(run):
    """A life that died between the last check and its record loses no evidence."""
    ledger = run.upto("waiting", ledger_of(run))
    keep(run, signal(run, checks=10, status="expired", cause="checks"))
    assert (ledger.snapshot.attempts_left, ledger.snapshot.next_action) == (0, "poll_inbox")


def test_a_signal_that_cannot_be_read_is_no_first_run(run):
    run.store.add(SignalRecord("run-1", "s1", "s1", 1, None, "{}"))
    with pytest.raises(StoreCorrupt):
        ledger_of(run)


def test_a_store_without_signals_knows_of_no_checks(run):
    assert spending_in(object())(run.live().snapshot) == Spending()
