"""The contract of a ledger store, clause by clause."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_agentmail.contracts.examples import (
    AT,
    RUN,
    a_signal,
    a_snapshot,
    an_append,
    an_effect,
    an_event,
    begun,
    sign_up,
)
from pytest_agentmail.contracts.signal_clauses import SignalClauses
from pytest_agentmail.contracts.survival_clauses import SurvivalClauses
from pytest_agentmail.errors import LifeSuperseded, StaleVersion
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.stores.protocol import EventRow, RunDump, SignalStore, Store, Write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["LedgerStoreContract"]

CANARY = "the-body-nobody-keeps"


class LedgerStoreContract(SignalClauses, SurvivalClauses):
    """Subclass it, say how your store is opened, and run it with pytest.

    ```python
    class TestMyStore(LedgerStoreContract):
        @pytest.fixture
        def open_store(self, tmp_path):
            return lambda: MyStore(tmp_path / "runs")

        @pytest.fixture
        def store_files(self, tmp_path):
            return [tmp_path / "runs"]
    ```

    Attributes:
        durable: Whether what was committed outlives the process; without it the clauses about
            processes are skipped.
    """

    @pytest.fixture
    def open_store(self) -> Callable[[], Store]:
        """What opens the store under test: the same one each time, as another process would."""
        raise NotImplementedError(
            "override the fixture `open_store`: it gives what opens your store"
        )

    @pytest.fixture
    def store_files(self) -> Sequence[Path]:
        """The files the store keeps its data in, if it does; without any, none can be torn."""
        return ()

    @pytest.fixture
    def store(self, open_store: Callable[[], Store]) -> Store:
        """The store under test."""
        return open_store()

    # versions

    def test_a_run_begins_with_its_first_life(self, store: Store) -> None:
        """An unknown run is `None`; `take_over` makes it, at version 0."""
        assert store.load(RUN) is None
        assert store.log(RUN) is None
        assert store.take_over(RUN) == 1
        run = store.load(RUN)
        assert run is not None
        assert (run.run_id, run.life, run.version, run.snapshot) == (RUN, 1, 0, None)

    def test_every_life_takes_the_next_token(self, store: Store) -> None:
        """A token is never given twice, and belongs to one run."""
        assert [store.take_over(RUN) for _ in range(3)] == [1, 2, 3]
        assert store.take_over("run-2") == 1

    def test_events_come_back_in_order(self, store: Store) -> None:
        """`log` gives the events past a version, as they were written, with the run."""
        life = begun(store, events=4)
        log = store.log(RUN, after=2)
        assert log is not None
        assert log.run.version == 4
        assert log.run.snapshot == a_snapshot(4)
        assert log.events == (an_event(3), an_event(4))
        assert log.run.life == life

    def test_a_stale_version_is_refused_and_counted(self, store: Store) -> None:
        """A write that expects another version than the current one changes nothing."""
        life = begun(store, events=2)
        for expected in (0, 1, 3):
            with pytest.raises(StaleVersion) as refusal:
                store.commit(RUN, an_append(life, expected))
            assert (refusal.value.expected, refusal.value.actual) == (expected, 2)
        log = store.log(RUN)
        assert log is not None
        assert [row.version for row in log.events] == [1, 2]
        assert (log.run.snapshot, log.run.refused) == (a_snapshot(2), 3)

    def test_a_superseded_life_writes_nothing(self, store: Store) -> None:
        """Once the next life took over, the one before is refused, whatever it expects."""
        old = begun(store, events=1)
        store.take_over(RUN)
        for write in (an_append(old, 1), an_append(old, 0), Write(old, AT, effect=an_effect())):
            with pytest.raises(LifeSuperseded):
                store.commit(RUN, write)
        run = store.load(RUN)
        assert run is not None
        assert (run.version, run.refused) == (1, 0)
        assert store.effects(RUN) == ()

    # effects

    def test_an_effect_changes_by_its_next_revision_only(self, store: Store) -> None:
        """The first revision is 1; the same or an older one again is refused."""
        life = store.take_over(RUN)
        first, second = an_effect(), replace(an_effect(), revision=2, state="success")
        with pytest.raises(StaleVersion):
            store.commit(RUN, Write(life, AT, effect=second))
        store.commit(RUN, Write(life, AT, effect=first))
        with pytest.raises(StaleVersion):
            store.commit(RUN, Write(life, AT, effect=first))
        store.commit(RUN, Write(life, AT, effect=second))
        assert store.effect(RUN, "send", "0") == second
        assert store.effect(RUN, "send", "1") is None

    def test_effects_are_listed_oldest_first(self, store: Store) -> None:
        """In the order they were begun in; by state, if one is asked for; of one run."""
        life = store.take_over(RUN)
        names = ("zeta", "alpha", "mid")
        for name in names:
            store.commit(RUN, Write(life, AT, effect=an_effect(name)))
        done = replace(an_effect("zeta"), revision=2, state="success")
        store.commit(RUN, Write(life, AT, effect=done))
        assert [row.name for row in store.effects(RUN)] == list(names)
        assert [row.name for row in store.effects(RUN, "pending")] == ["alpha", "mid"]
        assert store.effects("run-2") == ()

    def test_a_unit_of_work_is_written_whole_or_not_at_all(self, store: Store) -> None:
        """An event whose effect is refused is not written either, nor the other way round."""
        life = begun(store, events=1)
        store.commit(RUN, replace(an_append(life, 1), effect=an_effect()))
        with pytest.raises(StaleVersion):
            store.commit(RUN, replace(an_append(life, 2), effect=an_effect()))
        with pytest.raises(StaleVersion):
            store.commit(RUN, replace(an_append(life, 1), effect=an_effect("other")))
        log = store.log(RUN)
        assert log is not None
        assert [row.version for row in log.events] == [1, 2]
        assert log.run.snapshot == a_snapshot(2)
        assert store.effects(RUN) == (an_effect(),)

    # replay and compaction

    def test_a_replay_gives_every_snapshot(self, store: Store) -> None:
        """What was written last can be rebuilt from the events, and so can what was before."""
        ledger = Ledger.open(store, run_id=RUN)
        seen = [ledger.snapshot, *sign_up(ledger)]
        assert [ledger.replay(upto=version) for version in range(1, len(seen))] == seen[1:]
        assert store.log(RUN) is not None

    def test_compaction_moves_events_and_loses_none(self, store: Store) -> None:
        """The archive has what was compacted, the log has the rest, the run keeps its version."""
        life = begun(store, events=5)
        store.compact(RUN, life, 3, a_snapshot(3))
        with pytest.raises(StaleVersion):
            store.compact(RUN, life, 3, a_snapshot(3))
        with pytest.raises(StaleVersion):
            store.compact(RUN, life, 6, a_snapshot(6))
        store.commit(RUN, an_append(life, 5))
        log = store.log(RUN)
        assert log is not None
        assert store.archived(RUN) == (an_event(1), an_event(2), an_event(3))
        assert log.events == (an_event(4), an_event(5), an_event(6))
        assert (log.run.summary_version, log.run.summary) == (3, a_snapshot(3))
        assert log.run.version == 6
        with pytest.raises(LifeSuperseded):
            store.compact(RUN, life + 1, 5, a_snapshot(5))

    # what is kept

    def test_nothing_else_is_kept_of_a_run(self, store: Store) -> None:
        """What an effect returned stays with the effect: no snapshot and no event shows it."""
        life = store.take_over(RUN)
        secret = replace(an_effect(), body=f'"{CANARY}"')
        store.commit(RUN, replace(an_append(life, 0), effect=secret))
        log = store.log(RUN)
        assert log is not None
        assert CANARY not in repr((log, store.load(RUN), store.archived(RUN), store.runs()))

    def test_text_comes_back_as_it_was(self, store: Store) -> None:
        """JSON text is kept to the character."""
        life = store.take_over(RUN)
        body = '{"a": "é\\u0000\\ud800 🎈 \'; DROP TABLE runs; --", "b": 1.0}  '
        store.commit(RUN, Write(life, AT, 0, (EventRow(1, body),), body))
        log = store.log(RUN)
        assert log is not None
        assert (log.events[0].body, log.run.snapshot) == (body, body)

    def test_runs_are_listed_and_apart(self, store: Store) -> None:
        """One run's events are not another's; `runs` gives them all, by run_id."""
        for run_id in ("run-b", "Run-C", "run-a"):
            life = store.take_over(run_id)
            store.commit(run_id, an_append(life, 0))
        assert [run.run_id for run in store.runs()] == ["Run-C", "run-a", "run-b"]
        assert [run.version for run in store.runs()] == [1, 1, 1]

    def test_a_retired_run_keeps_its_name_only(self, store: Store) -> None:
        """Its row says where it went; it takes no more writes and is never begun again."""
        life = begun(store, events=3)
        store.compact(RUN, life, 2, a_snapshot(2))
        with pytest.raises(StaleVersion):
            store.retire(RUN, 2, "elsewhere")
        store.retire(RUN, 3, "elsewhere")
        run = store.load(RUN)
        assert run is not None
        assert (run.version, run.retired) == (3, "elsewhere")
        assert (store.archived(RUN), store.effects(RUN)) == ((), ())
        with pytest.raises(LifeSuperseded):
            store.commit(RUN, an_append(life, 3))

    def test_a_run_can_be_taken_in_once(self, store: Store) -> None:
        """`restore` gives back all of a run; not where there is one of that id."""
        life = begun(store, events=3)
        store.commit(RUN, Write(life, AT, effect=an_effect()))
        store.compact(RUN, life, 2, a_snapshot(2))
        log = store.log(RUN)
        assert log is not None
        copied = replace(log.run, run_id="run-2")
        signals = (
            (replace(a_signal("s1"), run_id="run-2"),) if isinstance(store, SignalStore) else ()
        )
        dump = RunDump(copied, store.archived(RUN), log.events, store.effects(RUN), signals)
        store.restore(dump)
        with pytest.raises(StaleVersion):
            store.restore(dump)
        again = store.log("run-2")
        assert again is not None
        assert (again.run, again.events) == (copied, log.events)
        assert store.archived("run-2") == store.archived(RUN)
        assert store.effects("run-2") == store.effects(RUN)
        assert not isinstance(store, SignalStore) or store.signals("run-2") == signals
