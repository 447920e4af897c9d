"""Our three stores keep the contract (A8, C7, C9, C10; I4 to I9)."""

from __future__ import annotations

import pytest

from pytest_agentmail.contracts import LedgerStoreContract
from pytest_agentmail.stores.memory import MemoryStore
from pytest_agentmail.stores.postgres import PostgresStore
from pytest_agentmail.stores.sqlite import SQLiteStore


class TestMemory(LedgerStoreContract):
    durable = False

    @pytest.fixture
    def open_store(self):
        store = MemoryStore()
        return lambda: store


class TestSQLite(LedgerStoreContract):
    @pytest.fixture
    def open_store(self, tmp_path):
        opened = []

        def open_one():
            opened.append(SQLiteStore(tmp_path / "runs.db"))
            return opened[-1]

        yield open_one
        for store in opened:
            store.close()

    @pytest.fixture
    def store_files(self, tmp_path):
        return [tmp_path / "runs.db"]


class TestPostgres(LedgerStoreContract):
    @pytest.fixture
    def open_store(self, postgres_url):
        opened = []

        def open_one():
            opened.append(PostgresStore(postgres_url))
            return opened[-1]

        yield open_one
        for store in opened:
            store.close()
