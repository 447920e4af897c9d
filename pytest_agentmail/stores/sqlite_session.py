"""The connection of a SQLite store: one per process, used by one thread at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import TYPE_CHECKING

from pytest_agentmail.errors import StoreCorrupt, StoreUnavailable
from pytest_agentmail.stores import sqlite_schema

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Session"]

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


class Session:
    """Gives the connection to the file at `path`, which must be there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._owner = 0
        self.lock: threading.RLock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def reading(self) -> Use:
        """A use that changes nothing."""
        return Use(self, "")

    def snapshot(self) -> Use:
        """A use whose reads are all of one moment."""
        return Use(self, "BEGIN")

    def writing(self) -> Use:
        """A use that is written whole when it ends well, and not at all otherwise."""
        return Use(self, "BEGIN IMMEDIATE")

    def close(self) -> None:
        """Close the connection, if it is this process's."""
        with self.lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
                self._connection = None

    def own(self) -> None:
        """Give a forked child a connection of its own, and a lock nobody holds."""
        if self._owner != os.getpid():
            if self._connection is not None:
                _inherited.append(self._connection)
            self.lock = threading.RLock()
            self._connection, self._owner = None, os.getpid()

    def opened(self) -> sqlite3.Connection:
        """The connection, made if there is none."""
        if self._connection is None:
            self._connection = sqlite_schema.connect(self._path)
        return self._connection

    def translated(self, error: BaseException | None) -> Exception | None:
        """What to raise for an error of SQLite; `None` for any other."""
        if not isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError):
            return None
        if getattr(error, "sqlite_errorname", "").startswith(UNAVAILABLE):
            return StoreUnavailable(
                f"the store {self._path} cannot be used, and nothing was written: {error}"
            )
        return StoreCorrupt(f"the store {self._path} cannot be read: {error}")


class Use:
    """One use of a session's connection: alone, in this process, and ended like it was begun.

    A class, since it is entered several times for each append.
    """

    __slots__ = ("_begin", "_session")

    def __init__(self, session: Session, begin: str) -> None:
        self._session, self._begin = session, begin

    def __enter__(self) -> sqlite3.Connection:
        session = self._session
        session.own()
        session.lock.acquire()
        try:
            connection = session.opened()
            if self._begin:
                connection.execute(self._begin)
        except BaseException as error:
            session.lock.release()
            translated = session.translated(error)
            if translated is None:
                raise
            raise translated from error
        return connection

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        session, connection = self._session, self._session.opened()
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK" if error or not self._begin else "COMMIT")
        except sqlite3.DatabaseError as failed:
            if connection.in_transaction:  # pragma: no branch - SQLite may have done it itself
                connection.execute("ROLLBACK")
            error = failed
        finally:
            session.lock.release()
        translated = session.translated(error)
        if translated is not None:
            raise translated from error
