"""All that a run is judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_agentmail.runs.events import EventType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_agentmail.runs.events import Event
    from pytest_agentmail.runs.snapshot import Snapshot
    from pytest_agentmail.signals.signal import Signal

__all__ = ["MailSeen", "RunRecord"]


class MailSeen(NamedTuple):
    """A mail of the run, as far as the checklist asks."""

    name: str
    """What it is called in texts, such as "m1"."""
    message_id: str
    foreign: str | None
    """Why it is not for this run; None where it is."""
    fingerprint: str
    """Equal for copies."""
    secrets: Mapping[str, str]
    """What nothing may keep, by what it is: its codes, links and lines."""


class RunRecord(NamedTuple):
    """All that the checklist is answered from."""

    run_id: str
    snapshot: Snapshot | None
    """Where the ledger stands; None where none is kept."""
    replayed: Snapshot | None
    """The snapshot rebuilt from the events."""
    events: Sequence[Event]
    """All of them, oldest first."""
    signals: Sequence[Signal]
    mails: Sequence[MailSeen]
    """What is in the run's mailboxes, in order of acceptance."""
    stale_refusals: int
    resumes: int
    """How often a further life went on."""

    def count(self, *types: EventType) -> int:
        """How many events are of these types."""
        return sum(1 for event in self.events if event.type in types)

    @property
    def accepted(self) -> tuple[str, ...]:
        """The messages taken as evidence, by signals or by the ledger, each once."""
        by_signals = [signal.message_id for signal in self.signals if signal.message_id]
        received = [e for e in self.events if e.type is EventType.MESSAGE_RECEIVED]
        by_ledger = [str(event.data["message_id"]) for event in received]
        return tuple(dict.fromkeys([*by_signals, *by_ledger]))
