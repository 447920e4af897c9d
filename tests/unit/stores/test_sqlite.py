"""The file of a SQLite store: made whole, recognised, kept safe, given back."""

from __future__ import annotations

import gc
import os
import sqlite3
from contextlib import closing

import pytest

from pytest_agentmail.contracts.processes import run_child
from pytest_agentmail.errors import SettingsError, StoreCorrupt, StoreUnavailable
from pytest_agentmail.stores import sqlite_schema
from pytest_agentmail.stores.protocol import SignalRecord
from pytest_agentmail.stores.sqlite import SQLiteStore


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


def test_it_is_safe_against_power_loss(path):
    with closing(SQLiteStore(path)) as store:
        connection = store._session.opened()
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_journal_that_cannot_be_made_safe_is_refused(path, monkeypatch):
    SQLiteStore(path).close()
    monkeypatch.setattr(sqlite_schema, "FULL", 3)
    with pytest.raises(SettingsError) as error:
        SQLiteStore(path)
    assert str(error.value) == (
        f"the store {path} cannot be kept safe: journal wal, synchronous 2, and it takes wal and 3; "
        "network file systems do not allow that, use a local disk or PostgreSQL"
    )


def test_a_file_of_another_application_is_left_alone(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 42")
        connection.execute("CREATE TABLE t (a)")
    with pytest.raises(SettingsError) as error:
        SQLiteStore(path)
    assert str(error.value) == (
        f"{path} is a SQLite database of another application (id 42); name a file of its own for the runs"
    )
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("t",)]


def test_a_newer_schema_is_named(path):
    SQLiteStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(SettingsError) as error:
        SQLiteStore(path)
    assert str(error.value) == (
        f"the store {path} has schema 7, this version of pytest-agentmail reads schema 1; "
        "use the version that wrote it, or a new file"
    )


def test_an_emptied_file_is_no_first_run(path):
    path.write_bytes(b"")
    with pytest.raises(StoreCorrupt) as error:
        SQLiteStore(path)
    assert str(error.value) == (
        f"the store {path} is empty: what was in it is lost. Remove the file to begin anew"
    )


def test_a_file_that_is_no_database(path):
    path.write_bytes(b"nonsense" * 1000)
    with pytest.raises(StoreCorrupt, match="cannot be read: file is not a database"):
        SQLiteStore(path)


def test_a_damaged_page_is_found_on_opening(path):
    with closing(SQLiteStore(path)) as store:
        for number in range(300):
            store.take_over(f"run-{number}")
    data = bytearray(path.read_bytes())
    page = 4096 * 1
    data[page + 5 : page + 60] = os.urandom(55)
    path.write_bytes(data)
    with pytest.raises(StoreCorrupt, match=r"is damaged|cannot be read"):
        SQLiteStore(path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(SettingsError, match=r"the store .*runs.db cannot be made: unable to open"):
        SQLiteStore(tmp_path / "nowhere" / "runs.db")


def test_one_maker_wins(path):
    """Two processes make the file at once: it is there whole, and nobody's work is lost."""
    with closing(SQLiteStore(path)) as store:
        store.take_over("run-1")
        sqlite_schema.create(path)
        assert store.take_over("run-1") == 2
    assert [entry.name for entry in path.parent.iterdir()] == ["runs.db"]


def test_a_writer_that_holds_on_makes_others_say_so(path, monkeypatch):
    monkeypatch.setattr(sqlite_schema, "BUSY_TIMEOUT", 0.01)
    with (
        closing(SQLiteStore(path)) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable) as error:
            store.take_over("run-1")
        other.execute("ROLLBACK")
        assert str(error.value) == (
            f"the store {path} cannot be used, and nothing was written: database is locked"
        )
        assert store.take_over("run-1") == 1


def test_a_forked_child_leaves_the_parents_connection_alone(path):
    with closing(SQLiteStore(path)) as store:
        store.take_over("run-1")

        def child(say):
            store.close()  # it is not ours to close
            say(str(store.take_over("run-1")))
            store.close()
            gc.collect()

        assert run_child(child) == (0, "2")
        assert store.take_over("run-1") == 3


def test_a_commit_that_fails_writes_nothing(path):
    def no_commit(action, argument, *_):
        denied = action == sqlite3.SQLITE_TRANSACTION and argument == "COMMIT"
        return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK

    with closing(SQLiteStore(path)) as store:
        connection = store._session.opened()
        connection.set_authorizer(no_commit)
        with pytest.raises(StoreCorrupt, match="not authorized"):
            store.take_over("run-1")
        connection.set_authorizer(None)
        assert store.load("run-1") is None
        assert store.take_over("run-1") == 1


def test_a_damaged_row_is_named(path):
    with closing(SQLiteStore(path)) as store:
        store.add(SignalRecord("run-1", "s1", "identity", 1, None, "{}"))
        with closing(sqlite3.connect(path)) as other:
            other.execute("UPDATE signals SET body = '[]'")
            other.commit()
        with pytest.raises(StoreCorrupt) as error:
            store.signals("run-1")
        assert str(error.value) == (
            "a stored row is damaged: its checksum is wrong ('run-1', 's1', …)"
        )


def test_a_lost_event_is_noticed(path):
    from pytest_agentmail.stores.protocol import EventRow, Write

    with closing(SQLiteStore(path)) as store:
        life = store.take_over("run-1")
        for version in (1, 2):
            store.commit("run-1", Write(life, "", version - 1, (EventRow(version, "{}"),), "{}"))
        with closing(sqlite3.connect(path)) as other:
            other.execute("DELETE FROM events WHERE version = 1")
            other.commit()
        with pytest.raises(StoreCorrupt) as error:
            store.log("run-1")
        assert str(error.value) == (
            "run 'run-1' is at version 2, but of its events 1 to 2 the store holds [2]"
        )


def test_a_run_that_is_gone_takes_no_writes(path):
    from pytest_agentmail.stores.protocol import Write

    with closing(SQLiteStore(path)) as store:
        with pytest.raises(
            StoreCorrupt, match="run 'run-1' is gone from the store, though a life of it"
        ):
            store.commit("run-1", Write(1, ""))
        with pytest.raises(SettingsError, match="the store holds no run 'run-1'"):
            store.retire("run-1", 0, "nowhere")


def test_a_superseding_life_is_named_to_a_retired_run(path):
    with closing(SQLiteStore(path)) as store:
        store.take_over("run-1")
        store.retire("run-1", 0, "/archive/1")
        row = store.load("run-1")
        assert (row.retired, row.version) == ("/archive/1", 0)
