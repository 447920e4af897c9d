"""Stores with one fault each: the contract finds each, and blames the clause it breaks."""

from __future__ import annotations

import textwrap

import pytest

HEAD = """
import os, re, json, threading, time
from dataclasses import replace
import pytest
from pytest_agentmail.contracts import LedgerStoreContract
from pytest_agentmail.errors import StaleVersion, StoreCorrupt
from pytest_agentmail.stores.guards import check_life
from pytest_agentmail.stores.memory import MemoryStore
from pytest_agentmail.stores.protocol import EventRow, RunRow, Write
from pytest_agentmail.stores.sqlite import SQLiteStore

class InMemory(LedgerStoreContract):
    durable = False

    @pytest.fixture
    def open_store(self):
        store = self.Store()
        return lambda: store

class InFile(LedgerStoreContract):
    @pytest.fixture
    def open_store(self, tmp_path):
        opened = []
        def open_one():
            opened.append(self.Store(tmp_path / "runs.db"))
            return opened[-1]
        yield open_one
        for store in opened:
            SQLiteStore.close(store)

    @pytest.fixture
    def store_files(self, tmp_path):
        return [tmp_path / "runs.db"]
"""

# Each fault: the class of store it is built into, the fault, and the clause that must fail.
FAULTS = {
    "makes runs by reading": (
        "InMemory",
        """
        def load(self, run_id):
            return super().load(run_id) or RunRow(run_id, life=0)
        """,
        "test_a_run_begins_with_its_first_life",
    ),
    "counts lives of all runs together": (
        "InMemory",
        """
        given = 0

        def take_over(self, run_id):
            token = super().take_over(run_id)
            if run_id == "run-2":
                while token <= self.given:
                    token = super().take_over(run_id)
            self.given = token
            return token
        """,
        "test_every_life_takes_the_next_token",
    ),
    "ignores after": (
        "InMemory",
        """
        def log(self, run_id, after=0):
            return super().log(run_id)
        """,
        "test_events_come_back_in_order",
    ),
    "takes versions of the future": (
        "InMemory",
        """
        def commit(self, run_id, write):
            try:
                super().commit(run_id, write)
            except StaleVersion as refusal:
                if refusal.expected < refusal.actual or not write.events:
                    raise
        """,
        "test_a_stale_version_is_refused_and_counted",
    ),
    "has no fencing": (
        "InMemory",
        """
        def commit(self, run_id, write):
            super().commit(run_id, replace(write, life=self.load(run_id).life))
        """,
        "test_a_superseded_life_writes_nothing",
    ),
    "upserts effects": (
        "InMemory",
        """
        def commit(self, run_id, write):
            kept = write.effect and self.effect(run_id, write.effect.name, write.effect.step)
            if kept and not write.events:
                write = replace(write, effect=replace(write.effect, revision=kept.revision + 1))
            super().commit(run_id, write)
        """,
        "test_an_effect_changes_by_its_next_revision_only",
    ),
    "sorts effects by name": (
        "InMemory",
        """
        def effects(self, run_id, state=None):
            return tuple(sorted(super().effects(run_id, state), key=lambda row: row.name))
        """,
        "test_effects_are_listed_oldest_first",
    ),
    "keeps the event of a refused effect": (
        "InMemory",
        """
        def commit(self, run_id, write):
            try:
                super().commit(run_id, write)
            except StaleVersion as refusal:
                if write.events and write.effect and refusal.expected != write.expected_version:
                    super().commit(run_id, replace(write, effect=None))
                raise
        """,
        "test_a_unit_of_work_is_written_whole_or_not_at_all",
    ),
    "rounds times": (
        "InMemory",
        r"""
        def commit(self, run_id, write):
            rounded = [EventRow(e.version, re.sub(r":(\d\d)\.\d+Z", r":\1Z", e.body)) for e in write.events]
            super().commit(run_id, replace(write, events=tuple(rounded)))
        """,
        "test_a_replay_gives_every_snapshot",
    ),
    "forgets what it compacted": (
        "InMemory",
        """
        def archived(self, run_id):
            return ()
        """,
        "test_compaction_moves_events_and_loses_none",
    ),
    "shows what effects returned": (
        "InMemory",
        """
        def commit(self, run_id, write):
            told = write.effect.body if write.effect else ""
            super().commit(run_id, replace(write, at=write.at + told))
        """,
        "test_nothing_else_is_kept_of_a_run",
    ),
    "parses and prints JSON": (
        "InMemory",
        """
        def commit(self, run_id, write):
            events = tuple(EventRow(e.version, json.dumps(json.loads(e.body))) for e in write.events)
            super().commit(run_id, replace(write, events=events))
        """,
        "test_text_comes_back_as_it_was",
    ),
    "folds case": (
        "InMemory",
        """
        def runs(self):
            return tuple(sorted(super().runs(), key=lambda run: run.run_id.lower()))
        """,
        "test_runs_are_listed_and_apart",
    ),
    "forgets retired runs": (
        "InMemory",
        """
        def retire(self, run_id, expected_version, note):
            super().retire(run_id, expected_version, note)
            del self._kept[run_id]
        """,
        "test_a_retired_run_keeps_its_name_only",
    ),
    "takes a run in twice": (
        "InMemory",
        """
        def restore(self, dump):
            self._kept.pop(dump.run.run_id, None)
            super().restore(dump)
        """,
        "test_a_run_can_be_taken_in_once",
    ),
    "adds a signal twice": (
        "InMemory",
        """
        def add(self, record):
            self._signals.setdefault(record.run_id, {})[record.signal_id] = record
            return record
        """,
        "test_a_signal_is_added_once",
    ),
    "replaces whatever is there": (
        "InMemory",
        """
        def replace(self, record, *, expected):
            kept = self._signals[record.run_id].get(record.signal_id)
            return super().replace(record, expected=kept.revision if kept else expected)
        """,
        "test_a_signal_is_replaced_by_its_next_revision",
    ),
    "lets a message serve two": (
        "InMemory",
        """
        def replace(self, record, *, expected):
            placed = super().replace(replace(record, claim=None), expected=expected)
            placed = replace(placed, claim=record.claim)
            self._signals[record.run_id][record.signal_id] = placed
            return placed
        """,
        "test_a_message_serves_one_signal",
    ),
    "looks before it locks": (
        "InMemory",
        """
        def commit(self, run_id, write):
            if write.expected_version not in (None, self.load(run_id).version):
                super().commit(run_id, write)
            time.sleep(0.001)  # the other thread looks as well
            super().commit(run_id, replace(write, expected_version=None))
        """,
        "test_of_threads_one_wins_each_version",
    ),
    "locks threads, not processes": (
        "InFile",
        """
        guard = threading.Lock()

        def commit(self, run_id, write):
            with self.guard:
                if write.expected_version not in (None, self.load(run_id).version):
                    super().commit(run_id, write)
                if os.getpid() != MAIN:
                    time.sleep(0.001)  # the other process looks as well
                super().commit(run_id, replace(write, expected_version=None))
        """,
        "test_of_processes_one_wins_each_version",
    ),
    "cannot be used after a fork": (
        "InFile",
        """
        def __init__(self, path):
            super().__init__(path)
            self.pid = os.getpid()

        def commit(self, run_id, write):
            assert self.pid == os.getpid(), "opened in another process"
            super().commit(run_id, write)
        """,
        "test_a_fork_shares_no_connection",
    ),
    "writes an event, then its effect": (
        "InFile",
        """
        def commit(self, run_id, write):
            if write.effect and write.events:
                kept = self.effect(run_id, write.effect.name, write.effect.step)
                if (kept.revision if kept else 0) + 1 != write.effect.revision:
                    raise StaleVersion(write.effect.revision - 1, kept.revision)
                super().commit(run_id, replace(write, effect=None))
                super().commit(run_id, Write(write.life, write.at, effect=write.effect))
            else:
                super().commit(run_id, write)
        """,
        "test_a_crash_at_any_moment_leaves_all_or_nothing",
    ),
    "closes once": (
        "InFile",
        """
        closed = False

        def close(self):
            assert not self.closed, "closed twice"
            self.closed = True
            super().close()
        """,
        "test_what_was_committed_is_there_for_the_next",
    ),
    "begins anew where it cannot read": (
        "InFile",
        """
        def __init__(self, path):
            try:
                super().__init__(path)
            except StoreCorrupt:
                path.unlink()
                super().__init__(path)
        """,
        "test_a_torn_file_is_no_first_run",
    ),
}


def module(base, fault):
    kept_in = {"InMemory": "MemoryStore", "InFile": "SQLiteStore"}[base]
    return (
        f"{HEAD}\nMAIN = os.getpid()\n\nclass Broken({kept_in}):\n"
        + textwrap.indent(textwrap.dedent(fault), "    ")
        + f"\nclass TestBroken({base}):\n    Store = Broken\n"
    )


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_the_clause_it_breaks_and_no_other(pytester, name):
    base, fault, clause = FAULTS[name]
    pytester.makepyfile(module(base, fault))
    reports = pytester.inline_run("--disable-plugin-autoload", "-p", "agentmail").getreports(
        "pytest_runtest_logreport"
    )
    failed = {report.nodeid.rpartition("::")[2] for report in reports if report.failed}
    passed = [report for report in reports if report.when == "call" and report.passed]
    assert failed == {clause}
    assert len(passed) > 15


def test_every_clause_has_its_fault():
    from pytest_agentmail.contracts import LedgerStoreContract

    clauses = {name for name in dir(LedgerStoreContract) if name.startswith("test_")}
    assert {clause for _, _, clause in FAULTS.values()} == clauses


def test_a_contract_without_a_store_says_what_is_missing(pytester):
    pytester.makepyfile(
        """
        from pytest_agentmail.contracts import LedgerStoreContract

        class TestMine(LedgerStoreContract):
            pass
        """
    )
    result = pytester.runpytest("-k", "first_life")
    result.stdout.fnmatch_lines(
        ["*override the fixture `open_store`: it gives what opens your store*"]
    )


def test_a_store_without_signals_and_files_skips_their_clauses(pytester):
    pytester.makepyfile(
        module("InMemory", "pass").replace("class Broken(MemoryStore):", "class Broken:")
        + """
    class Broken:
        def __init__(self):
            self._store = MemoryStore()

        def __getattr__(self, name):
            if name in {"add", "signals", "replace"}:
                raise AttributeError(name)
            return getattr(self._store, name)

    Store = Broken
"""
    )
    result = pytester.runpytest("--disable-plugin-autoload", "-p", "agentmail", "-rs")
    result.assert_outcomes(passed=16, skipped=8)
    result.stdout.fnmatch_lines_random(
        [
            "*the store keeps no signals*",
            "*does not outlive its process*",
            "*the store names no files*",
        ]
    )
