"""A run as one file that can be carried elsewhere: whole, or seen to be broken (C8).

The file begins with a line that says what it is, the length of what follows, and its checksum;
it ends with a line that says that writing came to its end:

```
pytest-agentmail run 1
length 1234
sha256 9f86d0…
{"run": …}
complete
```
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from pytest_agentmail.errors import SettingsError, StoreCorrupt
from pytest_agentmail.stores.protocol import RunDump, SignalStore

if TYPE_CHECKING:
    from pytest_agentmail.stores.protocol import Store

__all__ = [
    "Imported",
    "export_run",
    "import_run",
    "read_file",
    "retire_old_runs",
    "retire_run",
    "write_file",
]

MAGIC = b"pytest-agentmail run 1\n"
MARK = b"\ncomplete\n"
HEADER = re.compile(rb"length (\d+)\nsha256 ([0-9a-f]{64})\n")
LEFTOVER = ".writing"

_DUMP = TypeAdapter(RunDump)


@dataclass(frozen=True)
class Imported:
    """What was read, and from where."""

    dump: RunDump
    path: Path
    notes: tuple[str, ...] = ()
    """What was wrong with newer files, and which leftovers were dropped."""


def export_run(store: Store, run_id: str, path: str | Path) -> Path:
    """Write all that is kept of a run to the file at `path`.

    A file that is there already is kept beside it, with `.previous` added to its name.

    Raises:
        SettingsError: If there is no such run, or the file cannot be written.
    """
    return write_file(_dumped(store, run_id), Path(path))


def import_run(store: Store, path: str | Path) -> Imported:
    """Take in the run in the file at `path`; if it is damaged, the one in the file before it.

    Raises:
        StoreCorrupt: If neither can be read.
        StaleVersion: If the store has a run of that id already.
    """
    imported = read_file(Path(path))
    store.restore(imported.dump)
    return imported


def retire_run(store: Store, run_id: str, path: str | Path) -> Path:
    """Move a run out of the store, to the file at `path`; its id stays taken.

    Raises:
        StaleVersion: If the run went on meanwhile; it is then still in the store.
    """
    dump = _dumped(store, run_id)
    written = write_file(dump, Path(path))
    store.retire(run_id, dump.run.version, str(written))
    return written


def retire_old_runs(store: Store, folder: str | Path, *, before: datetime) -> tuple[Path, ...]:
    """Move the runs that were last written `before` a time to files in `folder`.

    Args:
        store: Where the runs are.
        folder: Where their files go, each named after its run.
        before: An aware time; runs that were never written stay.

    Raises:
        StaleVersion: If a run went on meanwhile; those moved so far stay moved.
    """
    old = [
        run.run_id
        for run in store.runs()
        if run.retired is None
        and run.written_at
        and datetime.fromisoformat(run.written_at) < before
    ]
    names = [f"{quote(run_id, safe='')}.agentmail" for run_id in old]
    return tuple(
        retire_run(store, run_id, Path(folder) / name)
        for run_id, name in zip(old, names, strict=True)
    )


def write_file(dump: RunDump, path: Path) -> Path:
    """Put `dump` at `path` in one stroke: at no moment is there half a file of that name."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}{LEFTOVER}")
    try:
        _write_through(draft, _packed(dump))
        _unpacked(draft.read_bytes(), draft)
        if path.exists():
            kept = path.with_name(f"{path.name}.{secrets.token_hex(8)}{LEFTOVER}")
            os.link(path, kept)
            kept.replace(previous(path))
        draft.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise SettingsError(f"the run cannot be written to {path}: {error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return path


def read_file(path: Path) -> Imported:
    """Read the newest file that is whole; drop what interrupted writes left behind."""
    notes = []
    for leftover in sorted(path.parent.glob(f"{path.name}.*{LEFTOVER}")):
        leftover.unlink(missing_ok=True)
        notes.append(f"dropped {leftover.name}, which was never completed")
    for candidate in (path, previous(path)):
        try:
            dump = _unpacked(candidate.read_bytes(), candidate)
        except (StoreCorrupt, OSError) as error:
            notes.append(f"skipped {candidate.name}: {error}")
            continue
        return Imported(dump, candidate, tuple(notes))
    raise StoreCorrupt(f"no run can be read from {path}: " + "; ".join(notes))


def previous(path: Path) -> Path:
    """Where the file that was at `path` before is kept."""
    return path.with_name(f"{path.name}.previous")


def _dumped(store: Store, run_id: str) -> RunDump:
    log = store.log(run_id)
    if log is None or log.run.retired is not None:
        raise SettingsError(f"the store holds no run {run_id!r}")
    archived = store.archived(run_id)
    return RunDump(
        run=log.run,
        archived=tuple(row for row in archived if row.version <= log.run.summary_version),
        events=log.events,
        effects=store.effects(run_id),
        signals=store.signals(run_id) if isinstance(store, SignalStore) else (),
    )


def _packed(dump: RunDump) -> bytes:
    body = _DUMP.dump_json(dump)
    digest = hashlib.sha256(body).hexdigest().encode()
    return MAGIC + b"length %d\nsha256 %s\n" % (len(body), digest) + body + MARK


def _unpacked(data: bytes, path: Path) -> RunDump:
    if not data.startswith(MAGIC):
        raise StoreCorrupt(f"{path} is no run written by pytest-agentmail")
    header = HEADER.match(data, len(MAGIC))
    if header is None:
        raise StoreCorrupt(f"{path} has a damaged header")
    length, digest = int(header[1]), header[2].decode()
    body, end = data[header.end() :][:length], data[header.end() + length :]
    if end != MARK:
        raise StoreCorrupt(f"{path} was not written to its end, or something follows it")
    if hashlib.sha256(body).hexdigest() != digest:
        raise StoreCorrupt(f"{path} is damaged: its checksum is wrong")
    try:
        return _DUMP.validate_json(body)
    except ValidationError as error:
        raise StoreCorrupt(f"{path} holds no run: {error}") from error


def _write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
