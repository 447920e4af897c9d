"""Talking to PostgreSQL so that a lost answer is looked up, never guessed."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_agentmail.errors import SettingsError, StoreCorrupt, StoreUnavailable
from pytest_agentmail.stores.urls import masked_url

try:
    import psycopg
except ImportError as _error:  # pragma: no cover - the tests install the extra
    raise SettingsError(
        "a postgresql:// store needs psycopg: pip install 'pytest-agentmail[postgres]'"
    ) from _error

if TYPE_CHECKING:
    from collections.abc import Callable

    Cursor = psycopg.Cursor[tuple[Any, ...]]
    Connection = psycopg.Connection[tuple[Any, ...]]
    T = TypeVar("T")

__all__ = ["Session"]

CONNECT_TIMEOUT = 10
LOOKS = 100
PAUSE = 0.05

# An inherited connection is the parent's: closing it here, even by the garbage collector, would
# end the parent's session. So a forked child keeps what it found.
_inherited: list[Any] = []


class Session:
    """One connection per process, made when it is needed, and again when it was lost.

    Raises:
        SettingsError: On first use, if the URL or the rights of the user do not do.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._owner = 0
        self._lock = threading.RLock()
        self._connection: Connection | None = None

    def run(self, work: Callable[[Cursor], T]) -> T:
        """What `work` gives, its statements committed as one transaction.

        An exception of `work` undoes them. If the connection is lost before the commit was
        asked for, nothing was written, and `work` is done once more. If it is lost while the
        commit is under way, the server is asked what became of it.

        Raises:
            StoreUnavailable: If the server cannot be reached.
        """
        self._own()
        with self._lock:
            try:
                return self._attempt(work)
            except _NotWritten:
                pass
            try:
                return self._attempt(work)
            except _NotWritten as error:
                raise StoreUnavailable(
                    f"PostgreSQL was lost twice in one call, and nothing was written: {error}"
                ) from error

    def close(self) -> None:
        """Give the connection back."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
                self._connection = None

    def _attempt(self, work: Callable[[Cursor], T]) -> T:
        connection = self._opened()
        try:
            with connection.cursor() as cursor:
                result = work(cursor)
                transaction = _value(cursor, "SELECT pg_current_xact_id_if_assigned()::text")
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self._drop()
            raise _NotWritten(_first_line(error)) from error
        except psycopg.Error as error:
            connection.rollback()
            raise StoreCorrupt(
                f"what PostgreSQL holds cannot be used: {_first_line(error)}"
            ) from error
        except BaseException:
            connection.rollback()
            raise
        backend = connection.info.backend_pid
        try:
            connection.commit()
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self._drop()
            if transaction is not None and not self._committed(transaction, backend, error):
                raise _NotWritten(_first_line(error)) from error
        return result

    def _committed(self, transaction: str, backend: int, lost: Exception) -> bool:
        """What became of a transaction whose commit was not answered."""
        try:
            connection = self._opened()
            for _ in range(LOOKS):
                with connection.cursor() as cursor:
                    status = _value(cursor, "SELECT pg_xact_status(%s::xid8)", transaction)
                    if status != "in progress":
                        connection.rollback()
                        return bool(status == "committed")
                    # It may never have got the commit, and wait for it for ever.
                    _value(cursor, TERMINATE, backend, transaction)
                    _value(cursor, "SELECT pg_sleep(%s)", PAUSE)
                    connection.rollback()
        except (psycopg.Error, StoreUnavailable) as error:
            self._drop()
            raise StoreUnavailable(
                f"PostgreSQL was lost during a commit ({_first_line(lost)}), and cannot be asked "
                f"what became of it ({_first_line(error)}). It may have been written: read the "
                f"run again before going on"
            ) from error
        raise StoreUnavailable(
            f"PostgreSQL was lost during a commit ({_first_line(lost)}), which is still in "
            f"progress there. It may be written yet: read the run again before going on"
        )

    def _own(self) -> None:
        """Give a forked child a connection of its own, and a lock nobody holds."""
        if self._owner != os.getpid():
            if self._connection is not None:
                _inherited.append(self._connection)
            self._lock, self._connection, self._owner = threading.RLock(), None, os.getpid()

    def _opened(self) -> Connection:
        if self._connection is None:
            try:
                self._connection = psycopg.connect(self._url, connect_timeout=CONNECT_TIMEOUT)
            except psycopg.ProgrammingError as error:
                raise SettingsError(
                    f"the store {masked_url(self._url)} has a URL that PostgreSQL does not "
                    f"understand: {_first_line(error)}"
                ) from error
            except psycopg.OperationalError as error:
                raise StoreUnavailable(
                    f"PostgreSQL at {masked_url(self._url)} cannot be reached, and nothing was "
                    f"written: {_first_line(error)}"
                ) from error
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


TERMINATE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE pid = %s AND backend_xid::text::bigint = %s::bigint %% 4294967296"
)


class _NotWritten(Exception):
    """The connection was lost, and the transaction with it."""


def _value(cursor: Cursor, statement: str, *values: Any) -> Any:
    row = cursor.execute(statement, values or None).fetchone()
    return None if row is None else row[0]


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
