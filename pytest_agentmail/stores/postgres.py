"""A store in PostgreSQL: for runs whose lives are on several machines."""

# ruff: noqa: S608 - statements are put together from constants of this module; values are bound
from __future__ import annotations

from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

from pytest_agentmail.errors import SettingsError, StaleVersion
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
from pytest_agentmail.stores.postgres_session import Session
from pytest_agentmail.stores.protocol import (
    EffectRow,
    EventRow,
    RunDump,
    RunLog,
    RunRow,
    SignalRecord,
    Write,
)
from pytest_agentmail.stores.urls import masked_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_agentmail.stores.postgres_session import Cursor

__all__ = ["PostgresStore"]

SCHEMA_VERSION = 1
SCHEMA_LOCK = 0x41474D4C

SCHEMA = """
CREATE TABLE agentmail_schema (version INTEGER NOT NULL);
CREATE TABLE agentmail_runs (
    run_id TEXT PRIMARY KEY, life INTEGER NOT NULL, version INTEGER NOT NULL, snapshot TEXT,
    summary_version INTEGER NOT NULL, summary TEXT, refused INTEGER NOT NULL,
    written_at TEXT NOT NULL, retired TEXT
);
CREATE TABLE agentmail_events (
    run_id TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run_id, version)
);
CREATE TABLE agentmail_archive (
    run_id TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run_id, version)
);
CREATE TABLE agentmail_effects (
    number BIGINT GENERATED ALWAYS AS IDENTITY, run_id TEXT NOT NULL, name TEXT NOT NULL,
    step TEXT NOT NULL, revision INTEGER NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run_id, name, step)
);
CREATE INDEX agentmail_effects_by_state ON agentmail_effects (run_id, state);
CREATE TABLE agentmail_signals (
    number BIGINT GENERATED ALWAYS AS IDENTITY, run_id TEXT NOT NULL, signal_id TEXT NOT NULL,
    identity TEXT NOT NULL, revision INTEGER NOT NULL, claim TEXT, body TEXT NOT NULL,
    PRIMARY KEY (run_id, signal_id), UNIQUE (run_id, identity), UNIQUE (run_id, claim)
);
"""

RUN = (
    "r.run_id, r.life, r.version, r.snapshot, r.summary_version, r.summary, r.refused, "
    "r.written_at, r.retired"
)
EFFECT = "name, step, revision, state, body"
SIGNAL = "run_id, signal_id, identity, revision, claim, body"


class PostgresStore:
    """Keeps runs in the database at `url`, whose tables are made if there are none.

    Threads share one connection, in turn. A forked child opens its own.

    Raises:
        SettingsError: If the URL does not do, or the tables are of a newer version.
        StoreUnavailable: If the server cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self._session = Session(url)
        version = self._session.run(_prepare)
        if version != SCHEMA_VERSION:
            self._session.close()
            raise SettingsError(
                f"the store {masked_url(url)} has schema {version}, this version of "
                f"pytest-agentmail reads schema {SCHEMA_VERSION}; use the version that wrote it, "
                f"or another database"
            )

    def take_over(self, run_id: str) -> int:
        """See `Store.take_over`."""

        def work(cursor: Cursor) -> int:
            cursor.execute(
                "INSERT INTO agentmail_runs AS r VALUES (%s, 1, 0, NULL, 0, NULL, 0, '', NULL) "
                "ON CONFLICT (run_id) DO UPDATE SET life = r.life + 1 RETURNING life",
                (run_id,),
            )
            row = cursor.fetchone()
            return int(row[0]) if row else 0

        return self._session.run(work)

    def load(self, run_id: str) -> RunRow | None:
        """See `Store.load`."""
        return self._session.run(lambda cursor: _run(cursor, run_id))

    def log(self, run_id: str, after: int = 0) -> RunLog | None:
        """See `Store.log`."""

        def work(cursor: Cursor) -> RunLog | None:
            # One statement, so that the run and its events are of one moment.
            rows = cursor.execute(
                f"SELECT {RUN}, e.version, e.body FROM agentmail_runs r "
                f"LEFT JOIN agentmail_events e ON e.run_id = r.run_id AND e.version > %s "
                f"WHERE r.run_id = %s ORDER BY e.version",
                (after, run_id),
            ).fetchall()
            if not rows:
                return None
            run = RunRow(*rows[0][:-2])
            events = tuple(EventRow(*row[-2:]) for row in rows if row[-1] is not None)
            return RunLog(run, gapless(run, events, after))

        return self._session.run(work)

    def archived(self, run_id: str) -> tuple[EventRow, ...]:
        """See `Store.archived`."""
        query = "SELECT version, body FROM agentmail_archive WHERE run_id = %s ORDER BY version"
        rows = self._rows(query, run_id)
        return tuple(EventRow(*row) for row in rows)

    def effects(self, run_id: str, state: str | None = None) -> tuple[EffectRow, ...]:
        """See `Store.effects`."""
        query = f"SELECT {EFFECT} FROM agentmail_effects WHERE run_id = %s"
        if state is None:
            rows = self._rows(f"{query} ORDER BY number", run_id)
        else:
            rows = self._rows(f"{query} AND state = %s ORDER BY number", run_id, state)
        return tuple(EffectRow(*row) for row in rows)

    def effect(self, run_id: str, name: str, step: str) -> EffectRow | None:
        """See `Store.effect`."""
        return self._session.run(lambda cursor: _effect(cursor, run_id, name, step))

    def commit(self, run_id: str, write: Write) -> None:
        """See `Store.commit`."""

        def work(cursor: Cursor) -> StaleVersion | None:
            run = check_life(run_id, _locked(cursor, run_id), write.life)
            try:
                check_version(run, write.expected_version)
            except StaleVersion as refusal:
                _update(cursor, replace(run, refused=run.refused + 1))
                return refusal
            if write.effect is not None:
                new = write.effect
                check_effect(_effect(cursor, run_id, new.name, new.step), new)
                _put_effect(cursor, run_id, new)
            run = replace(run, written_at=write.at)
            if write.events:
                _put_events(cursor, "agentmail_events", run_id, write.events)
                run = replace(run, version=write.events[-1].version, snapshot=write.snapshot)
            _update(cursor, run)
            return None

        refusal = self._session.run(work)
        if refusal is not None:
            raise refusal

    def compact(self, run_id: str, life: int, version: int, summary: str) -> None:
        """See `Store.compact`."""

        def work(cursor: Cursor) -> None:
            run = check_life(run_id, _locked(cursor, run_id), life)
            if not run.summary_version < version <= run.version:
                raise StaleVersion(version, run.summary_version)
            cursor.execute(
                "WITH moved AS (DELETE FROM agentmail_events WHERE run_id = %s AND version <= %s "
                "RETURNING run_id, version, body) INSERT INTO agentmail_archive "
                "SELECT * FROM moved",
                (run_id, version),
            )
            _update(cursor, replace(run, summary_version=version, summary=summary))

        self._session.run(work)

    def runs(self) -> tuple[RunRow, ...]:
        """See `Store.runs`."""
        rows = self._rows(f'SELECT {RUN} FROM agentmail_runs r ORDER BY r.run_id COLLATE "C"')
        return tuple(RunRow(*row) for row in rows)

    def restore(self, dump: RunDump) -> None:
        """See `Store.restore`."""
        run_id = dump.run.run_id

        def work(cursor: Cursor) -> None:
            cursor.execute(
                "INSERT INTO agentmail_runs VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) "
                "ON CONFLICT (run_id) DO NOTHING",
                astuple(dump.run),
            )
            if not cursor.rowcount:
                raise StaleVersion(0, _locked_version(cursor, run_id))
            _put_events(cursor, "agentmail_archive", run_id, dump.archived)
            _put_events(cursor, "agentmail_events", run_id, dump.events)
            for effect in dump.effects:
                _put_effect(cursor, run_id, effect)
            for signal in dump.signals:
                _add_signal(cursor, signal)

        self._session.run(work)

    def retire(self, run_id: str, expected_version: int, note: str) -> None:
        """See `Store.retire`."""

        def work(cursor: Cursor) -> None:
            run = known(run_id, _locked(cursor, run_id))
            check_version(run, expected_version)
            for table in ("events", "archive", "effects", "signals"):
                cursor.execute(f"DELETE FROM agentmail_{table} WHERE run_id = %s", (run_id,))
            _update(cursor, retired(run, note))

        self._session.run(work)

    def add(self, record: SignalRecord) -> SignalRecord:
        """See `SignalStore.add`."""

        def work(cursor: Cursor) -> SignalRecord:
            _add_signal(cursor, record)
            row = cursor.execute(
                f"SELECT {SIGNAL} FROM agentmail_signals WHERE run_id = %s AND identity = %s",
                (record.run_id, record.identity),
            ).fetchone()
            return record if row is None else SignalRecord(*row)

        return self._session.run(work)

    def signals(self, run_id: str) -> tuple[SignalRecord, ...]:
        """See `SignalStore.signals`."""
        query = f"SELECT {SIGNAL} FROM agentmail_signals WHERE run_id = %s ORDER BY number"
        return tuple(SignalRecord(*row) for row in self._rows(query, run_id))

    def replace(self, record: SignalRecord, *, expected: int) -> SignalRecord:
        """See `SignalStore.replace`."""

        def work(cursor: Cursor) -> SignalRecord:
            # Locking all signals of the run keeps two of them from claiming one message.
            rows = cursor.execute(
                f"SELECT {SIGNAL} FROM agentmail_signals WHERE run_id = %s "
                f"ORDER BY number FOR UPDATE",
                (record.run_id,),
            ).fetchall()
            kept = {row[1]: SignalRecord(*row) for row in rows}
            check_signal(kept.get(record.signal_id), expected)
            for other in kept.values():
                if other.signal_id != record.signal_id and other.claim == record.claim is not None:
                    raise claimed_elsewhere(record, other.signal_id)
            placed = replace(record, revision=expected + 1)
            cursor.execute(
                "UPDATE agentmail_signals SET identity = %s, revision = %s, claim = %s, "
                "body = %s WHERE run_id = %s AND signal_id = %s",
                (*astuple(placed)[2:], record.run_id, record.signal_id),
            )
            return placed

        return self._session.run(work)

    def close(self) -> None:
        """See `Store.close`."""
        self._session.close()

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._session.run(lambda cursor: cursor.execute(query, values).fetchall())


def _prepare(cursor: Cursor) -> int:
    """The version of the tables, made if there are none."""
    cursor.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
    cursor.execute("SELECT to_regclass('agentmail_schema') IS NOT NULL")
    if cursor.fetchone() == (False,):
        cursor.execute(SCHEMA)
        cursor.execute("INSERT INTO agentmail_schema VALUES (%s)", (SCHEMA_VERSION,))
    row = cursor.execute("SELECT max(version) FROM agentmail_schema").fetchone()
    return int(row[0]) if row and row[0] is not None else 0


def _run(cursor: Cursor, run_id: str, lock: str = "") -> RunRow | None:
    query = f"SELECT {RUN} FROM agentmail_runs r WHERE r.run_id = %s {lock}"
    row = cursor.execute(query, (run_id,)).fetchone()
    return None if row is None else RunRow(*row)


def _locked(cursor: Cursor, run_id: str) -> RunRow | None:
    return _run(cursor, run_id, "FOR UPDATE")


def _locked_version(cursor: Cursor, run_id: str) -> int:
    run = _locked(cursor, run_id)
    return 0 if run is None else run.version


def _update(cursor: Cursor, run: RunRow) -> None:
    cursor.execute(
        "UPDATE agentmail_runs SET life = %s, version = %s, snapshot = %s, summary_version = %s, "
        "summary = %s, refused = %s, written_at = %s, retired = %s WHERE run_id = %s",
        (*astuple(run)[1:], run.run_id),
    )


def _effect(cursor: Cursor, run_id: str, name: str, step: str) -> EffectRow | None:
    row = cursor.execute(
        f"SELECT {EFFECT} FROM agentmail_effects WHERE run_id = %s AND name = %s AND step = %s",
        (run_id, name, step),
    ).fetchone()
    return None if row is None else EffectRow(*row)


def _put_effect(cursor: Cursor, run_id: str, row: EffectRow) -> None:
    cursor.execute(
        f"INSERT INTO agentmail_effects (run_id, {EFFECT}) VALUES (%s, %s, %s, %s, %s, %s) "
        f"ON CONFLICT (run_id, name, step) DO UPDATE SET revision = excluded.revision, "
        f"state = excluded.state, body = excluded.body",
        (run_id, *astuple(row)),
    )


def _put_events(cursor: Cursor, table: str, run_id: str, rows: Sequence[EventRow]) -> None:
    for row in rows:
        cursor.execute(
            f"INSERT INTO {table} (run_id, version, body) VALUES (%s, %s, %s)",
            (run_id, row.version, row.body),
        )


def _add_signal(cursor: Cursor, record: SignalRecord) -> None:
    cursor.execute(
        f"INSERT INTO agentmail_signals ({SIGNAL}) VALUES (%s, %s, %s, %s, %s, %s) "
        f"ON CONFLICT (run_id, identity) DO NOTHING",
        astuple(record),
    )
