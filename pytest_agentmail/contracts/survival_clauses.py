"""What a store promises when several write at once, and when a writer or a file is lost."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

from pytest_agentmail.contracts.examples import (
    RUN,
    a_snapshot,
    an_append,
    an_effect,
    an_event,
    begun,
)
from pytest_agentmail.contracts.processes import KILLED, dying_at_call, run_child, start_child
from pytest_agentmail.errors import AgentMailError, StaleVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_agentmail.stores.protocol import Store, Write

__all__ = ["SurvivalClauses"]

WORKERS = 4
EVENTS_EACH = 15
MOST_CALLS = 2_000


class SurvivalClauses:
    """For stores that outlive their process; in-memory ones skip all but the threads."""

    durable: ClassVar[bool] = True

    # races

    def test_of_threads_one_wins_each_version(self, store: Store) -> None:
        """Threads that share the store append without a gap, and nothing is lost."""
        life = store.take_over(RUN)
        wins: list[int] = []
        errors: list[BaseException] = []
        start = threading.Barrier(WORKERS)

        def work() -> None:
            try:
                start.wait()
                wins.extend(_append_many(store, life))
            except BaseException as error:  # noqa: BLE001  # pragma: no cover - it is shown below
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        _all_there(store, wins, WORKERS * EVENTS_EACH)

    def test_of_processes_one_wins_each_version(
        self, store: Store, open_store: Callable[[], Store]
    ) -> None:
        """Processes that opened the store themselves append without a gap; nothing is lost."""
        self._needs_durable()
        life = store.take_over(RUN)

        def work(say: Callable[[str], None]) -> None:
            own = open_store()
            for version in _append_many(own, life):
                say(f"{version}\n")
            own.close()

        children = [start_child(work) for _ in range(WORKERS)]
        said = [child.read() for child in children]
        assert [(child.wait(), text)[0] for child, text in zip(children, said, strict=True)] == [
            0
        ] * WORKERS, "\n".join(said)
        wins = [int(version) for text in said for version in text.split()]
        _all_there(store, wins, WORKERS * EVENTS_EACH)

    def test_a_fork_shares_no_connection(self, store: Store) -> None:
        """A store that was opened before a fork can be used on both sides of it."""
        self._needs_durable()
        life = begun(store, events=1)

        def work(_: Callable[[str], None]) -> None:
            store.commit(RUN, an_append(life, 1))

        code, said = run_child(work)
        assert code == 0, said
        store.commit(RUN, an_append(life, 2))
        log = store.log(RUN)
        assert log is not None
        assert [row.version for row in log.events] == [1, 2, 3]

    # crashes

    def test_a_crash_at_any_moment_leaves_all_or_nothing(
        self, store: Store, open_store: Callable[[], Store]
    ) -> None:
        """A writer is killed around every call it makes; what it was told is written, is."""
        self._needs_durable()
        life = begun(store, events=1)
        for call in range(1, MOST_CALLS):
            before = store.load(RUN)
            assert before is not None
            version = before.version
            write = replace(an_append(life, version), effect=an_effect(f"send-{version}"))

            def work(say: Callable[[str], None], call: int = call, write: Write = write) -> None:
                own = open_store()
                sys.setprofile(dying_at_call(call))
                own.commit(RUN, write)
                sys.setprofile(None)
                say("done")

            code, said = run_child(work)
            assert code in {0, KILLED}, said
            _whole(open_store(), version, acknowledged=said == "done")
            if code == 0:
                return
        pytest.fail(  # pragma: no cover - of a store that never ends
            f"one commit made more than {MOST_CALLS} calls"
        )

    def test_what_was_committed_is_there_for_the_next(
        self, store: Store, open_store: Callable[[], Store]
    ) -> None:
        """A store that is closed and opened again has everything."""
        self._needs_durable()
        life = begun(store, events=2)
        store.close()
        store.close()
        again = open_store()
        again.commit(RUN, an_append(life, 2))
        log = again.log(RUN)
        assert log is not None
        assert [row.version for row in log.events] == [1, 2, 3]

    # torn files

    def test_a_torn_file_is_no_first_run(
        self, store: Store, open_store: Callable[[], Store], store_files: Sequence[Path]
    ) -> None:
        """Cut or flipped, a file gives an error or what was written first; emptied, an error."""
        if not store_files:
            pytest.skip("the store names no files (`store_files`)")
        begun(store, events=12)
        store.close()
        whole = {Path(path): Path(path).read_bytes() for path in store_files}
        for path, data in whole.items():
            for torn in _torn(data):
                _lay(whole)
                path.write_bytes(torn)
                _prefix_or_error(open_store)
        _lay(dict.fromkeys(whole, b""))
        with pytest.raises(AgentMailError):
            open_store().load(RUN)

    def _needs_durable(self) -> None:
        if not self.durable:
            pytest.skip("the store does not outlive its process (`durable = False`)")


def _append_many(store: Store, life: int) -> list[int]:
    """Append some events against others who do the same; the versions that were won."""
    wins: list[int] = []
    while len(wins) < EVENTS_EACH:
        run = store.load(RUN)
        assert run is not None
        try:
            store.commit(RUN, an_append(life, run.version))
        except StaleVersion:
            continue
        wins.append(run.version + 1)
    return wins


def _all_there(store: Store, wins: list[int], expected: int) -> None:
    log = store.log(RUN)
    assert log is not None
    assert sorted(wins) == list(range(1, expected + 1))
    assert [row.version for row in log.events] == list(range(1, expected + 1))
    assert log.run.version == expected


def _whole(store: Store, before: int, *, acknowledged: bool) -> None:
    log = store.log(RUN)
    assert log is not None
    version = log.run.version
    assert version in {before, before + 1}
    assert version == before + 1 or not acknowledged, "an acknowledged write is lost"
    assert [row.version for row in log.events] == list(range(1, version + 1))
    assert log.run.snapshot == a_snapshot(version)
    written = store.effect(RUN, f"send-{before}", "0") is not None
    assert written == (version == before + 1), "an event was written without its effect"
    store.close()


def _torn(data: bytes) -> list[bytes]:
    size = len(data)
    cuts = sorted({0, 1, size // 3, size // 2, max(0, size - 1)})
    flipped = [
        data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        for at in range(0, size, max(1, size // 40))
    ]
    return [*(data[:cut] for cut in cuts), *flipped]


def _lay(files: dict[Path, bytes]) -> None:
    for path, data in files.items():
        path.write_bytes(data)


def _prefix_or_error(open_store: Callable[[], Store]) -> None:
    try:
        store = open_store()
        log = store.log(RUN)
        store.close()
    except AgentMailError:
        return
    if log is None:  # pragma: no cover - nothing is a prefix as well, of some stores
        return
    version = log.run.version
    assert [*log.events] == [an_event(n) for n in range(1, version + 1)]
    assert log.run.snapshot == (a_snapshot(version) if version else None)
