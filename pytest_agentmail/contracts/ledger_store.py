"""The contract of a ledger store, clause by clause."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

from pytest_agentmail.contracts.processes import (
    KILLED,
    dying_at_call,
    run_child,
    start_child,
)
from pytest_agentmail.errors import (
    AgentMailError,
    EvidenceConflict,
    LifeSuperseded,
    StaleVersion,
)
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.stores.protocol import (
    EffectRow,
    EventRow,
    RunDump,
    SignalRecord,
    SignalStore,
    Store,
    Write,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["LedgerStoreContract"]

RUN = "run-1"
AT = "2026-01-01T00:00:00+00:00"
CANARY = "the-body-nobody-keeps"
WORKERS = 4
EVENTS_EACH = 15
MOST_CALLS = 2_000


class LedgerStoreContract:
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

    durable: ClassVar[bool] = True

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
        life = _begun(store, events=4)
        log = store.log(RUN, after=2)
        assert log is not None
        assert log.run.version == 4  # noqa: PLR2004 - as written
        assert log.run.snapshot == _snapshot(4)
        assert log.events == (_event(3), _event(4))
        assert log.run.life == life

    def test_a_stale_version_is_refused_and_counted(self, store: Store) -> None:
        """A write that expects another version than the current one changes nothing."""
        life = _begun(store, events=2)
        for expected in (0, 1, 3):
            with pytest.raises(StaleVersion) as refusal:
                store.commit(RUN, _append(life, expected))
            assert (refusal.value.expected, refusal.value.actual) == (expected, 2)
        log = store.log(RUN)
        assert log is not None
        assert [row.version for row in log.events] == [1, 2]
        assert (log.run.snapshot, log.run.refused) == (_snapshot(2), 3)

    def test_a_superseded_life_writes_nothing(self, store: Store) -> None:
        """Once the next life took over, the one before is refused, whatever it expects."""
        old = _begun(store, events=1)
        store.take_over(RUN)
        for write in (_append(old, 1), _append(old, 0), Write(old, AT, effect=_effect())):
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
        first, second = _effect(), replace(_effect(), revision=2, state="success")
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
            store.commit(RUN, Write(life, AT, effect=_effect(name)))
        done = replace(_effect("zeta"), revision=2, state="success")
        store.commit(RUN, Write(life, AT, effect=done))
        assert [row.name for row in store.effects(RUN)] == list(names)
        assert [row.name for row in store.effects(RUN, "pending")] == ["alpha", "mid"]
        assert store.effects("run-2") == ()

    def test_a_unit_of_work_is_written_whole_or_not_at_all(self, store: Store) -> None:
        """An event whose effect is refused is not written either, nor the other way round."""
        life = _begun(store, events=1)
        store.commit(RUN, replace(_append(life, 1), effect=_effect()))
        with pytest.raises(StaleVersion):
            store.commit(RUN, replace(_append(life, 2), effect=_effect()))
        with pytest.raises(StaleVersion):
            store.commit(RUN, replace(_append(life, 1), effect=_effect("other")))
        log = store.log(RUN)
        assert log is not None
        assert [row.version for row in log.events] == [1, 2]
        assert log.run.snapshot == _snapshot(2)
        assert store.effects(RUN) == (_effect(),)

    # replay and compaction

    def test_a_replay_gives_every_snapshot(self, store: Store) -> None:
        """What was written last can be rebuilt from the events, and so can what was before."""
        ledger = Ledger.open(store, run_id=RUN)
        seen = [ledger.snapshot, *_sign_up(ledger)]
        assert [ledger.replay(upto=version) for version in range(1, len(seen))] == seen[1:]
        assert store.log(RUN) is not None

    def test_compaction_moves_events_and_loses_none(self, store: Store) -> None:
        """The archive has what was compacted, the log has the rest, the run keeps its version."""
        life = _begun(store, events=5)
        store.compact(RUN, life, 3, _snapshot(3))
        with pytest.raises(StaleVersion):
            store.compact(RUN, life, 3, _snapshot(3))
        with pytest.raises(StaleVersion):
            store.compact(RUN, life, 6, _snapshot(6))
        store.commit(RUN, _append(life, 5))
        log = store.log(RUN)
        assert log is not None
        assert store.archived(RUN) == (_event(1), _event(2), _event(3))
        assert log.events == (_event(4), _event(5), _event(6))
        assert (log.run.summary_version, log.run.summary) == (3, _snapshot(3))
        assert log.run.version == 6  # noqa: PLR2004 - as written
        with pytest.raises(LifeSuperseded):
            store.compact(RUN, life + 1, 5, _snapshot(5))

    # what is kept

    def test_nothing_else_is_kept_of_a_run(self, store: Store) -> None:
        """What an effect returned stays with the effect: no snapshot and no event shows it."""
        life = store.take_over(RUN)
        secret = replace(_effect(), body=f'"{CANARY}"')
        store.commit(RUN, replace(_append(life, 0), effect=secret))
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
            store.commit(run_id, _append(life, 0))
        assert [run.run_id for run in store.runs()] == ["Run-C", "run-a", "run-b"]
        assert [run.version for run in store.runs()] == [1, 1, 1]

    def test_a_retired_run_keeps_its_name_only(self, store: Store) -> None:
        """Its row says where it went; it takes no more writes and is never begun again."""
        life = _begun(store, events=3)
        store.compact(RUN, life, 2, _snapshot(2))
        with pytest.raises(StaleVersion):
            store.retire(RUN, 2, "elsewhere")
        store.retire(RUN, 3, "elsewhere")
        run = store.load(RUN)
        assert run is not None
        assert (run.version, run.retired) == (3, "elsewhere")
        assert (store.archived(RUN), store.effects(RUN)) == ((), ())
        with pytest.raises(LifeSuperseded):
            store.commit(RUN, _append(life, 3))

    def test_a_run_can_be_taken_in_once(self, store: Store) -> None:
        """`restore` gives back all of a run; not where there is one of that id."""
        life = _begun(store, events=3)
        store.commit(RUN, Write(life, AT, effect=_effect()))
        store.compact(RUN, life, 2, _snapshot(2))
        log = store.log(RUN)
        assert log is not None
        copied = replace(log.run, run_id="run-2")
        dump = RunDump(copied, store.archived(RUN), log.events, store.effects(RUN), ())
        store.restore(dump)
        with pytest.raises(StaleVersion):
            store.restore(dump)
        again = store.log("run-2")
        assert again is not None
        assert (again.run, again.events) == (copied, log.events)
        assert store.archived("run-2") == store.archived(RUN)
        assert store.effects("run-2") == store.effects(RUN)

    # signals

    def test_a_signal_is_added_once(self, store: Store) -> None:
        """The same identity again gives the signal that is kept, first budget and all."""
        signals = _signals(store)
        first = _signal("s1")
        assert signals.add(first) == first
        again = replace(first, signal_id="s2", body='"other"')
        assert signals.add(again) == first
        signals.add(_signal("s0"))
        assert [record.signal_id for record in signals.signals(RUN)] == ["s1", "s0"]
        assert signals.signals("run-2") == ()

    def test_a_signal_is_replaced_by_its_next_revision(self, store: Store) -> None:
        """Of two that saw the same revision one replaces it, the other is refused."""
        signals = _signals(store)
        kept = signals.add(_signal("s1"))
        changed = replace(kept, body='"changed"')
        placed = signals.replace(changed, expected=1)
        assert placed == replace(changed, revision=2)
        with pytest.raises(StaleVersion):
            signals.replace(changed, expected=1)
        with pytest.raises(StaleVersion):
            signals.replace(_signal("unknown"), expected=1)
        assert signals.signals(RUN) == (placed,)

    def test_a_message_serves_one_signal(self, store: Store) -> None:
        """What one signal claims, no other signal of the run can claim; another run's can."""
        signals = _signals(store)
        first, second = signals.add(_signal("s1")), signals.add(_signal("s2"))
        elsewhere = signals.add(replace(_signal("s1"), run_id="run-2"))
        signals.replace(replace(first, claim="m-1"), expected=1)
        with pytest.raises(EvidenceConflict, match=r"m-1.*s1"):
            signals.replace(replace(second, claim="m-1"), expected=1)
        signals.replace(replace(elsewhere, claim="m-1"), expected=1)
        assert [record.claim for record in signals.signals(RUN)] == ["m-1", None]

    # races

    def test_of_threads_one_wins_each_version(self, store: Store) -> None:
        """Threads that share the store append without a gap, and nothing is lost."""
        life = store.take_over(RUN)
        wins: list[int] = []
        errors: list[BaseException] = []
        start = threading.Barrier(WORKERS)

        def work() -> None:
            try:
                start.wait()
                wins.extend(_append_many(store, life))
            except BaseException as error:  # noqa: BLE001 - it is shown below
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        _all_there(store, wins, WORKERS * EVENTS_EACH)

    def test_of_processes_one_wins_each_version(
        self, store: Store, open_store: Callable[[], Store]
    ) -> None:
        """Processes that opened the store themselves append without a gap; nothing is lost."""
        self._needs_durable()
        life = store.take_over(RUN)

        def work(say: Callable[[str], None]) -> None:
            own = open_store()
            for version in _append_many(own, life):
                say(f"{version}\n")
            own.close()

        children = [start_child(work) for _ in range(WORKERS)]
        said = [child.read() for child in children]
        assert [(child.wait(), text)[0] for child, text in zip(children, said, strict=True)] == [
            0
        ] * WORKERS, "\n".join(said)
        wins = [int(version) for text in said for version in text.split()]
        _all_there(store, wins, WORKERS * EVENTS_EACH)

    def test_a_fork_shares_no_connection(self, store: Store) -> None:
        """A store that was opened before a fork can be used on both sides of it."""
        self._needs_durable()
        life = _begun(store, events=1)

        def work(_: Callable[[str], None]) -> None:
            store.commit(RUN, _append(life, 1))

        code, said = run_child(work)
        assert code == 0, said
        store.commit(RUN, _append(life, 2))
        log = store.log(RUN)
        assert log is not None
        assert [row.version for row in log.events] == [1, 2, 3]

    # crashes

    def test_a_crash_at_any_moment_leaves_all_or_nothing(
        self, store: Store, open_store: Callable[[], Store]
    ) -> None:
        """A writer is killed around every call it makes; what it was told is written, is."""
        self._needs_durable()
        life = _begun(store, events=1)
        for call in range(1, MOST_CALLS):
            before = store.load(RUN)
            assert before is not None
            version = before.version
            write = replace(_append(life, version), effect=_effect(f"send-{version}"))

            def work(
                say: Callable[[str], None], call: int = call, write: Write = write
            ) -> None:
                own = open_store()
                sys.setprofile(dying_at_call(call))
                own.commit(RUN, write)
                sys.setprofile(None)
                say("done")

            code, said = run_child(work)
            assert code in {0, KILLED}, said
            _whole(open_store(), version, acknowledged=said == "done")
            if code == 0:
                return
        pytest.fail(f"one commit made more than {MOST_CALLS} calls")

    def test_what_was_committed_is_there_for_the_next(
        self, store: Store, open_store: Callable[[], Store]
    ) -> None:
        """A store that is closed and opened again has everything."""
        self._needs_durable()
        life = _begun(store, events=2)
        store.close()
        store.close()
        again = open_store()
        again.commit(RUN, _append(life, 2))
        log = again.log(RUN)
        assert log is not None
        assert [row.version for row in log.events] == [1, 2, 3]

    # torn files

    def test_a_torn_file_is_no_first_run(
        self, store: Store, open_store: Callable[[], Store], store_files: Sequence[Path]
    ) -> None:
        """Cut or flipped, a file gives an error or what was written first; emptied, an error."""
        if not store_files:
            pytest.skip("the store names no files (`store_files`)")
        _begun(store, events=12)
        store.close()
        whole = {Path(path): Path(path).read_bytes() for path in store_files}
        for path, data in whole.items():
            for torn in _torn(data):
                _lay(whole)
                path.write_bytes(torn)
                _prefix_or_error(open_store)
        _lay(dict.fromkeys(whole, b""))
        with pytest.raises(AgentMailError):
            open_store().load(RUN)

    def _needs_durable(self) -> None:
        if not self.durable:
            pytest.skip("the store does not outlive its process (`durable = False`)")


def _event(version: int) -> EventRow:
    return EventRow(version, f'{{"n": {version}}}')


def _snapshot(version: int) -> str:
    return f'{{"version": {version}}}'


def _append(life: int, expected: int) -> Write:
    version = expected + 1
    return Write(life, AT, expected, (_event(version),), _snapshot(version))


def _effect(name: str = "send") -> EffectRow:
    return EffectRow(name, "0", 1, "pending", "{}")


def _signal(signal_id: str) -> SignalRecord:
    return SignalRecord(RUN, signal_id, f"identity of {signal_id}", 1, None, "{}")


def _signals(store: Store) -> SignalStore:
    if not isinstance(store, SignalStore):
        pytest.skip("the store keeps no signals")
    return store


def _begun(store: Store, *, events: int) -> int:
    life = store.take_over(RUN)
    for version in range(events):
        store.commit(RUN, _append(life, version))
    return life


def _sign_up(ledger: Ledger) -> list[object]:
    """A run from its lease to its end, over all events."""
    later = datetime.now(UTC) + timedelta(hours=1)
    steps: list[tuple[str, dict[str, object]]] = [
        ("mailbox_leased", {"recipient": "a@mail.test", "lease_expires_at": later}),
        ("decision_confirmed", {"decisions": {"plan": "free"}}),
        ("verification_requested", {}),
        ("wait_started", {"signal_id": "s1"}),
        ("message_received", {"message_id": "m-1"}),
        ("code_rejected", {}),
        ("resend_requested", {}),
        ("wait_started", {"signal_id": "s2"}),
        ("lease_expired", {}),
        ("mailbox_leased", {"recipient": "b@mail.test", "lease_expires_at": later}),
        ("verification_requested", {}),
        ("message_received", {"message_id": "m-2"}),
        ("code_verified", {}),
    ]
    return [ledger.append(type, **data) for type, data in steps]


def _append_many(store: Store, life: int) -> list[int]:
    """Append some events against others who do the same; the versions that were won."""
    wins: list[int] = []
    while len(wins) < EVENTS_EACH:
        run = store.load(RUN)
        assert run is not None
        try:
            store.commit(RUN, _append(life, run.version))
        except StaleVersion:
            continue
        wins.append(run.version + 1)
    return wins


def _all_there(store: Store, wins: list[int], expected: int) -> None:
    log = store.log(RUN)
    assert log is not None
    assert sorted(wins) == list(range(1, expected + 1))
    assert [row.version for row in log.events] == list(range(1, expected + 1))
    assert log.run.version == expected


def _whole(store: Store, before: int, *, acknowledged: bool) -> None:
    log = store.log(RUN)
    assert log is not None
    version = log.run.version
    assert version in {before, before + 1}
    assert version == before + 1 or not acknowledged, "an acknowledged write is lost"
    assert [row.version for row in log.events] == list(range(1, version + 1))
    assert log.run.snapshot == _snapshot(version)
    written = store.effect(RUN, f"send-{before}", "0") is not None
    assert written == (version == before + 1), "an event was written without its effect"
    store.close()


def _torn(data: bytes) -> list[bytes]:
    size = len(data)
    cuts = sorted({0, 1, size // 3, size // 2, max(0, size - 1)})
    flipped = [
        data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        for at in range(0, size, max(1, size // 40))
    ]
    return [*(data[:cut] for cut in cuts), *flipped]


def _lay(files: dict[Path, bytes]) -> None:
    for path, data in files.items():
        path.write_bytes(data)


def _prefix_or_error(open_store: Callable[[], Store]) -> None:
    try:
        store = open_store()
        log = store.log(RUN)
        store.close()
    except AgentMailError:
        return
    if log is None:
        return
    version = log.run.version
    assert [*log.events] == [_event(n) for n in range(1, version + 1)]
    assert log.run.snapshot == (_snapshot(version) if version else None)
