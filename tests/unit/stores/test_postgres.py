"""What is particular to PostgreSQL."""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest

from pytest_agentmail.contracts.processes import run_child
from pytest_agentmail.errors import SettingsError, StoreCorrupt, StoreUnavailable
from pytest_agentmail.stores import postgres_session
from pytest_agentmail.stores.postgres import PostgresStore
from pytest_agentmail.stores.postgres_session import Session


def test_a_newer_schema_is_named(postgres_url):
    PostgresStore(postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE agentmail_schema SET version = 7")
    with pytest.raises(
        SettingsError, match=r"has schema 7, this version of pytest-agentmail reads schema 1"
    ):
        PostgresStore(postgres_url)


def test_a_table_that_is_not_ours_any_more(postgres_url):
    with closing(PostgresStore(postgres_url)) as store:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("ALTER TABLE agentmail_runs DROP COLUMN snapshot")
        with pytest.raises(StoreCorrupt, match="what PostgreSQL holds cannot be used: column"):
            store.load("run-1")
        assert store.signals("run-1") == ()


def test_a_forked_child_leaves_the_parents_connection_alone(postgres_url):
    with closing(PostgresStore(postgres_url)) as store:
        store.take_over("run-1")

        def child(say):
            store.close()  # it is not ours to close
            say(str(store.take_over("run-1")))
            store.close()

        assert run_child(child) == (0, "2")
        assert store.take_over("run-1") == 3


def test_a_server_that_is_lost_twice_wrote_nothing(postgres_url):
    with closing(Session(postgres_url)) as session:

        def work(cursor):
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

        with pytest.raises(
            StoreUnavailable, match="PostgreSQL was lost twice in one call, and nothing was written"
        ):
            session.run(work)


def test_a_commit_that_stays_in_progress_is_an_error_that_says_so(postgres_url, monkeypatch):
    """Where the other session may not be ended, nobody can say what will become of it."""
    monkeypatch.setattr(postgres_session, "LOOKS", 2)
    monkeypatch.setattr(postgres_session, "TERMINATE", "SELECT %s, %s")
    with closing(Session(postgres_url)) as session, psycopg.connect(postgres_url) as other:
        transaction = other.execute("SELECT pg_current_xact_id()::text").fetchone()[0]
        session.run(lambda cursor: None)
        with pytest.raises(
            StoreUnavailable, match=r"still in progress there\. It may be written yet"
        ):
            session._committed(transaction, other.info.backend_pid, OSError("reset"))
