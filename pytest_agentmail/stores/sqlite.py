"""A store in one SQLite file: survives its processes, and is shared by those of one machine."""

# ruff: noqa: S608 - statements are put together from constants of this module; values are bound
from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_agentmail.errors import StaleVersion, StoreCorrupt, StoreUnavailable
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["SQLiteStore"]

RUN = "run_id, life, version, snapshot, summary_version, summary, refused, written_at, retired, sum"
EFFECT = "name, step, revision, state, body, sum"
SIGNAL = "run_id, signal_id, identity, revision, claim, body, sum"

# What is the matter with the disk or with other processes, not with the file.
UNAVAILABLE = (
    "SQLITE_BUSY",
    "SQLITE_CANTOPEN",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_LOCKED",
    "SQLITE_PERM",
    "SQLITE_READONLY",
)

# A connection must not be closed, not even by the garbage collector, in a process that only
# inherited it: it is the parent's. So a forked child keeps what it found here.
_inherited: list[sqlite3.Connection] = []


class SQLiteStore:
    """Keeps runs in the file at `path`, which is made if there is none.

    Threads share one connection, in turn. A forked child opens its own.

    Raises:
        SettingsError: If the file belongs to another application or a newer version, or cannot
            be made.
        StoreCorrupt: If it cannot be read, or is empty.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._owner = 0
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        if not self.path.exists():
            sqlite_schema.create(self.path)
        if self.path.stat().st_size == 0:
            raise StoreCorrupt(
                f"the store {self.path} is empty: what was in it is lost. "
                f"Remove the file to begin anew"
            )
        with self._reading() as connection:
            sqlite_schema.examine(connection, self.path)

    def take_over(self, run_id: str) -> int:
        """See `Store.take_over`."""
        with self._writing() as connection:
            run = _run(connection, run_id) or RunRow(run_id, life=0)
            run = replace(run, life=run.life + 1)
            _put_run(connection, run)
            return run.life

    def load(self, run_id: str) -> RunRow | None:
        """See `Store.load`."""
        with self._reading() as connection:
            return _run(connection, run_id)

    def log(self, run_id: str, after: int = 0) -> RunLog | None:
        """See `Store.log`."""
        with self._reading() as connection:
            connection.execute("BEGIN")
            run = _run(connection, run_id)
            if run is None:
                return None
            return RunLog(run, gapless(run, _events(connection, "events", run_id, after), after))

    def archived(self, run_id: str) -> tuple[EventRow, ...]:
        """See `Store.archived`."""
        with self._reading() as connection:
            return _events(connection, "archive", run_id, 0)

    def effects(self, run_id: str, state: str | None = None) -> tuple[EffectRow, ...]:
        """See `Store.effects`."""
        query = f"SELECT {EFFECT} FROM effects WHERE run_id = ?"
        with self._reading() as connection:
            if state is None:
                rows = connection.execute(f"{query} ORDER BY number", (run_id,))
            else:
                rows = connection.execute(f"{query} AND state = ? ORDER BY number", (run_id, state))
            return tuple(EffectRow(*_whole(row, run_id)) for row in rows)

    def effect(self, run_id: str, name: str, step: str) -> EffectRow | None:
        """See `Store.effect`."""
        with self._reading() as connection:
            return _effect(connection, run_id, name, step)

    def commit(self, run_id: str, write: Write) -> None:
        """See `Store.commit`."""
        with self._writing() as connection:
            run = check_life(run_id, _run(connection, run_id), write.life)
            try:
                check_version(run, write.expected_version)
            except StaleVersion:
                _put_run(connection, replace(run, refused=run.refused + 1))
                connection.execute("COMMIT")
                raise
            if write.effect is not None:
                new = write.effect
                check_effect(_effect(connection, run_id, new.name, new.step), new)
                _put_effect(connection, run_id, new)
            run = replace(run, written_at=write.at)
            if write.events:
                _put_events(connection, "events", run_id, write.events)
                run = replace(run, version=write.events[-1].version, snapshot=write.snapshot)
            _put_run(connection, run)

    def compact(self, run_id: str, life: int, version: int, summary: str) -> None:
        """See `Store.compact`."""
        with self._writing() as connection:
            run = check_life(run_id, _run(connection, run_id), life)
            if not run.summary_version < version <= run.version:
                raise StaleVersion(version, run.summary_version)
            key = (run_id, version)
            connection.execute(
                "INSERT INTO archive SELECT * FROM events WHERE run_id = ? AND version <= ?", key
            )
            connection.execute("DELETE FROM events WHERE run_id = ? AND version <= ?", key)
            _put_run(connection, replace(run, summary_version=version, summary=summary))

    def runs(self) -> tuple[RunRow, ...]:
        """See `Store.runs`."""
        with self._reading() as connection:
            rows = connection.execute(f"SELECT {RUN} FROM runs ORDER BY run_id")
            return tuple(RunRow(*_whole(row)) for row in rows)

    def restore(self, dump: RunDump) -> None:
        """See `Store.restore`."""
        run_id = dump.run.run_id
        with self._writing() as connection:
            existing = _run(connection, run_id)
            if existing is not None:
                raise StaleVersion(0, existing.version)
            _put_run(connection, dump.run)
            _put_events(connection, "archive", run_id, dump.archived)
            _put_events(connection, "events", run_id, dump.events)
            for effect in dump.effects:
                _put_effect(connection, run_id, effect)
            for signal in dump.signals:
                _add_signal(connection, signal)

    def retire(self, run_id: str, expected_version: int, note: str) -> None:
        """See `Store.retire`."""
        with self._writing() as connection:
            run = known(run_id, _run(connection, run_id))
            check_version(run, expected_version)
            for table in ("events", "archive", "effects", "signals"):
                connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))
            _put_run(connection, retired(run, note))

    def add(self, record: SignalRecord) -> SignalRecord:
        """See `SignalStore.add`."""
        with self._writing() as connection:
            kept = connection.execute(
                f"SELECT {SIGNAL} FROM signals WHERE run_id = ? AND identity = ?",
                (record.run_id, record.identity),
            ).fetchone()
            if kept is not None:
                return SignalRecord(*_whole(kept))
            _add_signal(connection, record)
            return record

    def signals(self, run_id: str) -> tuple[SignalRecord, ...]:
        """See `SignalStore.signals`."""
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT {SIGNAL} FROM signals WHERE run_id = ? ORDER BY number", (run_id,)
            )
            return tuple(SignalRecord(*_whole(row)) for row in rows)

    def replace(self, record: SignalRecord, *, expected: int) -> SignalRecord:
        """See `SignalStore.replace`."""
        with self._writing() as connection:
            kept = connection.execute(
                f"SELECT {SIGNAL} FROM signals WHERE run_id = ? AND signal_id = ?",
                (record.run_id, record.signal_id),
            ).fetchone()
            check_signal(None if kept is None else SignalRecord(*_whole(kept)), expected)
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
                (*_summed(_signal_values(placed))[2:], record.run_id, record.signal_id),
            )
            return placed

    def close(self) -> None:
        """See `Store.close`."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
                self._connection = None

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        self._own()
        with self._lock, self._translated():
            connection = self._opened()
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def _own(self) -> None:
        """Give a forked child a connection of its own, and a lock nobody holds."""
        if self._owner != os.getpid():
            if self._connection is not None:
                _inherited.append(self._connection)
            self._lock, self._connection, self._owner = threading.RLock(), None, os.getpid()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite_schema.connect(self.path)
        return self._connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if getattr(error, "sqlite_errorname", "").startswith(UNAVAILABLE):
                raise StoreUnavailable(
                    f"the store {self.path} cannot be used, and nothing was written: {error}"
                ) from error
            raise StoreCorrupt(f"the store {self.path} cannot be read: {error}") from error


def _run(connection: sqlite3.Connection, run_id: str) -> RunRow | None:
    row = connection.execute(f"SELECT {RUN} FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    return None if row is None else RunRow(*_whole(row))


def _effect(connection: sqlite3.Connection, run_id: str, name: str, step: str) -> EffectRow | None:
    row = connection.execute(
        f"SELECT {EFFECT} FROM effects WHERE run_id = ? AND name = ? AND step = ?",
        (run_id, name, step),
    ).fetchone()
    return None if row is None else EffectRow(*_whole(row, run_id))


def _events(
    connection: sqlite3.Connection, table: str, run_id: str, after: int
) -> tuple[EventRow, ...]:
    rows = connection.execute(
        f"SELECT version, body, sum FROM {table} WHERE run_id = ? AND version > ? ORDER BY version",
        (run_id, after),
    )
    return tuple(EventRow(*_whole(row, run_id)) for row in rows)


def _put_run(connection: sqlite3.Connection, run: RunRow) -> None:
    values = (
        run.run_id,
        run.life,
        run.version,
        run.snapshot,
        run.summary_version,
        run.summary,
        run.refused,
        run.written_at,
        run.retired,
    )
    connection.execute(
        f"INSERT OR REPLACE INTO runs ({RUN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _summed(values),
    )


def _put_events(
    connection: sqlite3.Connection, table: str, run_id: str, rows: Sequence[EventRow]
) -> None:
    connection.executemany(
        f"INSERT INTO {table} (run_id, version, body, sum) VALUES (?, ?, ?, ?)",
        [(run_id, *_summed((row.version, row.body), run_id)) for row in rows],
    )


def _put_effect(connection: sqlite3.Connection, run_id: str, row: EffectRow) -> None:
    values = (row.name, row.step, row.revision, row.state, row.body)
    connection.execute(
        f"INSERT INTO effects (run_id, {EFFECT}) VALUES (?, ?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (run_id, name, step) DO UPDATE SET revision = excluded.revision, "
        f"state = excluded.state, body = excluded.body, sum = excluded.sum",
        (run_id, *_summed(values, run_id)),
    )


def _signal_values(record: SignalRecord) -> tuple[Any, ...]:
    return (
        record.run_id,
        record.signal_id,
        record.identity,
        record.revision,
        record.claim,
        record.body,
    )


def _add_signal(connection: sqlite3.Connection, record: SignalRecord) -> None:
    connection.execute(
        f"INSERT INTO signals ({SIGNAL}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        _summed(_signal_values(record)),
    )


def _summed(values: tuple[Any, ...], *context: str) -> tuple[Any, ...]:
    """`values` and their checksum, which covers `context` too."""
    text = "\0".join(map(str, (*context, *values)))
    return (*values, zlib.crc32(text.encode("utf-8", "surrogatepass")))


def _whole(row: tuple[Any, ...], *context: str) -> tuple[Any, ...]:
    """The values of a row whose checksum is right."""
    *values, checksum = row
    if _summed(tuple(values), *context)[-1] != checksum:
        shown = ", ".join(repr(value)[:40] for value in (*context, *values[:2]))
        raise StoreCorrupt(f"a stored row is damaged: its checksum is wrong ({shown}, …)")
    return tuple(values)
