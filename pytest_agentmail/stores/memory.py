"""A store that lives as long as its process: for tests whose agent does not die."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

from pytest_agentmail.errors import StaleVersion
from pytest_agentmail.stores.guards import (
    check_effect,
    check_life,
    check_signal,
    check_version,
    claimed_elsewhere,
    gapless,
    known,
    retired,
)
from pytest_agentmail.stores.protocol import (
    EffectRow,
    EventRow,
    RunDump,
    RunLog,
    RunRow,
    SignalRecord,
    Write,
)

__all__ = ["MemoryStore"]


@dataclass
class _Kept:
    run: RunRow
    archived: list[EventRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)
    effects: dict[tuple[str, str], EffectRow] = field(default_factory=dict)


class MemoryStore:
    """Keeps runs in this process. Threads may share it; a forked child sees a copy."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._kept: dict[str, _Kept] = {}
        self._signals: dict[str, dict[str, SignalRecord]] = {}

    def take_over(self, run_id: str) -> int:
        """See `Store.take_over`."""
        with self._lock:
            kept = self._kept.setdefault(run_id, _Kept(RunRow(run_id, life=0)))
            kept.run = replace(kept.run, life=kept.run.life + 1)
            return kept.run.life

    def load(self, run_id: str) -> RunRow | None:
        """See `Store.load`."""
        with self._lock:
            kept = self._kept.get(run_id)
            return None if kept is None else kept.run

    def log(self, run_id: str, after: int = 0) -> RunLog | None:
        """See `Store.log`."""
        with self._lock:
            kept = self._kept.get(run_id)
            if kept is None:
                return None
            skipped = max(0, after - kept.run.summary_version)
            return RunLog(kept.run, gapless(kept.run, tuple(kept.events[skipped:]), after))

    def archived(self, run_id: str) -> tuple[EventRow, ...]:
        """See `Store.archived`."""
        with self._lock:
            kept = self._kept.get(run_id)
            return () if kept is None else tuple(kept.archived)

    def effects(self, run_id: str, state: str | None = None) -> tuple[EffectRow, ...]:
        """See `Store.effects`."""
        with self._lock:
            kept = self._kept.get(run_id)
            rows = () if kept is None else tuple(kept.effects.values())
        return tuple(row for row in rows if state in (None, row.state))

    def effect(self, run_id: str, name: str, step: str) -> EffectRow | None:
        """See `Store.effect`."""
        with self._lock:
            kept = self._kept.get(run_id)
            return None if kept is None else kept.effects.get((name, step))

    def commit(self, run_id: str, write: Write) -> None:
        """See `Store.commit`."""
        with self._lock:
            kept = self._writable(run_id, write.life)
            try:
                check_version(kept.run, write.expected_version)
            except StaleVersion:
                kept.run = replace(kept.run, refused=kept.run.refused + 1)
                raise
            if write.effect is not None:
                key = (write.effect.name, write.effect.step)
                check_effect(kept.effects.get(key), write.effect)
                kept.effects[key] = write.effect
            kept.run = replace(kept.run, written_at=write.at)
            if write.events:
                kept.events.extend(write.events)
                kept.run = replace(
                    kept.run, version=write.events[-1].version, snapshot=write.snapshot
                )

    def compact(self, run_id: str, life: int, version: int, summary: str) -> None:
        """See `Store.compact`."""
        with self._lock:
            kept = self._writable(run_id, life)
            if not kept.run.summary_version < version <= kept.run.version:
                raise StaleVersion(version, kept.run.summary_version)
            moved = version - kept.run.summary_version
            kept.archived.extend(kept.events[:moved])
            del kept.events[:moved]
            kept.run = replace(kept.run, summary_version=version, summary=summary)

    def runs(self) -> tuple[RunRow, ...]:
        """See `Store.runs`."""
        with self._lock:
            return tuple(self._kept[run_id].run for run_id in sorted(self._kept))

    def restore(self, dump: RunDump) -> None:
        """See `Store.restore`."""
        with self._lock:
            existing = self._kept.get(dump.run.run_id)
            if existing is not None:
                raise StaleVersion(0, existing.run.version)
            self._kept[dump.run.run_id] = _Kept(
                dump.run,
                list(dump.archived),
                list(dump.events),
                {(row.name, row.step): row for row in dump.effects},
            )
            self._signals[dump.run.run_id] = {row.signal_id: row for row in dump.signals}

    def retire(self, run_id: str, expected_version: int, note: str) -> None:
        """See `Store.retire`."""
        with self._lock:
            run = known(run_id, self.load(run_id))
            check_version(run, expected_version)
            self._kept[run_id] = _Kept(retired(run, note))
            self._signals.pop(run_id, None)

    def add(self, record: SignalRecord) -> SignalRecord:
        """See `SignalStore.add`."""
        with self._lock:
            kept = self._signals.setdefault(record.run_id, {})
            for other in kept.values():
                if other.identity == record.identity:
                    return other
            kept[record.signal_id] = record
            return record

    def signals(self, run_id: str) -> tuple[SignalRecord, ...]:
        """See `SignalStore.signals`."""
        with self._lock:
            return tuple(self._signals.get(run_id, {}).values())

    def replace(self, record: SignalRecord, *, expected: int) -> SignalRecord:
        """See `SignalStore.replace`."""
        with self._lock:
            kept = self._signals.get(record.run_id, {})
            check_signal(kept.get(record.signal_id), expected)
            for other in kept.values():
                if other.signal_id != record.signal_id and other.claim == record.claim is not None:
                    raise claimed_elsewhere(record, other.signal_id)
            kept[record.signal_id] = placed = replace(record, revision=expected + 1)
            return placed

    def close(self) -> None:
        """See `Store.close`; what is kept stays readable."""

    def _writable(self, run_id: str, life: int) -> _Kept:
        kept = self._kept.get(run_id)
        check_life(run_id, None if kept is None else kept.run, life)
        return self._kept[run_id]
