"""Opening stores by their URLs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeAlias

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.stores.urls import checked_url, sqlite_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_agentmail.stores.memory import MemoryStore
    from pytest_agentmail.stores.postgres import PostgresStore
    from pytest_agentmail.stores.sqlite import SQLiteStore

    AnyStore: TypeAlias = MemoryStore | SQLiteStore | PostgresStore

__all__ = ["Stores", "open_store"]


class Stores:
    """Stores by their URLs, each opened once, when it is first asked for.

    Args:
        path: Gives the file that plain `sqlite` stands for.
    """

    def __init__(self, path: Callable[[], Path]) -> None:
        self._path = path
        self._opened: dict[str, AnyStore] = {}
        self._lock = threading.Lock()

    def at(self, url: str) -> AnyStore:
        """The store at `url`.

        Raises:
            SettingsError: It cannot be used as it is; the text names it.
            StoreCorrupt: It cannot be read.
            StoreUnavailable: It cannot be reached.
        """
        with self._lock:
            if url not in self._opened:
                path = self._path() if url == "sqlite" else None
                self._opened[url] = open_store(url, path=path)
            return self._opened[url]

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            for store in self._opened.values():
                store.close()


def open_store(url: str, *, path: Path | None = None) -> AnyStore:
    """The store at `url`.

    Args:
        url: `memory`, `sqlite`, `sqlite:///relative`, `sqlite:////absolute` or `postgresql://…`.
        path: The file that plain `sqlite` stands for.

    Raises:
        SettingsError: If the URL is not one of these, or the store cannot be used as it is.
        StoreCorrupt: If it cannot be read.
    """
    try:
        scheme, _, _ = checked_url(url).partition(":")
    except ValueError as error:
        raise SettingsError(str(error)) from error
    if scheme == "memory":
        from pytest_agentmail.stores.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite":
        from pytest_agentmail.stores.sqlite import SQLiteStore

        return SQLiteStore(_file(url, path))
    from pytest_agentmail.stores.postgres import PostgresStore

    return PostgresStore(url)


def _file(url: str, path: Path | None) -> str | Path:
    if url != "sqlite":
        return sqlite_path(url)
    if path is None:
        raise SettingsError("the store 'sqlite' needs a file: sqlite:///path")
    return path
