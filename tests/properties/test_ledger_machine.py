"""The ledger against a dictionary: whatever is done to it, in whatever order (I4 to I9)."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from pytest_agentmail.errors import (
    AgentMailError,
    EvidenceConflict,
    IllegalTransition,
    LifeSuperseded,
    StaleVersion,
)
from pytest_agentmail.runs.events import EventType, Spending
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.runs.transitions import allowed_events
from pytest_agentmail.stores.memory import MemoryStore
from pytest_agentmail.stores.sqlite import SQLiteStore

START = datetime(2026, 10, 21, 15, tzinfo=UTC)
LIMIT = 8
BODY = "Dear Ada, your code is"
messages = st.sampled_from(["m-1", "m-2", "m-3"])
types = st.sampled_from(sorted(EventType))


class Clock:
    def __init__(self):
        self.time = START

    def now(self):
        return self.time


class LedgerMachine(RuleBasedStateMachine):
    """The model: what was accepted, what was spent, what was begun; and whose turn it is."""

    compact_after = 4

    def __init__(self):
        super().__init__()
        self.clock = Clock()
        self.checks = 0
        self.snapshots = {}
        self.effects = {}
        self.performed = {}
        self.zombies = []
        self.refused = 0

    def make_store(self):
        return MemoryStore()

    def spending(self, _snapshot):
        return Spending(checks=self.checks, limit=LIMIT)

    def live(self):
        return Ledger.open(
            self.store,
            run_id="run-1",
            clock=self.clock,
            spending=self.spending,
            compact_after=self.compact_after,
        )

    @initialize()
    def first_life(self):
        self.store = self.make_store()
        self.ledger = self.live()

    def data_for(self, type, message):
        return {
            "mailbox_leased": {
                "recipient": f"{message}@mail.test",
                "lease_expires_at": self.clock.time + timedelta(minutes=5),
            },
            "wait_started": {"signal_id": f"s-{message}"},
            "message_received": {"message_id": message},
            "decision_confirmed": {"decisions": {message: len(self.snapshots)}},
        }.get(type, {})

    def accept(self, snapshot):
        assert snapshot.version == len(self.snapshots) + 1
        self.snapshots[snapshot.version] = snapshot

    def possible(self, type, before):
        pending = bool(before.pending_effects)
        over = before.verification == "leased" and self.clock.time > before.lease_expires_at
        if type == "mailbox_leased" and over:
            return not pending
        return type in allowed_events(before.verification, pending=pending)

    @rule(type=types, message=messages)
    def append(self, type, message):
        before = self.ledger.snapshot
        possible = self.possible(type, before)
        try:
            after = self.ledger.append(type, **self.data_for(type, message))
        except IllegalTransition:
            assert not possible
            return
        assert possible
        if type == "mailbox_leased" and before.verification == "leased":
            self.accept(self.ledger.replay(upto=before.version + 1))
        self.accept(after)

    @precondition(lambda self: self.snapshots)
    @rule(type=types, message=messages, behind=st.integers(1, 5))
    def stale_append(self, type, message, behind):
        expected = max(0, len(self.snapshots) - behind)
        with pytest.raises(StaleVersion) as refusal:
            self.ledger.append(type, expected, **self.data_for(type, message))
        assert (refusal.value.expected, refusal.value.actual) == (expected, len(self.snapshots))
        self.refused += 1

    @rule(message=messages)
    def confirm_twice(self, message):
        before = self.ledger.snapshot
        try:
            first = self.ledger.confirm(message)
        except EvidenceConflict:
            assert message in before.spent or before.accepted_message_id not in {None, message}
            return
        except IllegalTransition:
            assert before.verification not in {"waiting", "requested"}
            return
        if before.accepted_message_id != message:
            self.accept(first)
        assert self.ledger.confirm(message) == first

    @rule(seconds=st.integers(1, 400))
    def advance_time(self, seconds):
        self.clock.time += timedelta(seconds=seconds)

    @precondition(lambda self: self.checks < LIMIT)
    @rule()
    def check_the_inbox(self):
        self.checks += 1

    @rule(name=st.sampled_from(["send", "pay"]))
    def begin(self, name):
        effect = self.ledger.effect(name)
        known = self.effects.get(effect.key)
        assert effect.state == known
        if known in {"pending", "success"}:
            with pytest.raises(StaleVersion):
                effect.begin()
        else:
            effect.begin()
            self.effects[effect.key] = "pending"
            self.performed[effect.key] = self.performed.get(effect.key, 0) + 1

    @rule(name=st.sampled_from(["send", "pay"]), happened=st.booleans())
    def settle(self, name, happened):
        effect = self.ledger.effect(name)
        if self.effects.get(effect.key) != "pending":
            return
        if happened:
            effect.succeed([BODY])
        else:
            effect.fail("refused")
        self.effects[effect.key] = "success" if happened else "failed"

    @rule()
    def die_and_come_back(self):
        """Nothing is said when a life dies: it is simply not there any more."""
        self.zombies.append(self.ledger)
        self.ledger = self.live()

    @precondition(lambda self: self.zombies)
    @rule(type=types, message=messages, data=st.data())
    def a_zombie_writes(self, type, message, data):
        zombie = data.draw(st.sampled_from(self.zombies))
        with pytest.raises((LifeSuperseded, IllegalTransition)):
            zombie.append(type, **self.data_for(type, message))
        fresh = zombie.effect("zombie")
        with pytest.raises(LifeSuperseded):
            fresh.begin()

    @precondition(lambda self: len(self.snapshots) > 1)
    @rule(data=st.data())
    def replay_to(self, data):
        version = data.draw(st.sampled_from(sorted(self.snapshots)))
        assert self.ledger.replay(upto=version) == self.snapshots[version]

    @invariant()
    def versions_follow_one_another(self):
        """I5: no event is lost or doubled."""
        archived = [event.version for event in self.ledger.archived_events()]
        versions = [*archived, *(event.version for event in self.ledger.events())]
        assert versions == list(range(1, len(self.snapshots) + 1))
        assert self.ledger.version == len(self.snapshots)

    @invariant()
    def replay_is_the_snapshot(self):
        """I6."""
        assert self.ledger.replay() == self.ledger.snapshot

    @invariant()
    def the_budget_includes_the_past(self):
        """I4."""
        snapshot = self.ledger.snapshot
        assert (snapshot.attempt, snapshot.attempts_left) == (self.checks, LIMIT - self.checks)
        if not snapshot.attempts_left:
            assert "poll_inbox" not in self.ledger.allowed_actions()

    @invariant()
    def effects_are_as_they_were_left(self):
        """I7."""
        kept = {(e.name, e.step): e.state.value for e in self.ledger.effects()}
        assert kept == {key[1:]: state for key, state in self.effects.items()}

    @invariant()
    def one_message_is_evidence_once(self):
        """I1, as far as the ledger knows."""
        snapshot = self.ledger.snapshot
        assert snapshot.accepted_message_id not in snapshot.spent
        assert self.ledger.metrics().stale_refusals == self.refused

    @invariant()
    def no_body_is_shown(self):
        """I9."""
        assert BODY not in repr((self.ledger.snapshot, self.ledger.events()))

    def teardown(self):
        for ledger in [*self.zombies, self.ledger]:
            ledger.store.close()


class SQLiteLedgerMachine(LedgerMachine):
    """The same in a file, which is closed, reopened and torn."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="agentmail-machine-"))

    def make_store(self):
        return SQLiteStore(self.folder / "runs.db")

    @rule()
    def reopen(self):
        self.store.close()
        self.store = self.make_store()
        self.zombies.append(self.ledger)
        self.ledger = self.live()

    @precondition(lambda self: self.snapshots)
    @rule(share=st.floats(0, 1))
    def tear_a_copy(self, share):
        """A cut copy of the file is an error, or a run that had come less far."""
        copy = Path(tempfile.mkdtemp(dir=self.folder)) / "torn.db"
        for end in ("", "-wal"):
            source = self.folder / f"runs.db{end}"
            if source.exists():
                data = source.read_bytes()
                copy.with_name(f"torn.db{end}").write_bytes(
                    data[: int(len(data) * share)] if end else data
                )
        with suppress(AgentMailError), closing(SQLiteStore(copy)) as store:
            torn = Ledger(store, "run-1", self.clock, self.spending, life=0)
            replayed = torn.replay(upto=torn.version)
            assert replayed == self.snapshots.get(replayed.version, replayed)
            assert replayed.version <= len(self.snapshots)

    def teardown(self):
        super().teardown()
        shutil.rmtree(self.folder)


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
TestSQLiteLedger = SQLiteLedgerMachine.TestCase
TestSQLiteLedger.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


@pytest.mark.long
class TestLedgerCampaign(LedgerMachine.TestCase):
    settings = settings(max_examples=1500, stateful_step_count=50, deadline=None)


@pytest.mark.long
class TestSQLiteLedgerCampaign(SQLiteLedgerMachine.TestCase):
    settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
