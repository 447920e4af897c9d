"""Stores by their URL."""

from __future__ import annotations

import pytest

from pytest_agentmail.errors import SettingsError, StoreUnavailable
from pytest_agentmail.stores.memory import MemoryStore
from pytest_agentmail.stores.opening import open_store
from pytest_agentmail.stores.postgres import PostgresStore
from pytest_agentmail.stores.sqlite import SQLiteStore


def test_memory():
    assert isinstance(open_store("memory"), MemoryStore)


@pytest.mark.parametrize("url", ["sqlite:///{}/my%20runs.db", "sqlite"])
def test_sqlite(tmp_path, url):
    path = tmp_path / "my runs.db"
    store = open_store(url.format(tmp_path), path=path)
    assert isinstance(store, SQLiteStore)
    assert path.exists()
    store.close()


def test_sqlite_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open_store("sqlite:///runs.db").close()
    assert (tmp_path / "runs.db").exists()


def test_postgresql(postgres_url):
    store = open_store(postgres_url)
    assert isinstance(store, PostgresStore)
    store.close()


def test_sqlite_alone_needs_a_file():
    with pytest.raises(SettingsError, match="the store 'sqlite' needs a file: sqlite:///path"):
        open_store("sqlite")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "redis://localhost",
        "sqlite://host/runs.db",
        "sqlite:///",
        "sqlite:///a?mode=ro",
        "memory:",
    ],
)
def test_anything_else_is_named_with_what_is_allowed(url):
    with pytest.raises(SettingsError) as error:
        open_store(url)
    assert str(error.value) == (
        f"there is no store {url!r}; allowed: memory, sqlite, sqlite:///path, postgresql://user@host/database"
    )


def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path):
    url = f"postgresql://ada:s3cret@/app?host={tmp_path}"
    with pytest.raises(StoreUnavailable) as error:
        open_store(url)
    assert str(error.value).startswith(
        "PostgreSQL at postgresql://ada@/app cannot be reached, and nothing was written: "
    )
    assert "s3cret" not in str(error.value)


def test_a_url_that_is_none_is_named():
    with pytest.raises(SettingsError, match="has a URL that PostgreSQL does not understand"):
        open_store("postgresql://host/app?colour=blue")
