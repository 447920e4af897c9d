"""The signals of one run in a store: read, added, and replaced one revision at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.signals.signal import Signal
from pytest_agentmail.stores.protocol import SignalRecord

if TYPE_CHECKING:
    from pytest_agentmail.stores.protocol import SignalStore

__all__ = ["Kept", "Shelf"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A signal and the record it was read from."""

    signal: Signal
    record: SignalRecord

    @classmethod
    def of(cls, record: SignalRecord) -> Kept:
        """What `record` holds."""
        return cls(Signal.model_validate_json(record.body), record)


class Shelf:
    """Gives signals for records and the other way round."""

    def __init__(self, store: SignalStore, run_id: str) -> None:
        self._store = store
        self._run_id = run_id

    def add(self, signal: Signal) -> Signal:
        """Keep a new signal, or the one that has its identity."""
        record = SignalRecord(
            run_id=self._run_id,
            signal_id=signal.signal_id,
            identity=signal.signal_id,
            revision=1,
            claim=None,
            body=signal.model_dump_json(),
        )
        return Kept.of(self._store.add(record)).signal

    def all(self) -> list[Signal]:
        """All signals of the run, oldest first."""
        return [Kept.of(record).signal for record in self._store.signals(self._run_id)]

    def get(self, signal_id: str) -> Kept:
        """The signal with that id.

        Raises:
            SettingsError: There is none.
        """
        for record in self._store.signals(self._run_id):
            if record.signal_id == signal_id:
                return Kept.of(record)
        known = ", ".join(signal.signal_id for signal in self.all()) or "none"
        raise SettingsError(f"run {self._run_id} has no signal {signal_id!r}; it has: {known}")

    def replace(self, kept: Kept, signal: Signal) -> Kept:
        """Put `signal` in the place of what was read as `kept`.

        Raises:
            StaleVersion: It was replaced since it was read.
            EvidenceConflict: Its evidence serves another signal.
        """
        record = SignalRecord(
            run_id=self._run_id,
            signal_id=signal.signal_id,
            identity=kept.record.identity,
            revision=kept.record.revision,
            claim=signal.claim,
            body=signal.model_dump_json(),
        )
        return Kept(signal, self._store.replace(record, expected=kept.record.revision))

    def claimed(self, *, by_others_than: str) -> set[str]:
        """The contents that serve other signals."""
        return {
            record.claim
            for record in self._store.signals(self._run_id)
            if record.claim and record.signal_id != by_others_than
        }
