"""A store in one SQLite file: survives its processes, and is shared by those of one machine."""

# ruff: noqa: S608 - statements are put together from constants of this module; values are bound
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_agentmail.errors import AgentMailError, StaleVersion, StoreCorrupt
from pytest_agentmail.stores import sqlite_rows as rows
from pytest_agentmail.stores import sqlite_schema
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
from pytest_agentmail.stores.sqlite_session import Session

__all__ = ["SQLiteStore"]


class SQLiteStore:
    """Keeps runs in the file at `path`, which is made if there is none.

    Threads share one connection, in turn. A forked child opens its own.

    Raises:
        SettingsError: If the file belongs to another application or a newer version, or cannot
            be made.
        StoreCorrupt: If it cannot be read, or is empty.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Path = Path(path)
        if not self.path.exists():
            sqlite_schema.create(self.path)
        if self.path.stat().st_size == 0:
            raise StoreCorrupt(
                f"the store {self.path} is empty: what was in it is lost. "
                f"Remove the file to begin anew"
            )
        self._session = Session(self.path)
        try:
            with self._session.reading() as connection:
                sqlite_schema.examine(connection, self.path)
        except AgentMailError:
            self._session.close()
            raise

    def take_over(self, run_id: str) -> int:
        """See `Store.take_over`."""
        with self._session.writing() as connection:
            run = rows.run_row(connection, run_id) or RunRow(run_id, life=0)
            run = replace(run, life=run.life + 1)
            rows.put_run(connection, run)
            return run.life

    def load(self, run_id: str) -> RunRow | None:
        """See `Store.load`."""
        with self._session.reading() as connection:
            return rows.run_row(connection, run_id)

    def log(self, run_id: str, after: int = 0) -> RunLog | None:
        """See `Store.log`."""
        with self._session.snapshot() as connection:
            run = rows.run_row(connection, run_id)
            if run is None:
                return None
            return RunLog(
                run, gapless(run, rows.events(connection, "events", run_id, after), after)
            )

    def archived(self, run_id: str) -> tuple[EventRow, ...]:
        """See `Store.archived`."""
        with self._session.reading() as connection:
            return rows.events(connection, "archive", run_id, 0)

    def effects(self, run_id: str, state: str | None = None) -> tuple[EffectRow, ...]:
        """See `Store.effects`."""
        query = f"SELECT {rows.EFFECT} FROM effects WHERE run_id = ?"
        with self._session.reading() as connection:
            if state is None:
                found = connection.execute(f"{query} ORDER BY number", (run_id,))
            else:
                found = connection.execute(
                    f"{query} AND state = ? ORDER BY number", (run_id, state)
                )
            return tuple(EffectRow(*rows.whole(row, run_id)) for row in found)

    def effect(self, run_id: str, name: str, step: str) -> EffectRow | None:
        """See `Store.effect`."""
        with self._session.reading() as connection:
            return rows.effect_row(connection, run_id, name, step)

    def commit(self, run_id: str, write: Write) -> None:
        """See `Store.commit`."""
        with self._session.writing() as connection:
            if not rows.advance(connection, run_id, write):
                refusal = rows.refuse(connection, run_id, write)
                connection.execute("COMMIT")
                raise refusal
            if write.effect is not None:
                new = write.effect
                check_effect(rows.effect_row(connection, run_id, new.name, new.step), new)
                rows.put_effect(connection, run_id, new)
            rows.put_events(connection, "events", run_id, write.events)

    def compact(self, run_id: str, life: int, version: int, summary: str) -> None:
        """See `Store.compact`."""
        with self._session.writing() as connection:
            run = check_life(run_id, rows.run_row(connection, run_id), life)
            if not run.summary_version < version <= run.version:
                raise StaleVersion(version, run.summary_version)
            key = (run_id, version)
            connection.execute(
                "INSERT INTO archive SELECT * FROM events WHERE run_id = ? AND version <= ?", key
            )
            connection.execute("DELETE FROM events WHERE run_id = ? AND version <= ?", key)
            rows.put_run(connection, replace(run, summary_version=version, summary=summary))

    def runs(self) -> tuple[RunRow, ...]:
        """See `Store.runs`."""
        with self._session.reading() as connection:
            found = connection.execute(f"SELECT {rows.RUN} FROM runs ORDER BY run_id")
            return tuple(rows.run_of(row) for row in found)

    def restore(self, dump: RunDump) -> None:
        """See `Store.restore`."""
        run_id = dump.run.run_id
        with self._session.writing() as connection:
            existing = rows.run_row(connection, run_id)
            if existing is not None:
                raise StaleVersion(0, existing.version)
            rows.put_run(connection, dump.run)
            rows.put_events(connection, "archive", run_id, dump.archived)
            rows.put_events(connection, "events", run_id, dump.events)
            for effect in dump.effects:
                rows.put_effect(connection, run_id, effect)
            for signal in dump.signals:
                rows.add_signal(connection, signal)

    def retire(self, run_id: str, expected_version: int, note: str) -> None:
        """See `Store.retire`."""
        with self._session.writing() as connection:
            run = known(run_id, rows.run_row(connection, run_id))
            check_version(run, expected_version)
            for table in ("events", "archive", "effects", "signals"):
                connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))
            rows.put_run(connection, retired(run, note))

    def add(self, record: SignalRecord) -> SignalRecord:
        """See `SignalStore.add`."""
        with self._session.writing() as connection:
            kept = connection.execute(
                f"SELECT {rows.SIGNAL} FROM signals WHERE run_id = ? AND identity = ?",
                (record.run_id, record.identity),
            ).fetchone()
            if kept is not None:
                return SignalRecord(*rows.whole(kept))
            rows.add_signal(connection, record)
            return record

    def signals(self, run_id: str) -> tuple[SignalRecord, ...]:
        """See `SignalStore.signals`."""
        with self._session.reading() as connection:
            found = connection.execute(
                f"SELECT {rows.SIGNAL} FROM signals WHERE run_id = ? ORDER BY number", (run_id,)
            )
            return tuple(SignalRecord(*rows.whole(row)) for row in found)

    def replace(self, record: SignalRecord, *, expected: int) -> SignalRecord:
        """See `SignalStore.replace`."""
        with self._session.writing() as connection:
            kept = connection.execute(
                f"SELECT {rows.SIGNAL} FROM signals WHERE run_id = ? AND signal_id = ?",
                (record.run_id, record.signal_id),
            ).fetchone()
            check_signal(None if kept is None else SignalRecord(*rows.whole(kept)), expected)
            holder = connection.execute(
                "SELECT signal_id FROM signals WHERE run_id = ? AND claim = ? AND signal_id <> ?",
                (record.run_id, record.claim, record.signal_id),
            ).fetchone()
            if holder is not None:
                raise claimed_elsewhere(record, holder[0])
            placed = replace(record, revision=expected + 1)
            connection.execute(
                "UPDATE signals SET identity = ?, revision = ?, claim = ?, body = ?, sum = ? "
                "WHERE run_id = ? AND signal_id = ?",
                (*rows.summed(rows.signal_values(placed))[2:], record.run_id, record.signal_id),
            )
            return placed

    def close(self) -> None:
        """See `Store.close`."""
        self._session.close()
