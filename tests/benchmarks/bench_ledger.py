"""What the ledger costs, as ratios against something timed in the same run, alternating.

Run it with `python tests/benchmarks/bench_ledger.py`; each line is one figure.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.stores.memory import MemoryStore
from pytest_agentmail.stores.sqlite import SQLiteStore

CLOCK = SimpleNamespace(now=lambda: datetime(2026, 10, 21, 15, tzinfo=UTC))
ROUNDS = 15
BLOCK = 25


def alternating(first, second, rounds=ROUNDS):
    """The median of the times of each, and of their quotients round by round."""
    pairs = []
    for number in range(rounds):
        order = (first, second) if number % 2 else (second, first)
        times = {}
        for act in order:
            start = time.perf_counter()
            act()
            times[act] = time.perf_counter() - start
        pairs.append((times[first], times[second]))
    quotients = [a / b for a, b in pairs]
    medians = [statistics.median(column) for column in zip(*pairs, strict=True)]
    return (*medians, statistics.median(quotients))


def fill(ledger, events):
    for number in range(events):
        ledger.append("decision_confirmed", decisions={f"d{number % 20}": number})


class BareSQLite:
    """The same statements with nothing around them."""

    def __init__(self, path, event, snapshot):
        self.connection = sqlite3.connect(path, isolation_level=None)
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "CREATE TABLE runs (run_id TEXT PRIMARY KEY, version INTEGER, snapshot TEXT)",
            "CREATE TABLE events (run_id TEXT, version INT, body TEXT, PRIMARY KEY (run_id, version))",
            "INSERT INTO runs VALUES ('run-1', 0, '')",
        ):
            self.connection.execute(statement)
        self.version, self.event, self.snapshot = 0, event, snapshot

    def append(self):
        self.version += 1
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO events VALUES ('run-1', ?, ?)", (self.version, self.event))
        execute(
            "UPDATE runs SET version = ?, snapshot = ? WHERE run_id = 'run-1' AND version = ?",
            (self.version, self.snapshot, self.version - 1),
        )
        execute("COMMIT")


def append_on_sqlite(folder):
    with closing(SQLiteStore(folder / "runs.db")) as store:
        ledger = Ledger.open(store, run_id="run-1", clock=CLOCK)
        fill(ledger, 20)
        row = store.log("run-1")
        bare = BareSQLite(folder / "bare.db", row.events[-1].body, row.run.snapshot)
        ours, theirs, ratio = alternating(
            lambda: fill(ledger, BLOCK), lambda: [bare.append() for _ in range(BLOCK)], 80
        )
        bare.connection.close()
    print(
        f"append on SQLite, WAL + FULL: {1 / ratio:.2f} x the rate of the bare statements "
        f"({ours / BLOCK * 1e3:.3f} ms against {theirs / BLOCK * 1e3:.3f} ms)"
    )


def replay_of_10_000():
    ledgers = []
    for events in (1_000, 10_000):
        store = MemoryStore()
        ledger = Ledger.open(store, run_id="run-1", clock=CLOCK, compact_after=sys.maxsize)
        fill(ledger, events)
        ledgers.append(ledger)
    small, large = ledgers
    ours, theirs, ratio = alternating(large.replay, lambda: [small.replay() for _ in range(10)], 5)
    print(
        f"replay of 10,000 events: {ratio:.2f} x ten replays of 1,000 "
        f"({ours * 1e3:.0f} ms against {theirs * 1e3:.0f} ms, {ours * 100:.0f} us per event)"
    )


def snapshot_read(folder):
    stores, ledgers = [], []
    for events in (10, 5_000):
        store = SQLiteStore(folder / f"history-{events}.db")
        store._session.opened().execute("PRAGMA synchronous = OFF")
        ledger = Ledger.open(store, run_id="run-1", clock=CLOCK)
        fill(ledger, events)
        stores.append(store)
        ledgers.append(ledger)

    def read(ledger):
        for _ in range(300):
            _ = ledger.snapshot

    ours, theirs, ratio = alternating(lambda: read(ledgers[1]), lambda: read(ledgers[0]))
    for store in stores:
        store.close()
    print(
        f"snapshot read after 5,000 events: {ratio:.2f} x the same after 10 "
        f"({ours / 300 * 1e6:.0f} us against {theirs / 300 * 1e6:.0f} us)"
    )


def main():
    with tempfile.TemporaryDirectory(prefix="agentmail-bench-") as folder:
        append_on_sqlite(Path(folder))
        replay_of_10_000()
        snapshot_read(Path(folder))


if __name__ == "__main__":
    main()
