"""State that lives as long as the process."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_agentmail.errors import EvidenceConflict, StaleVersion

if TYPE_CHECKING:
    from pytest_agentmail.stores.protocol import SignalRecord

__all__ = ["MemoryStore"]


class MemoryStore:
    """Keeps everything in dictionaries, under one lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._signals: dict[str, dict[str, SignalRecord]] = {}

    def add(self, record: SignalRecord) -> SignalRecord:
        """Keep a new signal, or return the one that has its identity."""
        with self._lock:
            signals = self._signals.setdefault(record.run_id, {})
            kept = next((s for s in signals.values() if s.identity == record.identity), None)
            return kept or signals.setdefault(record.signal_id, record)

    def signals(self, run_id: str) -> tuple[SignalRecord, ...]:
        """The signals of a run, oldest first."""
        with self._lock:
            return tuple(self._signals.get(run_id, {}).values())

    def replace(self, record: SignalRecord, *, expected: int) -> SignalRecord:
        """Put `record` in the place of revision `expected`."""
        with self._lock:
            signals = self._signals[record.run_id]
            actual = signals[record.signal_id].revision
            if actual != expected:
                raise StaleVersion(expected, actual)
            for other in signals.values():
                if (
                    record.claim
                    and other.claim == record.claim
                    and other.signal_id != record.signal_id
                ):
                    raise EvidenceConflict(
                        f"the mail that signal {record.signal_id} found serves {other.signal_id}"
                    )
            signals[record.signal_id] = kept = replace(record, revision=expected + 1)
            return kept
