"""PostgreSQL that goes away in the middle of an append (A8; I5): success or a clear error."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from pytest_agentmail.contracts.processes import start_child
from pytest_agentmail.errors import StaleVersion, StoreUnavailable
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.stores.postgres import PostgresStore

CLOCK = SimpleNamespace(now=lambda: datetime(2026, 10, 21, 15, tzinfo=UTC))
SOCKET = ".s.PGSQL.5432"


class Network:
    """What is between a store and its server; it can fail when a commit passes."""

    def __init__(self, url, folder):
        self.server = Path(parse_qs(urlsplit(url).query)["host"][0]) / SOCKET
        self.url = url.replace(str(self.server.parent), str(folder))
        self.on_commit = None
        self.down = False
        self._writing = False
        self._open = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / SOCKET))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.down:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self.server))
                self._open += [client, server]
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source, target):
        with suppress(OSError):
            while data := source.recv(65536):
                # Reads are committed as well; the fault is for the transaction that writes.
                self._writing = self._writing or b"INSERT INTO agentmail_events" in data
                fault = self.on_commit
                if fault and self._writing and b"COMMIT" in data:
                    self.on_commit = None
                    if fault(source, target, data):
                        return
                else:
                    target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def arm(self, fault):
        self.on_commit, self._writing = fault, False

    def close(self):
        for end in (self._listener, *self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def lost_before_it_arrived(client, server, data):
    """The commit never reaches the server, which notices that the client is gone."""
    client.shutdown(socket.SHUT_RDWR)
    server.shutdown(socket.SHUT_RDWR)
    return True


def lost_before_it_arrived_unnoticed(client, server, data):
    """The commit never reaches the server, which waits for it."""
    client.shutdown(socket.SHUT_RDWR)
    return True


def lost_after_it_was_done(client, server, data):
    """The server commits; its answer is lost."""
    server.sendall(data)
    server.settimeout(None)
    client.shutdown(socket.SHUT_WR)
    return True


@pytest.fixture
def network(postgres_url):
    with tempfile.TemporaryDirectory(prefix="agentmail-net-") as folder:
        network = Network(postgres_url, Path(folder))
        yield network
        network.close()


@contextmanager
def ledger_on(url):
    with closing(PostgresStore(url)) as store:
        yield Ledger.open(store, run_id="run-1", clock=CLOCK)


def note(ledger, number):
    return ledger.append("decision_confirmed", decisions={"n": number})


@pytest.mark.parametrize(
    "fault",
    [lost_before_it_arrived, lost_before_it_arrived_unnoticed, lost_after_it_was_done],
)
def test_a_commit_whose_answer_is_lost_is_looked_up(network, fault):
    """It is written once, whether the server got it or not, and the ledger says so."""
    with ledger_on(network.url) as ledger:
        note(ledger, 1)
        network.arm(fault)
        assert note(ledger, 2).version == 2
        assert network.on_commit is None
        assert note(ledger, 3).version == 3
        assert [event.data["decisions"]["n"] for event in ledger.events()] == [1, 2, 3]
        assert ledger.replay() == ledger.snapshot


def test_a_commit_that_cannot_be_looked_up_is_an_error_that_says_so(network):
    with ledger_on(network.url) as ledger:
        note(ledger, 1)

        def lose_everything(client, server, data):
            network.down = True
            return lost_after_it_was_done(client, server, data)

        network.arm(lose_everything)
        with pytest.raises(StoreUnavailable) as lost:
            note(ledger, 2)
        assert "PostgreSQL was lost during a commit" in str(lost.value)
        assert "It may have been written: read the run again before going on" in str(lost.value)
        network.down = False
        assert ledger.version in {1, 2}  # the server may still be at it
        assert ledger.replay() == ledger.snapshot


def test_a_connection_lost_between_two_appends_is_made_again(postgres_url):
    with ledger_on(postgres_url) as ledger:
        note(ledger, 1)
        with psycopg.connect(postgres_url) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        assert note(ledger, 2).version == 2


@pytest.mark.parametrize("restarts", [2, pytest.param(20, marks=pytest.mark.long)])
def test_a_restart_in_the_middle_loses_and_doubles_nothing(postgres, postgres_url, restarts):
    with closing(PostgresStore(postgres_url)) as store:
        life = store.take_over("run-1")

        def write(say):
            own = Ledger(PostgresStore(postgres_url), "run-1", CLOCK, life=life)
            number = 0
            while True:
                with suppress(StoreUnavailable):
                    version = own.version
                    number += 1
                    with suppress(StaleVersion):
                        note(own, number)
                        say(f"{version + 1} {number}\n")

        child = start_child(write)
        said = ""
        for _ in range(restarts):
            said += read_some(child, lines=20)
            postgres.restart()
        said += read_some(child, lines=20)
        child.kill()
        said += child.read()
        assert child.wait() == -9
        ledger = Ledger(store, "run-1", CLOCK, life=life)
        kept = {t.version: dict(t.details)["decisions"] for t in ledger.explain().transitions}
        for line in said.splitlines():
            version, _, number = line.partition(" ")
            assert kept[int(version)] == f"{{'n': {number}}}"
        assert sorted(kept) == list(range(1, len(kept) + 1))
        assert len(set(kept.values())) == len(kept)
        assert ledger.replay() == ledger.snapshot


def read_some(child, *, lines):
    said = b""
    while said.count(b"\n") < lines or not said.endswith(b"\n"):
        data = os.read(child.output, 1)
        assert data, said
        said += data
    return said.decode()
