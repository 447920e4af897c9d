"""Opening a store by its URL."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pytest_agentmail.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_agentmail.stores.memory import MemoryStore
    from pytest_agentmail.stores.postgres import PostgresStore
    from pytest_agentmail.stores.sqlite import SQLiteStore

__all__ = ["open_store"]

ALLOWED = "memory, sqlite, sqlite:///path, postgresql://user@host/database"


def open_store(url: str, *, path: Path | None = None) -> MemoryStore | SQLiteStore | PostgresStore:
    """The store at `url`.

    Args:
        url: `memory`, `sqlite`, `sqlite:///relative`, `sqlite:////absolute` or `postgresql://…`.
        path: The file that plain `sqlite` stands for.

    Raises:
        SettingsError: If the URL is not one of these, or the store cannot be used as it is.
        StoreCorrupt: If it cannot be read.
    """
    scheme, _, _ = url.partition(":")
    if url == "memory":
        from pytest_agentmail.stores.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite":
        from pytest_agentmail.stores.sqlite import SQLiteStore

        return SQLiteStore(_file(url, path))
    if scheme in ("postgresql", "postgres"):
        from pytest_agentmail.stores.postgres import PostgresStore

        return PostgresStore(url)
    raise SettingsError(f"there is no store {url!r}; allowed: {ALLOWED}")


def _file(url: str, path: Path | None) -> str | Path:
    if url == "sqlite":
        if path is None:
            raise SettingsError("the store 'sqlite' needs a file: sqlite:///path")
        return path
    parts = urlsplit(url)
    if parts.netloc or parts.query or parts.fragment or len(parts.path) < 2:  # noqa: PLR2004
        raise SettingsError(f"there is no store {url!r}; allowed: {ALLOWED}")
    return unquote(parts.path[1:])
