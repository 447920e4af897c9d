"""Why a run stands where it stands: each transition, when, by which life, why (A15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_agentmail.runs.replay import fold
from pytest_agentmail.runs.snapshot import Snapshot
from pytest_agentmail.runs.transitions import CONDITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pytest_agentmail.runs.events import Event, EventType
    from pytest_agentmail.runs.snapshot import Verification

__all__ = ["Explanation", "Transition", "explain"]


@dataclass(frozen=True)
class Transition:
    """One event, and what it changed."""

    version: int
    at: datetime
    life: int
    event: EventType
    source: Verification
    target: Verification
    why: str
    """What the writer said, else the condition the event stands for."""
    details: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        details = " ".join(f"{name}={value}" for name, value in self.details)
        moved = f"{self.source} → {self.target}" if self.source != self.target else self.target
        line = f"{self.version:>4}  {self.at:%Y-%m-%d %H:%M:%S.%fZ}  life {self.life}  {moved}"
        return f"{line}  {self.event}: {self.why}" + (f"  ({details})" if details else "")


@dataclass(frozen=True)
class Explanation:
    """All transitions of a run, oldest first; `str()` tells them one per line."""

    run_id: str
    transitions: tuple[Transition, ...]

    def __str__(self) -> str:
        if not self.transitions:
            return f"run {self.run_id}: nothing happened yet"
        return "\n".join([f"run {self.run_id}:", *map(str, self.transitions)])


def explain(run_id: str, events: Iterable[Event]) -> Explanation:
    """Tell what each of `events`, which start at version 1, did to the run."""
    transitions = []
    before = Snapshot(run_id=run_id)
    for event in events:
        after = fold(before, event)
        transitions.append(
            Transition(
                version=event.version,
                at=event.at,
                life=event.life,
                event=event.type,
                source=before.verification,
                target=after.verification,
                why=event.why or CONDITIONS[event.type],
                details=tuple((name, str(value)) for name, value in event.data.items()),
            )
        )
        before = after
    return Explanation(run_id, tuple(transitions))
