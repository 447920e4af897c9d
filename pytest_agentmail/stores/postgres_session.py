"""Talking to PostgreSQL so that a lost answer is looked up, never guessed."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_agentmail.errors import SettingsError, StoreUnavailable

try:
    import psycopg
except ImportError as error:  # pragma: no cover - the test suite installs the extra
    raise SettingsError(
        "a postgresql:// store needs psycopg: pip install 'pytest-agentmail[postgres]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Callable

    Cursor = psycopg.Cursor[tuple[Any, ...]]
    Connection = psycopg.Connection[tuple[Any, ...]]
    T = TypeVar("T")

__all__ = ["Session"]

LOST = (psycopg.OperationalError, psycopg.InterfaceError)

# As with SQLite: an inherited connection is the parent's, and must not be closed here.
_inherited: list[Any] = []


class Session:
    """One connection per process, made when it is needed and again when it was lost."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._owner = 0
        self._lock = threading.RLock()
        self._connection: Connection | None = None

    def run(self, work: Callable[[Cursor], T]) -> T:
        """What `work` gives, its statements committed as one transaction.

        An exception of `work` undoes them. If the connection is lost before the commit was
        asked for, nothing was written, and `work` is done again, once. If it is lost while the
        commit is under way, the server is asked what became of it.

        Raises:
            StoreUnavailable: If the server cannot be reached.
        """
        self._own()
        with self._lock:
            try:
                return self._attempt(work)
            except _Undone:
                pass
            try:
                return self._attempt(work)
            except _Undone as error:
                raise StoreUnavailable(
                    f"PostgreSQL was lost twice, nothing was written: {error}"
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
                cursor.execute("SELECT pg_current_xact_id_if_assigned()::text")
                result = work(cursor)
                cursor.execute("SELECT pg_current_xact_id_if_assigned()::text")
                transaction = _first(cursor)
        except LOST as error:
            self._drop()
            raise _Undone(_line(error)) from error
        except BaseException:
            self._roll_back(connection)
            raise
        try:
            connection.commit()
        except LOST as error:
            self._drop()
            if transaction is not None and not self._committed(transaction, error):
                raise _Undone(_line(error)) from error
        return result

    def _committed(self, transaction: str, lost: Exception) -> bool:
        """What became of a transaction whose commit was not answered."""
        try:
            with self._opened().cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                               "WHERE backend_xid::text::bigint = %s::bigint %% 4294967296", (transaction,))
                cursor.execute("SELECT pg_xact_status(%s::xid8)", (transaction,))
                return _first(cursor) == "committed"
        except LOST as error:
            self._drop()
            raise StoreUnavailable(
                f"PostgreSQL was lost during a commit ({_line(lost)}) and cannot be asked what "
                f"became of it ({_line(error)}); read the run again before going on"
            ) from error
