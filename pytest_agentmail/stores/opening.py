"""Opening a store by its URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.stores.urls import checked_url, sqlite_path

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_agentmail.stores.memory import MemoryStore
    from pytest_agentmail.stores.postgres import PostgresStore
    from pytest_agentmail.stores.sqlite import SQLiteStore

__all__ = ["open_store"]


def open_store(url: str, *, path: Path | None = None) -> MemoryStore | SQLiteStore | PostgresStore:
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
