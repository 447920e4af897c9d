"""The figures, and what they say (A11, A12)."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

from pytest_agentmail.errors import StaleVersion
from pytest_agentmail.runs.metrics import Metrics, total


def checks(run, *seconds):
    return [SimpleNamespace(at=run.clock.now() + timedelta(seconds=s)) for s in seconds]


def test_the_figures_of_a_run(run):
    ledger = run.upto("waiting")
    asked = checks(run, 1, 2)
    run.clock.advance(45)
    ledger = run.live()
    asked += checks(run, 1)
    ledger.append("message_received", message_id="m-1")
    asked += checks(run, 2)
    run.live()
    ledger = run.live()
    ledger.append("code_verified")
    run.live()
    metrics = ledger.metrics(asked, discarded=3)
    assert (metrics.runs, metrics.resumes, metrics.resumes_succeeded) == (1, 4, 3)
    assert metrics.resume_success == 0.75
    assert (metrics.queries, metrics.queries_per_run) == (4, 4)
    assert metrics.waits == (timedelta(seconds=45),)
    assert str(metrics) == (
        "1 runs, 4 inbox queries, 3 of 4 resumes succeeded, 0 transitions refused as stale, "
        "mail came after 45 s (at most 45 s), 3 messages of other runs discarded"
    )


def test_queries_that_grow_with_each_restart(run):
    """A12: the snapshot does not say enough."""
    run.upto("leased")
    asked = checks(run, 0)
    for life in (2, 3):
        run.clock.advance(10)
        run.live().append("decision_confirmed", decisions={"life": life})
        asked += checks(run, *range(life))
    reading = run.live().metrics(asked).reading()
    assert reading == (
        (
            "each restart asks the inbox more often (life 1: 1, life 2: 2, life 3: 3): "
            "the snapshot does not say enough about the next action"
        ),
    )


def test_stale_refusals_that_grow(run):
    """A12: workers are not coordinated, or leases are too long."""
    ledger = run.upto("waiting")
    for _ in range(3):
        try:
            ledger.append("code_verified", 1)
        except StaleVersion:
            continue
    assert ledger.metrics().stale_share == 0.5
    assert str(ledger.metrics()).endswith(
        "\n50% of the transitions were refused as stale: workers are not coordinated, or leases are too long"
    )


def test_the_figures_of_a_session(run):
    ledger = run.upto("received")
    ledger.append("code_rejected")
    ledger.append("resend_requested")
    run.clock.advance(5)
    ledger.append("message_received", message_id="m-2")
    one = ledger.metrics(checks(run, 0))
    both = total([one, one])
    assert (both.runs, both.queries, both.queries_per_run, both.transitions) == (2, 2, 1, 14)
    assert both.waits == (timedelta(0), timedelta(seconds=5)) * 2
    assert one.reading() == ()


def test_nothing_happened_yet():
    assert (Metrics().resume_success, Metrics().queries_per_run, Metrics().stale_share) == (
        None,
        None,
        0.0,
    )
    assert str(Metrics()) == (
        "0 runs, 0 inbox queries, 0 transitions refused as stale, 0 messages of other runs discarded"
    )
