"""What the signal queue asks of a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["SignalRecord", "SignalStore"]


@dataclass(frozen=True, slots=True)
class SignalRecord:
    """One signal as a store keeps it."""

    run_id: str
    signal_id: str
    identity: str
    """What makes it this signal within its run."""
    revision: int
    """1 when new; one more with each replacement."""
    claim: str | None
    """The content its evidence stands for; no two signals of a run have the same."""
    body: str
    """The signal as JSON; holds no mail body."""


class SignalStore(Protocol):
    """Keeps the signals of runs, with optimistic concurrency."""

    def add(self, record: SignalRecord) -> SignalRecord:
        """Keep a new signal; where its run has one of that identity, the one that is kept."""
        ...

    def signals(self, run_id: str) -> tuple[SignalRecord, ...]:
        """The signals of a run, oldest first."""
        ...

    def replace(self, record: SignalRecord, *, expected: int) -> SignalRecord:
        """Put `record` in the place of revision `expected` and return it with its new revision.

        Raises:
            StaleVersion: The revision kept is another one.
            EvidenceConflict: Another signal of the run has that claim.
        """
        ...
