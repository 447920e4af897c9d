"""The ledger of one life (A1, A2, A7, A8, A9, A14, C4, C11, C19; I5, I6, I8, I9)."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest

from pytest_agentmail.errors import (
    BudgetExceeded,
    EvidenceConflict,
    IllegalTransition,
    LifeSuperseded,
    SettingsError,
    StaleVersion,
    StoreCorrupt,
)
from pytest_agentmail.runs.events import Spending
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.runs.reader import RunReader
from pytest_agentmail.stores.memory import MemoryStore


def test_the_snapshot_answers_the_six_questions(run):
    """A1, A2: from its JSON alone."""
    ledger = run.upto("waiting")
    run.spending = Spending(checks=2, limit=10)
    assert json.loads(ledger.snapshot.model_dump_json()) == {
        "run_id": "run-1",
        "mailbox": "leased",
        "recipient": "ada@mail.test",
        "verification": "waiting",
        "attempt": 2,
        "attempts_left": 8,
        "last_action": "wait_started",
        "next_action": "poll_inbox",
        "lease_expires_at": "2026-10-21T16:00:00Z",
        "signal_id": "s1",
        "accepted_message_id": None,
        "spent": [],
        "pending_effects": [],
        "version": 3,
        "budget": {
            "checks": 2,
            "checks_limit": 10,
            "answered": False,
            "mailboxes": 1,
            "requests": 1,
        },
        "context": {"prompt_version": None, "parameters": {}, "decisions": {}},
    }


def test_a_restart_is_no_new_intent(run):
    """A7, C4: the next life stands where the last one stood, and has spent what it had spent."""
    before = run.upto("waiting").snapshot
    assert run.live().snapshot == before
    assert run.store.load("run-1").life == 2


def test_of_two_workers_that_were_woken_at_once_one_confirms(run):
    """A8."""
    first = run.upto("waiting")
    second = Ledger(run.store, "run-1", run.clock, life=first.life)
    first.append("message_received", 3, message_id="m-93")
    with pytest.raises(StaleVersion) as refusal:
        second.append("message_received", 3, message_id="m-94")
    assert (refusal.value.expected, refusal.value.actual) == (3, 4)
    assert first.snapshot.accepted_message_id == "m-93"
    assert first.metrics().stale_refusals == 1


def test_a_version_that_was_never_there_is_stale(run):
    ledger = run.upto("waiting")
    with pytest.raises(StaleVersion):
        ledger.append("code_verified", 9)
    assert ledger.version == 3


def test_confirming_again_changes_nothing(run):
    """A9."""
    ledger = run.upto("waiting")
    first = ledger.confirm("m-1", expected_version=3)
    assert ledger.confirm("m-1", expected_version=3) == first
    assert ledger.confirm("m-1") == first
    assert ledger.version == 4


def test_confirming_another_message_is_a_conflict(run):
    ledger = run.upto("received")
    with pytest.raises(EvidenceConflict) as conflict:
        ledger.confirm("m-2")
    assert str(conflict.value) == (
        "run 'run-1' has evidence already, message 'm-1'; 'm-2' cannot take its place"
    )


def test_a_message_whose_code_was_refused_is_spent(run):
    ledger = run.upto("received")
    snapshot = ledger.append("code_rejected", reason="it was refused")
    assert (snapshot.spent, snapshot.accepted_message_id) == (("m-1",), None)
    with pytest.raises(EvidenceConflict) as conflict:
        ledger.confirm("m-1")
    assert str(conflict.value) == (
        "message 'm-1' is spent: the app refused its code; wait for another message"
    )


class Racing(MemoryStore):
    """Another worker is faster, once."""

    race = None

    def commit(self, run_id, write):
        race, self.race = self.race, None
        if race:
            race()
        super().commit(run_id, write)


@pytest.mark.parametrize(("other", "wins"), [("m-1", True), ("m-2", False)])
def test_confirming_what_another_worker_confirms_at_the_same_time(run, other, wins):
    """A9: the same message is the same request; another one is not."""
    run.store = Racing()
    ledger = run.upto("waiting")
    rival = Ledger(run.store, "run-1", run.clock, life=ledger.life)
    run.store.race = lambda: rival.confirm(other)
    if wins:
        assert ledger.confirm("m-1").version == 4
    else:
        with pytest.raises(EvidenceConflict):
            ledger.confirm("m-1")
    assert ledger.version == 4


def test_a_race_that_decides_nothing_stays_a_stale_version(run):
    run.store = Racing()
    ledger = run.upto("waiting")
    rival = Ledger(run.store, "run-1", run.clock, life=ledger.life)
    run.store.race = lambda: rival.append("decision_confirmed", decisions={"plan": "free"})
    with pytest.raises(StaleVersion):
        ledger.confirm("m-1")


def test_a_version_that_comes_while_it_is_waited_for_is_stale_as_well(run):
    run.store = Racing()
    ledger = run.upto("waiting")
    rival = Ledger(run.store, "run-1", run.clock, life=ledger.life)
    run.store.race = lambda: rival.append("decision_confirmed", decisions={"plan": "free"})
    with pytest.raises(StaleVersion) as refusal:
        ledger.append("message_received", 4, message_id="m-1")
    assert (refusal.value.expected, refusal.value.actual) == (4, 3)
    assert ledger.version == 4


def test_a_superseded_life_writes_nothing(run):
    """I8."""
    old = run.upto("waiting")
    new = run.live()
    for write in (
        lambda: old.append("message_received", message_id="m-1"),
        lambda: old.confirm("m-1"),
        lambda: old.effect("send").begin(),
    ):
        with pytest.raises(LifeSuperseded) as refusal:
            write()
    assert str(refusal.value) == (
        "life 1 of run 'run-1' was superseded by life 2; it may not write any more"
    )
    assert (new.version, new.effects()) == (3, ())


def test_reading_supersedes_nobody(run):
    ledger = run.upto("waiting")
    reader = RunReader.open(run.store, run_id="run-1", clock=run.clock)
    assert reader.version == 3
    assert [event.type for event in reader.events(after=2)] == ["wait_started"]
    ledger.append("message_received", message_id="m-1")


def test_an_illegal_event_leaves_no_trace(run):
    ledger = run.upto("leased")
    with pytest.raises(IllegalTransition):
        ledger.append("code_verified")
    assert ledger.version == 1


class TestRecording:
    """What the answer to a check stands for."""

    def test_waiting_starts_the_wait_once(self, run, answer):
        ledger = run.upto("requested")
        started = ledger.record(answer("waiting"))
        assert (started.verification, started.signal_id) == ("waiting", "s1")
        assert ledger.record(answer("waiting")) == started
        assert ledger.record(answer("provider_error", final=False)) == started

    def test_found_is_the_evidence_once(self, run, answer):
        """A14: also when the mail came while nobody was there."""
        run.upto("waiting")
        ledger = run.live()
        found = ledger.record(answer("found", message_id="m-1"))
        assert (found.verification, found.accepted_message_id) == ("received", "m-1")
        assert ledger.record(answer("found", message_id="m-1")) == found
        assert ledger.events()[-1].data["sha256"] == "0" * 64
        assert ledger.events()[-1].data["received_at"] == "2026-10-21T15:00:00Z"

    def test_found_again_after_its_code_was_refused_changes_nothing(self, run, answer):
        ledger = run.upto("received")
        rejected = ledger.append("code_rejected")
        assert ledger.record(answer("found", message_id="m-1")) == rejected

    @pytest.mark.parametrize(
        ("status", "cause", "kept"),
        [
            ("expired", "checks", "checks"),
            ("expired", None, "deadline"),
            ("provider_error", "deadline", "provider_error"),
        ],
    )
    def test_an_end_is_kept_with_its_cause_once(self, run, answer, status, cause, kept):
        """I3: a provider's failure is not kept as a deadline."""
        ledger = run.upto("waiting")
        ended = ledger.record(answer(status, final=True, cause=cause))
        assert (ended.verification, ended.mailbox) == ("expired", "expired")
        assert ledger.events()[-1].data["cause"] == kept
        assert ledger.record(answer(status, final=True, cause=cause)) == ended

    def test_the_end_of_another_signal_is_not_the_end_of_the_run(self, run, answer):
        ledger = run.upto("waiting")
        assert ledger.record(answer("expired", signal_id="s0")).verification == "waiting"

    def test_an_earlier_mailbox_has_no_more_say(self, run, answer):
        ledger = run.upto("waiting")
        ledger.record(answer("expired"))
        leased = run.lease(ledger, "eve@mail.test")
        assert ledger.record(answer("expired")) == leased


def test_what_a_provider_calls_things_decides_nothing(run):
    """A4."""
    ledger = run.live()
    until = run.clock.now() + timedelta(hours=1)
    ledger.append(
        "mailbox_leased",
        recipient="a@mail.test",
        lease_expires_at=until,
        provider={"temp_mailid": "gone?"},
    )
    assert ledger.events()[0].data["provider"] == {"temp_mailid": "gone?"}
    assert "temp_mailid" not in ledger.snapshot.model_dump_json()


def test_decisions_are_remembered_and_no_action(run):
    """A13."""
    ledger = run.upto("waiting")
    ledger.append("decision_confirmed", prompt_version="v3", parameters={"temperature": 0})
    snapshot = ledger.append("decision_confirmed", decisions={"plan": "free"})
    assert snapshot.context.model_dump() == {
        "prompt_version": "v3",
        "parameters": {"temperature": 0},
        "decisions": {"plan": "free"},
    }
    assert (snapshot.last_action, snapshot.next_action) == ("wait_started", "poll_inbox")


def test_a_lease_that_was_over_before_it_was_used_expires_on_leasing_again(run):
    ledger = run.upto("leased")
    run.clock.advance(3601)
    assert ledger.allowed_actions()[0] == "lease_new_mailbox"
    again = run.lease(ledger, "eve@mail.test")
    assert (again.version, again.recipient, again.budget.mailboxes) == (3, "eve@mail.test", 2)
    assert [event.type for event in ledger.events(after=1)] == ["lease_expired", "mailbox_leased"]


def test_a_lease_that_runs_cannot_be_exchanged(run):
    ledger = run.upto("leased")
    with pytest.raises(IllegalTransition):
        run.lease(ledger, "eve@mail.test")


class TestReplay:
    """C7, I6."""

    def test_every_version_is_the_snapshot_that_was_written(self, run):
        ledger = run.live(compact_after=3)
        seen = [run.lease(ledger)]
        for number, (event, data) in enumerate(
            [
                ("verification_requested", {}),
                ("wait_started", {"signal_id": "s1"}),
                ("message_received", {"message_id": "m-1"}),
                ("code_rejected", {}),
                ("resend_requested", {}),
                ("wait_started", {"signal_id": "s2"}),
            ]
        ):
            run.spending = Spending(checks=number, limit=10)
            run.clock.advance(1)
            ledger.effect("note", step=number).begin()
            seen.append(ledger.append(event, **data))
        assert [ledger.replay(upto=version) for version in range(1, 8)] == seen
        assert ledger.replay(upto=0).version == 0
        assert ledger.replay() == ledger.snapshot
        assert len(ledger.archived_events()) == 6
        assert [event.version for event in ledger.events()] == [7]

    def test_there_is_no_version_ahead(self, run):
        ledger = run.upto("waiting")
        with pytest.raises(SettingsError, match=r"run 'run-1' has no version 4; allowed: 0 to 3"):
            ledger.replay(upto=4)

    def test_an_unknown_run_has_version_0(self, run):
        reader = RunReader.open(run.store, run_id="nobody", clock=run.clock)
        assert (reader.version, reader.replay().version, reader.events()) == (0, 0, ())
        assert str(reader.explain()) == "run nobody: nothing happened yet"
        assert reader.metrics().resumes == 0

    def test_explaining_reads_past_a_compaction(self, run):
        ledger = run.live(compact_after=2)
        run.upto("verified", ledger)
        assert [t.version for t in ledger.explain().transitions] == [1, 2, 3, 4, 5]


def test_every_transition_is_explained(run):
    """A15."""
    run.upto("waiting")
    run.clock.advance(5)
    ledger = run.live()
    ledger.append("message_received", message_id="m-1", why="found while resuming")
    ledger.append("decision_confirmed", decisions={"plan": "free"})
    assert str(ledger.explain()) == (
        "run run-1:\n"
        "   1  2026-10-21 15:00:00.000000Z  life 1  none → leased  mailbox_leased: a lease exists"
        "  (recipient=ada@mail.test lease_expires_at=2026-10-21T16:00:00Z)\n"
        "   2  2026-10-21 15:00:00.000000Z  life 1  leased → requested  verification_requested: the app accepted the request\n"
        "   3  2026-10-21 15:00:00.000000Z  life 1  requested → waiting  wait_started: a signal exists  (signal_id=s1)\n"
        "   4  2026-10-21 15:00:05.000000Z  life 2  waiting → received  message_received: found while resuming  (message_id=m-1)\n"
        "   5  2026-10-21 15:00:05.000000Z  life 2  received  decision_confirmed: a decision was confirmed  (decisions={'plan': 'free'})"
    )


class TestResuming:
    def test_below_its_minimum_a_run_is_reported_not_resumed(self, run):
        """C11: the budget is read first, and the life that runs is not disturbed."""
        ledger = run.upto("waiting")
        run.spending = Spending(checks=8, limit=10)
        with pytest.raises(BudgetExceeded) as refusal:
            run.live(resume_minimum=3)
        assert str(refusal.value) == (
            "run 'run-1' is not resumed: 2 checks are left, and it takes 3; it stands at waiting "
            "after 8 of 10 checks, last action wait_started, next would be poll_inbox"
        )
        ledger.append("message_received", message_id="m-1")
        run.live(resume_minimum=3)

    def test_with_enough_left_it_is_resumed_and_checked(self, run):
        """C12, each check by name."""
        ledger = run.upto("waiting")
        ledger.append("decision_confirmed", decisions={"plan": "free"})
        assert ledger.recovery is None
        again = run.live(resume_minimum=3)
        assert again.recovery.passed
        assert str(again.recovery) == (
            "resuming run run-1:\n"
            "passed  context is whole: 1 decisions and parameters\n"
            "passed  steps are consistent: version 4 follows from the events\n"
            "passed  nothing is pending: no effect is pending\n"
            "passed  the budget includes the past: 0 checks are counted\n"
            "passed  times are absolute: every time is absolute and past"
        )

    def test_what_is_wrong_is_named(self, run):
        run.spending = Spending(checks=4, limit=10)
        ledger = run.upto("leased")
        ledger.effect("send").begin()
        run.spending = Spending(checks=1, limit=10)
        run.clock.advance(-60)
        assert [f"{check}" for check in run.live().recovery.failed] == [
            "FAILED  nothing is pending: to reconcile first: send/0",
            "FAILED  the budget includes the past: 1 checks are counted, but 4 had been made at version 1",
            "FAILED  times are absolute: event 1 is dated 2026-10-21 15:00:00+00:00, and it is 2026-10-21 14:59:00+00:00",
        ]

    def test_a_snapshot_that_does_not_follow_is_not_resumed(self, run):
        run.upto("waiting")
        kept = run.store._kept["run-1"]
        forged = kept.run.snapshot.replace('"signal_id":"s1"', '"signal_id":"s9"')
        object.__setattr__(kept.run, "snapshot", forged)
        with pytest.raises(StoreCorrupt) as corrupt:
            run.live()
        assert str(corrupt.value) == (
            "the snapshot of run 'run-1' at version 3 does not follow from its events: "
            "signal_id is 's9', not 's1'"
        )


@pytest.mark.parametrize("torn", ["", "{", '{"run_id": 1}'])
def test_what_cannot_be_read_is_no_first_run(run, torn):
    run.upto("waiting")
    object.__setattr__(run.store._kept["run-1"].run, "snapshot", torn)
    with pytest.raises(StoreCorrupt, match="what is stored of run 'run-1' cannot be read"):
        run.live()


def test_a_retired_run_is_not_begun_again(run):
    run.upto("verified")
    run.store.retire("run-1", 5, "/archive/run-1")
    with pytest.raises(SettingsError, match="run 'run-1' was retired to /archive/run-1"):
        run.live()


@pytest.mark.parametrize("run_id", ["", "a\nb", "x" * 301])
def test_a_run_id_is_checked(run, run_id):
    with pytest.raises(SettingsError, match="cannot be a run_id; allowed: 1 to 300 printable"):
        Ledger.open(run.store, run_id=run_id)


def test_it_works_without_pytest_and_with_the_real_clock(tmp_path):
    ledger = Ledger.open(f"sqlite:///{tmp_path}/runs.db", run_id="checkout-1842")
    until = datetime.fromisoformat("2099-01-01T00:00:00+00:00")
    assert (
        ledger.append("mailbox_leased", recipient="a@b.test", lease_expires_at=until).version == 1
    )
    assert ledger.snapshot.attempts_left is None
    ledger.store.close()


def test_a_superseded_compaction_is_left_to_the_winner(run):
    """Two writers compact at once: one does, both append."""
    run.store = MemoryStore()
    ledger = run.live(compact_after=1)
    run.lease(ledger)
    row = run.store.load("run-1")
    run.store.compact("run-1", ledger.life, 1, row.snapshot)
    ledger._compact(row)
    assert ledger.append("verification_requested").version == 2
