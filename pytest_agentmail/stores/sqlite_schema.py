"""The file a SQLite store lives in: how it is made, recognised and trusted."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from pytest_agentmail.errors import SettingsError, StoreCorrupt

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["connect", "create", "examine"]

APPLICATION_ID = 0x41474D4C  # "AGML"
SCHEMA_VERSION = 1
BUSY_TIMEOUT = 30.0
FULL = 2

# `sum` is a checksum of the row: SQLite notices a torn page, not a flipped bit inside a value.
SCHEMA = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, life INTEGER NOT NULL, version INTEGER NOT NULL, snapshot TEXT,
    sum INTEGER NOT NULL, summary_version INTEGER NOT NULL, summary TEXT,
    summary_sum INTEGER NOT NULL, refused INTEGER NOT NULL, written_at TEXT NOT NULL, retired TEXT
) WITHOUT ROWID;
CREATE TABLE events (
    run_id TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (run_id, version)
) WITHOUT ROWID;
CREATE TABLE archive (
    run_id TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (run_id, version)
) WITHOUT ROWID;
CREATE TABLE effects (
    number INTEGER PRIMARY KEY, run_id TEXT NOT NULL, name TEXT NOT NULL, step TEXT NOT NULL,
    revision INTEGER NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL, sum INTEGER NOT NULL,
    UNIQUE (run_id, name, step)
);
CREATE INDEX effects_by_state ON effects (run_id, state);
CREATE TABLE signals (
    number INTEGER PRIMARY KEY, run_id TEXT NOT NULL, signal_id TEXT NOT NULL,
    identity TEXT NOT NULL, revision INTEGER NOT NULL, claim TEXT, body TEXT NOT NULL,
    sum INTEGER NOT NULL,
    UNIQUE (run_id, signal_id), UNIQUE (run_id, identity), UNIQUE (run_id, claim)
);
"""


def create(path: Path) -> None:
    """Make the file, whole or not at all, unless somebody did so meanwhile.

    So a file that is empty was never one of ours: it was cut, and is not taken for a first run.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(
                f"BEGIN; PRAGMA application_id = {APPLICATION_ID};"
                f"PRAGMA user_version = {SCHEMA_VERSION}; {SCHEMA} COMMIT;"
                f"PRAGMA journal_mode = WAL;"
            )
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        _sync_directory(path.parent)
    except (OSError, sqlite3.Error) as error:
        raise SettingsError(f"the store {path} cannot be made: {error}") from error
    finally:
        draft.unlink(missing_ok=True)


def connect(path: Path) -> sqlite3.Connection:
    """A connection that loses nothing it acknowledged: WAL and synchronous FULL, read back."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=BUSY_TIMEOUT,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _make_safe(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def examine(connection: sqlite3.Connection, path: Path) -> None:
    """Raise unless the file is one of ours, of a version we know, and whole."""
    application = _value(connection, "PRAGMA application_id")
    if application != APPLICATION_ID:
        raise SettingsError(
            f"{path} is a SQLite database of another application (id {application}); "
            f"name a file of its own for the runs"
        )
    version = _value(connection, "PRAGMA user_version")
    if version != SCHEMA_VERSION:
        raise SettingsError(
            f"the store {path} has schema {version}, this version of pytest-agentmail reads "
            f"schema {SCHEMA_VERSION}; use the version that wrote it, or a new file"
        )
    found = _value(connection, "PRAGMA quick_check(1)")
    if found != "ok":
        raise StoreCorrupt(f"the store {path} is damaged: {found}")


def _make_safe(connection: sqlite3.Connection, path: Path) -> None:
    mode = _value(connection, "PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    synchronous = _value(connection, "PRAGMA synchronous")
    if (mode, synchronous) != ("wal", FULL):
        raise SettingsError(
            f"the store {path} cannot be kept safe: journal {mode}, synchronous {synchronous}, "
            f"and it takes wal and {FULL}; network file systems do not allow that, use a local "
            f"disk or PostgreSQL"
        )


def _value(connection: sqlite3.Connection, statement: str) -> object:
    row = connection.execute(statement).fetchone()
    return None if row is None else row[0]


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
