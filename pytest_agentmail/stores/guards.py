"""When a store refuses a write: the same rules, and the same words, for every store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_agentmail.errors import (
    EvidenceConflict,
    LifeSuperseded,
    SettingsError,
    StaleVersion,
    StoreCorrupt,
)

if TYPE_CHECKING:
    from pytest_agentmail.stores.protocol import EffectRow, EventRow, RunRow, SignalRecord

__all__ = [
    "check_effect",
    "check_life",
    "check_signal",
    "check_version",
    "claimed_elsewhere",
    "gapless",
    "known",
    "retired",
]


def check_life(run_id: str, run: RunRow | None, life: int) -> RunRow:
    """Raise unless `life` is the one that may write; `run` must exist and still be here."""
    if run is None:
        raise StoreCorrupt(f"run {run_id!r} is gone from the store, though a life of it is writing")
    if run.retired is not None:
        raise LifeSuperseded(f"run {run_id!r} was retired to {run.retired}; it takes no writes")
    if run.life != life:
        raise LifeSuperseded(
            f"life {life} of run {run_id!r} was superseded by life {run.life}; "
            f"it may not write any more"
        )
    return run


def known(run_id: str, run: RunRow | None) -> RunRow:
    """`run`, which must exist."""
    if run is None:
        raise SettingsError(f"the store holds no run {run_id!r}")
    return run


def check_version(run: RunRow, expected: int | None) -> None:
    """Raise unless `expected`, if given, is the run's version."""
    if expected is not None and expected != run.version:
        raise StaleVersion(expected, run.version)


def check_effect(kept: EffectRow | None, new: EffectRow) -> None:
    """Raise unless `new` is the next revision of the effect that is `kept`."""
    actual = 0 if kept is None else kept.revision
    if new.revision != actual + 1:
        raise StaleVersion(new.revision - 1, actual)


def check_signal(kept: SignalRecord | None, expected: int) -> None:
    """Raise unless the signal that is `kept` has the revision `expected`."""
    actual = 0 if kept is None else kept.revision
    if kept is None or actual != expected:
        raise StaleVersion(expected, actual)


def claimed_elsewhere(record: SignalRecord, holder: str) -> EvidenceConflict:
    """The error for a message that signal `holder` claims already."""
    return EvidenceConflict(
        f"message {record.claim!r} already serves signal {holder!r} of run {record.run_id!r}; "
        f"signal {record.signal_id!r} cannot take it too"
    )


def retired(run: RunRow, note: str) -> RunRow:
    """What stays of `run` when the rest of it has gone to `note`."""
    return replace(run, summary_version=run.version, summary=None, retired=note)


def gapless(run: RunRow, rows: tuple[EventRow, ...], after: int) -> tuple[EventRow, ...]:
    """`rows`, if they are all the run's events past `after` and its summary.

    Raises:
        StoreCorrupt: If one is missing or there is one too many.
    """
    first = max(after, run.summary_version) + 1
    versions = [row.version for row in rows]
    if versions != list(range(first, run.version + 1)):
        raise StoreCorrupt(
            f"run {run.run_id!r} is at version {run.version}, but of its events {first} to "
            f"{run.version} the store holds {versions or 'none'}"
        )
    return rows
