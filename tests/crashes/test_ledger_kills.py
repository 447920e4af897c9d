"""Real processes on one ledger: racing, and killed at any moment (A8, C8; I5)."""

from __future__ import annotations

import os
import random
import time
from contextlib import closing
from datetime import UTC, datetime

import pytest

from pytest_agentmail.contracts.processes import start_child
from pytest_agentmail.errors import LifeSuperseded, StaleVersion
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.stores.opening import open_store

AT = datetime(2026, 10, 21, 15, tzinfo=UTC)
WRITERS = 8


class Clock:
    def now(self):
        return AT


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.db"
    return request.getfixturevalue("postgres_url")


def read_line(child, buffer):
    """What a child says next; `None` at its end."""
    while b"\n" not in buffer:
        data = os.read(child.output, 4096)
        if not data:
            return None
        buffer.extend(data)
    line, _, rest = bytes(buffer).partition(b"\n")
    buffer[:] = rest
    return line.decode()


@pytest.mark.parametrize("each", [25, pytest.param(200, marks=pytest.mark.long)])
def test_of_eight_writers_one_wins_each_version(url, each):
    """A8: every accepted event is there, with no gap, and each version has one winner."""
    with closing(open_store(url)) as store:
        life = store.take_over("run-1")

        def write(say):
            own = Ledger(open_store(url), "run-1", Clock(), life=life)
            wins = 0
            while wins < each:
                version = own.version
                try:
                    own.append("decision_confirmed", version, decisions={"n": version})
                except StaleVersion:
                    continue
                wins += 1
                say(f"{version + 1}\n")

        children = [start_child(write) for _ in range(WRITERS)]
        said = [child.read() for child in children]
        assert [child.wait() for child in children] == [0] * WRITERS, said
        accepted = sorted(int(line) for text in said for line in text.split())
        ledger = Ledger(store, "run-1", Clock(), life=life)
        versions = [t.version for t in ledger.explain().transitions]
        assert accepted == versions == list(range(1, WRITERS * each + 1))
        assert ledger.replay() == ledger.snapshot


def test_of_eight_lives_the_last_one_writes(url):
    """I8: lives that open one run at once supersede one another; each version has one writer."""
    with closing(open_store(url)) as store:

        def live(say):
            own = Ledger.open(open_store(url), run_id="run-1", clock=Clock())
            try:
                for _ in range(20):
                    say(
                        f"{own.append('decision_confirmed', decisions={'life': own.life}).version}\n"
                    )
            except LifeSuperseded:
                say("superseded\n")

        children = [start_child(live) for _ in range(WRITERS)]
        said = [child.read() for child in children]
        assert [child.wait() for child in children] == [0] * WRITERS, said
        words = " ".join(said).split()
        accepted = sorted(int(word) for word in words if word != "superseded")
        reader = Ledger(store, "run-1", Clock(), life=0)
        events = reader.events()
        assert accepted == [event.version for event in events]
        assert [event.life for event in events] == sorted(event.life for event in events)
        assert store.load("run-1").life == WRITERS


@pytest.mark.parametrize("kills", [20, pytest.param(500, marks=pytest.mark.long)])
def test_what_was_accepted_survives_a_kill_at_any_moment(url, kills):
    """I5: nothing accepted is lost, nothing is doubled, and the store always opens."""
    chance = random.Random(kills)
    told = 0
    for number in range(kills):

        def live(say):
            own = Ledger.open(open_store(url), run_id="run-1", clock=Clock(), compact_after=50)
            say(f"{own.version}\n")
            for left in own.snapshot.pending_effects:
                own.effect(left.name, step=left.step).succeed("reconciled")
            while True:
                effect = own.effect("send", step=own.version)
                if effect.state is None:
                    effect.begin()
                say(f"{own.append('decision_confirmed', decisions={'n': own.version}).version}\n")
                if effect.state == "pending":
                    effect.succeed("sent")

        child = start_child(live)
        buffer = bytearray()
        for _ in range(chance.randrange(1, 6)):
            line = read_line(child, buffer)
            assert line is not None
            assert line.isdigit(), line
            told = max(told, int(line))
        moment = time.perf_counter() + chance.random() * 0.002
        while time.perf_counter() < moment:
            pass
        child.kill()
        rest = (bytes(buffer).decode() + child.read()).split("\n")
        told = max([told, *(int(line) for line in rest[:-1])])
        assert child.wait() == -9, number
        with closing(open_store(url)) as store:
            ledger = Ledger(store, "run-1", Clock(), life=0)
            assert told <= ledger.version <= told + 1
            told = ledger.version
            assert ledger.check_recovery().run_id == "run-1"
            assert ledger.replay() == ledger.snapshot
    with closing(open_store(url)) as store:
        ledger = Ledger(store, "run-1", Clock(), life=0)
        versions = [t.version for t in ledger.explain().transitions]
        assert versions == list(range(1, told + 1))
        steps = [int(effect.step) for effect in ledger.effects()]
        assert steps == sorted(set(steps))
        assert store.load("run-1").life == kills
