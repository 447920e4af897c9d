"""The rows of a SQLite store: read and written with their checksums."""

# ruff: noqa: S608 - statements are put together from constants of this module; values are bound
from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from pytest_agentmail.errors import StaleVersion, StoreCorrupt
from pytest_agentmail.stores.guards import check_life
from pytest_agentmail.stores.protocol import EffectRow, EventRow, RunRow, SignalRecord

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from pytest_agentmail.stores.protocol import Write

RUN = (
    "run_id, life, version, snapshot, sum, summary_version, summary, summary_sum, "
    "refused, written_at, retired"
)
EFFECT = "name, step, revision, state, body, sum"
SIGNAL = "run_id, signal_id, identity, revision, claim, body, sum"


def run_row(connection: sqlite3.Connection, run_id: str) -> RunRow | None:
    """The row of a run."""
    row = connection.execute(f"SELECT {RUN} FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    return None if row is None else run_of(row)


def run_of(row: tuple[Any, ...]) -> RunRow:
    """What a row of `runs` holds."""
    run_id, life, version, snapshot = whole(row[:5])
    _, summary_version, summary = whole((run_id, *row[5:8]))
    return RunRow(run_id, life, version, snapshot, summary_version, summary, *row[8:])


def advance(connection: sqlite3.Connection, run_id: str, write: Write) -> bool:
    """Compare and set the run's row; whether it was as the write expects it."""
    condition = "WHERE run_id = ? AND life = ? AND retired IS NULL AND version = ifnull(?, version)"
    expected = (run_id, write.life, write.expected_version)
    if not write.events:
        changed = connection.execute(
            f"UPDATE runs SET written_at = ? {condition}", (write.at, *expected)
        )
    else:
        state = summed((run_id, write.life, write.events[-1].version, write.snapshot))
        changed = connection.execute(
            f"UPDATE runs SET version = ?, snapshot = ?, sum = ?, written_at = ? {condition}",
            (*state[2:], write.at, *expected),
        )
    return changed.rowcount == 1


def refuse(connection: sqlite3.Connection, run_id: str, write: Write) -> StaleVersion:
    """Why the run's row was not as the write expects it; a stale version is counted."""
    current = check_life(run_id, run_row(connection, run_id), write.life)
    connection.execute("UPDATE runs SET refused = refused + 1 WHERE run_id = ?", (run_id,))
    assert write.expected_version is not None
    return StaleVersion(write.expected_version, current.version)


def effect_row(
    connection: sqlite3.Connection, run_id: str, name: str, step: str
) -> EffectRow | None:
    """The row of an effect."""
    row = connection.execute(
        f"SELECT {EFFECT} FROM effects WHERE run_id = ? AND name = ? AND step = ?",
        (run_id, name, step),
    ).fetchone()
    return None if row is None else EffectRow(*whole(row, run_id))


def events(
    connection: sqlite3.Connection, table: str, run_id: str, after: int
) -> tuple[EventRow, ...]:
    """The rows of `events` or `archive` past a version, in order."""
    rows = connection.execute(
        f"SELECT version, body, sum FROM {table} WHERE run_id = ? AND version > ? ORDER BY version",
        (run_id, after),
    )
    return tuple(EventRow(*whole(row, run_id)) for row in rows)


def put_run(connection: sqlite3.Connection, run: RunRow) -> None:
    """Put a whole row of `runs` in the place of the one that is there."""
    state = summed((run.run_id, run.life, run.version, run.snapshot))
    summary = summed((run.run_id, run.summary_version, run.summary))[1:]
    connection.execute(
        f"INSERT OR REPLACE INTO runs ({RUN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*state, *summary, run.refused, run.written_at, run.retired),
    )


def put_events(
    connection: sqlite3.Connection, table: str, run_id: str, rows: Sequence[EventRow]
) -> None:
    """Add rows to `events` or `archive`."""
    for row in rows:
        connection.execute(
            f"INSERT INTO {table} (run_id, version, body, sum) VALUES (?, ?, ?, ?)",
            (run_id, *summed((row.version, row.body), run_id)),
        )


def put_effect(connection: sqlite3.Connection, run_id: str, row: EffectRow) -> None:
    """Add an effect, or put it in the place of the one of its key."""
    values = (row.name, row.step, row.revision, row.state, row.body)
    connection.execute(
        f"INSERT INTO effects (run_id, {EFFECT}) VALUES (?, ?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (run_id, name, step) DO UPDATE SET revision = excluded.revision, "
        f"state = excluded.state, body = excluded.body, sum = excluded.sum",
        (run_id, *summed(values, run_id)),
    )


def signal_values(record: SignalRecord) -> tuple[Any, ...]:
    """The columns of a signal."""
    return (
        record.run_id,
        record.signal_id,
        record.identity,
        record.revision,
        record.claim,
        record.body,
    )


def add_signal(connection: sqlite3.Connection, record: SignalRecord) -> None:
    """Add a signal."""
    connection.execute(
        f"INSERT INTO signals ({SIGNAL}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        summed(signal_values(record)),
    )


def summed(values: tuple[Any, ...], *context: str) -> tuple[Any, ...]:
    """`values` and their checksum, which covers `context` too."""
    text = "\0".join(map(str, (*context, *values)))
    return (*values, zlib.crc32(text.encode("utf-8", "surrogatepass")))


def whole(row: tuple[Any, ...], *context: str) -> tuple[Any, ...]:
    """The values of a row whose checksum is right."""
    *values, checksum = row
    if summed(tuple(values), *context)[-1] != checksum:
        shown = ", ".join(repr(value)[:40] for value in (*context, *values[:2]))
        raise StoreCorrupt(f"a stored row is damaged: its checksum is wrong ({shown}, …)")
    return tuple(values)
