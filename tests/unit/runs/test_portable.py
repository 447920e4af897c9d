"""A run as one file: whole, or seen to be broken (C8, C10)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_agentmail.contracts.processes import KILLED, dying_at_call, run_child
from pytest_agentmail.errors import SettingsError, StaleVersion, StoreCorrupt
from pytest_agentmail.runs import portable
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.runs.portable import (
    export_run,
    import_run,
    read_file,
    retire_old_runs,
    retire_run,
)
from pytest_agentmail.stores.memory import MemoryStore
from pytest_agentmail.stores.protocol import SignalRecord


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run-1.agentmail"


@pytest.fixture
def ledger(run):
    ledger = run.upto("received", run.live(compact_after=2))
    ledger.once(lambda: "é\ud800", name="send")()
    run.store.add(SignalRecord("run-1", "s1", "identity", 1, None, "{}"))
    return ledger


def test_a_run_is_carried_to_another_store(run, ledger, path):
    export_run(run.store, "run-1", path)
    store = MemoryStore()
    imported = import_run(store, path)
    assert imported.notes == ()
    run.store, before = store, run.live().metrics
    moved = Ledger.open(store, run_id="run-1", clock=run.clock, spending=lambda _: run.spending)
    assert moved.snapshot == ledger.snapshot
    assert [moved.replay(upto=v) for v in range(5)] == [ledger.replay(upto=v) for v in range(5)]
    assert moved.once(lambda: "again", name="send")() == "é\ud800"
    assert store.signals("run-1") == (SignalRecord("run-1", "s1", "identity", 1, None, "{}"),)
    assert moved.life > ledger.life
    assert before


def test_what_the_file_looks_like(run, ledger, path):
    export_run(run.store, "run-1", path)
    lines = path.read_bytes().split(b"\n")
    assert lines[0] == b"pytest-agentmail run 1"
    assert lines[1] == b"length %d" % len(lines[3])
    assert lines[4:] == [b"complete", b""]


def test_a_store_that_has_the_run_keeps_it(run, ledger, path):
    export_run(run.store, "run-1", path)
    with pytest.raises(StaleVersion):
        import_run(run.store, path)


def test_the_file_before_is_kept(run, ledger, path):
    export_run(run.store, "run-1", path)
    first = path.read_bytes()
    ledger.append("code_verified")
    export_run(run.store, "run-1", path)
    assert portable.previous(path).read_bytes() == first
    assert read_file(path).dump.run.version == 5
    assert sorted(entry.name for entry in path.parent.iterdir()) == [
        path.name,
        f"{path.name}.previous",
    ]


def cut(data):
    return data[:-4]


def flip(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut, "was not written to its end, or something follows it"),
        (lambda data: data + b"more", "was not written to its end, or something follows it"),
        (flip, "is damaged: its checksum is wrong"),
        (lambda data: b"", "is no run written by pytest-agentmail"),
        (lambda data: data.replace(b"length", b"height"), "has a damaged header"),
    ],
    ids=["cut", "longer", "flipped", "emptied", "header"],
)
def test_a_damaged_file_falls_back_and_says_so(run, ledger, path, damage, said):
    export_run(run.store, "run-1", path)
    ledger.append("code_verified")
    export_run(run.store, "run-1", path)
    path.write_bytes(damage(path.read_bytes()))
    imported = read_file(path)
    assert imported.dump.run.version == 4
    assert imported.path == portable.previous(path)
    assert imported.notes == (f"skipped {path.name}: {path} {said}",)


def test_two_damaged_files_are_an_error(run, ledger, path):
    export_run(run.store, "run-1", path)
    path.write_bytes(cut(path.read_bytes()))
    with pytest.raises(
        StoreCorrupt, match=r"no run can be read from .*: skipped .*; skipped .*previous"
    ):
        import_run(MemoryStore(), path)


def test_content_that_is_no_run_is_an_error(run, ledger, path):
    export_run(run.store, "run-1", path)
    import hashlib

    body = b'{"run": 1}'
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(
        portable.MAGIC + b"length %d\nsha256 %s\n" % (len(body), digest) + body + portable.MARK
    )
    with pytest.raises(StoreCorrupt, match="holds no run"):
        read_file(path)


def test_leftovers_are_dropped_and_named(run, ledger, path):
    export_run(run.store, "run-1", path)
    leftover = path.with_name(f"{path.name}.abc.writing")
    leftover.write_bytes(b"half")
    assert read_file(path).notes == (f"dropped {leftover.name}, which was never completed",)
    assert not leftover.exists()


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(run, ledger, path):
    """C8: whatever call it dies at, the old run or the new one is read back."""
    export_run(run.store, "run-1", path)
    ledger.append("code_verified")
    kills = 0
    for call in range(1, 2_000):

        def write(say, call=call):
            sys.setprofile(dying_at_call(call))
            export_run(run.store, "run-1", path)
            sys.setprofile(None)

        code, said = run_child(write)
        assert code in {0, KILLED}, said
        assert read_file(path).dump.run.version in {4, 5}
        assert path.exists()
        if code == 0:
            break
        kills += 1
    assert kills > 20
    assert read_file(path).dump.run.version == 5


def test_what_does_not_read_back_is_not_put_in_place(run, ledger, path, monkeypatch):
    monkeypatch.setattr(
        portable, "_write_through", lambda draft, data: draft.write_bytes(flip(data))
    )
    with pytest.raises(StoreCorrupt):
        export_run(run.store, "run-1", path)
    assert list(path.parent.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(run, ledger):
    with pytest.raises(SettingsError, match="the run cannot be written to /nowhere/run"):
        export_run(run.store, "run-1", "/nowhere/run")


@pytest.mark.parametrize("run_id", ["nobody", "run-1"])
def test_a_run_that_is_not_there_is_named(run, ledger, path, run_id):
    run.store.retire("run-1", 4, "elsewhere")
    with pytest.raises(SettingsError, match=f"the store holds no run '{run_id}'"):
        export_run(run.store, run_id, path)


def test_an_old_run_is_moved_out_of_the_store(run, ledger, path):
    """C10: its id stays taken, so it is never begun anew."""
    assert retire_run(run.store, "run-1", path) == Path(path)
    with pytest.raises(SettingsError, match=f"run 'run-1' was retired to {path}"):
        run.live()
    assert import_run(MemoryStore(), path).dump.run.version == 4


def test_old_runs_are_archived_and_young_ones_stay(run, tmp_path):
    """C10: so that no table grows for ever."""
    for run_id in ("shop/1", "shop/2"):
        run.lease(Ledger.open(run.store, run_id=run_id, clock=run.clock))
    run.clock.advance(86_400)
    run.store.take_over("never written")
    run.lease(run.live())
    before = run.clock.now()
    moved = retire_old_runs(run.store, tmp_path, before=before)
    assert [path.name for path in moved] == ["shop%2F1.agentmail", "shop%2F2.agentmail"]
    assert read_file(moved[0]).dump.run.run_id == "shop/1"
    assert {row.run_id for row in run.store.runs() if row.retired is None} == {
        "never written",
        "run-1",
    }
    assert retire_old_runs(run.store, tmp_path, before=before) == ()
