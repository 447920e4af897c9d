"""The state table of a signal (B4, B8, B13): every row, and the bookkeeping of checks (B11)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pytest_agentmail.signals.backoff import Backoff
from pytest_agentmail.signals.signal import Evidence, Outcome, Signal, SignalStatus
from pytest_agentmail.signals.transitions import (
    Answer,
    Failed,
    Matched,
    Nothing,
    abandon,
    reserve,
    settle,
)

NOW = datetime(2026, 10, 21, tzinfo=UTC)
STEADY = Backoff(first=1, factor=2, cap=10, jitter=0)
EVIDENCE = Evidence(
    message_id="ada-1", header_message_id=None, sha256="a", fingerprint="f", seq=1,
    recipient="ada@agentmail.example", received_at=NOW, visible_at=NOW, matched="subject is anything",
)  # fmt: skip


def signal(checks=10):
    return Signal(
        signal_id="sig-one", run_id="run-one", kind="verification", expected_subject="x", criteria="x",
        recipient="ada@agentmail.example", created_at=NOW, max_checks=checks,
        expires_at=NOW + timedelta(seconds=120),
    )  # fmt: skip


def after(seconds):
    return NOW + timedelta(seconds=seconds)


def asked(seen, *, checks=10, at=0.0):
    paid = reserve(signal(checks), after(at), "first_check")
    return settle(paid, 0, seen, after(at), STEADY)


@pytest.mark.parametrize(
    ("seen", "left", "answer"),
    [
        (Matched(EVIDENCE), True, Answer(SignalStatus.FOUND, final=True)),
        (Matched(EVIDENCE), False, Answer(SignalStatus.FOUND, final=True)),
        (Nothing(), True, Answer(SignalStatus.WAITING, final=False)),
        (Nothing(), False, Answer(SignalStatus.EXPIRED, final=True)),
        (Failed("503"), True, Answer(SignalStatus.PROVIDER_ERROR, final=False)),
        (Failed("503"), False, Answer(SignalStatus.PROVIDER_ERROR, final=True)),
    ],
)
@pytest.mark.parametrize("spent_by", ["deadline", "checks"])
def test_the_table(seen, left, answer, spent_by):
    used_up = {"deadline": {"at": 120.0}, "checks": {"checks": 1}}[spent_by]

    changed, given = asked(seen, **({} if left else used_up))

    assert given == answer
    assert changed.final is answer.final
    assert changed.status is (answer.status if answer.final else SignalStatus.WAITING)
    ended_without = answer.final and answer.status is not SignalStatus.FOUND
    assert changed.cause == (spent_by if ended_without else None)


@pytest.mark.parametrize("kept", [SignalStatus.FOUND, SignalStatus.EXPIRED])
def test_a_final_signal_stays_as_it_is(kept):
    ended = reserve(signal(), NOW, "scheduled").model_copy(update={"status": kept})
    assert settle(ended, 0, Matched(EVIDENCE), NOW, STEADY) == (ended, Answer(kept, final=True))


@pytest.mark.parametrize(
    ("seen", "outcome", "matches", "code"),
    [
        (Matched(EVIDENCE, ("ada-2", "ada-3")), Outcome.FOUND, 3, None),
        (Nothing(), Outcome.CHECKED, 0, None),
        (Failed("503"), Outcome.ERROR, 0, "503"),
    ],
)
def test_a_check_records_exactly_one_thing(seen, outcome, matches, code):
    """B8, B10."""
    changed, _ = asked(seen, at=3)
    (query,) = changed.history
    assert (query.at, query.reason) == (after(3), "first_check")
    assert (query.outcome, query.matches, query.code) == (outcome, matches, code)
    assert changed.last_error == code


def test_a_check_is_paid_for_before_it_is_answered():
    """A life that dies in between has paid (C4)."""
    paid = reserve(signal(checks=2), NOW, "first_check")
    assert (paid.checks, paid.checks_left, paid.history[0].outcome) == (1, 1, Outcome.RESERVED)


def test_found_keeps_evidence_and_what_else_matched():
    changed, _ = asked(Matched(EVIDENCE, ("ada-0",)))
    assert changed.evidence == EVIDENCE
    assert changed.message_id == "ada-1"
    assert changed.also_matched == ("ada-0",)
    assert changed.claim == "ada@agentmail.example f"


def test_the_next_check_comes_later_each_time_and_never_after_the_end():
    """B12."""
    current, gaps = signal(), []
    for number in range(6):
        current, _ = settle(reserve(current, NOW, "scheduled"), number, Nothing(), NOW, STEADY)
        gaps.append((current.retry_at - NOW).total_seconds())
    assert gaps == [1, 2, 4, 8, 10, 10]
    late, _ = asked(Nothing(), at=119.5)
    assert late.retry_at == late.expires_at


def test_retry_after_is_obeyed_where_it_is_longer_than_the_pause():
    changed, _ = asked(Failed("429", retry_after=30))
    assert changed.retry_at == changed.resting_until == after(30)
    changed, _ = asked(Failed("429", retry_after=0.2))
    assert (changed.resting_until, changed.retry_at) == (after(0.2), after(1))


@pytest.mark.parametrize(
    ("last", "status"),
    [(Failed("503"), SignalStatus.PROVIDER_ERROR), (Nothing(), SignalStatus.EXPIRED)],
)
def test_what_is_abandoned_ends_by_its_last_answer(last, status):
    changed, _ = asked(last)
    assert abandon(changed, after(120)).status is status
    assert abandon(changed, after(120)).cause == "deadline"
    assert abandon(changed, after(1)).cause == "checks"


@pytest.mark.parametrize(
    "values", [{"first": 0}, {"first": 9, "cap": 3}, {"factor": 0.5}, {"jitter": 2}]
)
def test_a_backoff_has_sensible_numbers(values):
    with pytest.raises(ValueError, match="expected 0 < first <= cap, factor >= 1 and 0 <= jitter"):
        Backoff(**values)


def test_jitter_is_the_runs_own_and_bounded():
    backoffs = [Backoff(first=1, factor=1, cap=1, jitter=0.5, seed=f"run-{n}") for n in range(50)]
    delays = {backoff.delay("verification", 1) for backoff in backoffs}
    assert len(delays) == 50
    assert all(1 <= delay < 1.5 for delay in delays)
    assert backoffs[0].delay("reset", 1) == Backoff(1, 1, 1, 0.5, "run-0").delay("reset", 1)
