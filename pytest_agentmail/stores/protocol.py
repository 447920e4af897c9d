"""What a store must do. It keeps JSON and compares numbers; what they mean is not its business.

`contracts.LedgerStoreContract` checks every sentence here against a store of your own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = [
    "EffectRow",
    "EventRow",
    "RunDump",
    "RunLog",
    "RunRow",
    "SignalRecord",
    "SignalStore",
    "Store",
    "Write",
]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as it stands: one row."""

    run_id: str
    life: int
    """The fencing token of the life that may write; each new life takes the next one."""
    version: int = 0
    snapshot: str | None = None
    """The snapshot at `version` (JSON); `None` at version 0."""
    summary_version: int = 0
    summary: str | None = None
    """The snapshot at `summary_version` (JSON): what the compacted events have come to."""
    refused: int = 0
    """Writes refused because the version they expected was not the current one."""
    written_at: str = ""
    """When the last write was made: ISO 8601, UTC; empty before the first."""
    retired: str | None = None
    """Where the run was moved to; it can be neither read nor written here any more."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event (JSON), at one version."""

    version: int
    body: str


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One effect of a run; its key is (run, name, step)."""

    name: str
    step: str
    revision: int
    """1 when it is new, then one more with each change."""
    state: str
    body: str


@dataclass(frozen=True, slots=True)
class RunLog:
    """A run and its events, read at one moment."""

    run: RunRow
    events: tuple[EventRow, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """One unit of work: all of it is written, or nothing."""

    life: int
    at: str
    expected_version: int | None = None
    """The version that must be current; `None` where none of the events depends on it."""
    events: tuple[EventRow, ...] = ()
    snapshot: str | None = None
    """The snapshot after `events`; given if and only if there are events."""
    effect: EffectRow | None = None
    """Its revision is one more than the stored one, or 1 for a new effect."""


@dataclass(frozen=True, slots=True)
class SignalRecord:
    """One expected mail of a run; `body` is its JSON, the rest is what a store compares."""

    run_id: str
    signal_id: str
    identity: str
    revision: int
    claim: str | None
    """The message this signal took as evidence; unique within the run."""
    body: str


@dataclass(frozen=True, slots=True)
class RunDump:
    """Everything that is kept of a run."""

    run: RunRow
    archived: tuple[EventRow, ...]
    events: tuple[EventRow, ...]
    effects: tuple[EffectRow, ...]
    signals: tuple[SignalRecord, ...]


@runtime_checkable
class Store(Protocol):
    """Keeps runs. Safe for threads, for processes, and after a fork.

    Every method raises `StoreCorrupt` when what it reads cannot be trusted, and
    `StoreUnavailable` when the store cannot be reached and nothing was written.
    """

    def take_over(self, run_id: str) -> int:
        """The fencing token of a new life, one more than the last; makes the run if it is new."""
        ...

    def load(self, run_id: str) -> RunRow | None:
        """The run as it stands; `None` if there never was one."""
        ...

    def log(self, run_id: str, after: int = 0) -> RunLog | None:
        """The run and its uncompacted events past version `after`, in order, at one moment."""
        ...

    def archived(self, run_id: str) -> tuple[EventRow, ...]:
        """The compacted events, in order."""
        ...

    def effects(self, run_id: str, state: str | None = None) -> tuple[EffectRow, ...]:
        """The run's effects (those in `state`), oldest first."""
        ...

    def effect(self, run_id: str, name: str, step: str) -> EffectRow | None:
        """One effect."""
        ...

    def commit(self, run_id: str, write: Write) -> None:
        """Make one unit of work durable before returning.

        Raises:
            LifeSuperseded: If `write.life` is not the run's; looked at first.
            StaleVersion: If the expected version or the effect's revision is not the current
                one. A refused version is counted in `RunRow.refused`; else nothing changes.
        """
        ...

    def compact(self, run_id: str, life: int, version: int, summary: str) -> None:
        """Move the events up to `version` to the archive, and keep `summary` in their place.

        Raises:
            LifeSuperseded: If `life` is not the run's.
            StaleVersion: If they are compacted already, or not all there.
        """
        ...

    def runs(self) -> tuple[RunRow, ...]:
        """All runs, ordered by run_id, retired ones too."""
        ...

    def restore(self, dump: RunDump) -> None:
        """Take in a whole run.

        Raises:
            StaleVersion: If there is a run of that id already.
        """
        ...

    def retire(self, run_id: str, expected_version: int, note: str) -> None:
        """Drop all of a run but its row, which says where the run went (`note`).

        Raises:
            StaleVersion: If `expected_version` is not the current one.
        """
        ...

    def close(self) -> None:
        """Give back what is open; may be called twice."""
        ...


@runtime_checkable
class SignalStore(Protocol):
    """Keeps the signals of runs; the same promises as `Store`."""

    def add(self, record: SignalRecord) -> SignalRecord:
        """Keep a new signal; if the run has one of that identity, that one is given instead."""
        ...

    def signals(self, run_id: str) -> tuple[SignalRecord, ...]:
        """The run's signals, in order of creation."""
        ...

    def replace(self, record: SignalRecord, *, expected: int) -> SignalRecord:
        """Put `record` in the place of the one with its signal_id, as its next revision.

        Raises:
            StaleVersion: If the kept one is not at revision `expected`, or there is none.
            EvidenceConflict: If another signal of the run claims the same message.
        """
        ...
