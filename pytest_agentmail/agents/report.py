"""What came of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_agentmail.agents.tools import CallCount
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.runs.metrics import Metrics
    from pytest_agentmail.runs.snapshot import Snapshot
    from pytest_agentmail.signals.signal import Evidence, Signal

__all__ = ["RunReport"]


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """What an agent did in a run, as far as it has come."""

    run_id: str
    finished: bool
    """Whether the agent returned."""
    result: Any = None
    """What it returned."""
    error: BaseException | None = None
    """What it raised."""
    lives: int = 0
    """How many times it was started."""
    calls: Mapping[str, CallCount] = field(default_factory=dict)
    """How often each step was called, over all lives, by its name."""
    sent: Sequence[Message] = ()
    """What the sink accepted for this run, in order of arrival."""
    signals: Sequence[Signal] = ()
    """The run's signals, oldest first."""
    snapshot: Snapshot | None = None
    """Where the ledger stands; None where none is kept."""
    metrics: Metrics | None = None
    """The figures of row A11, with row A12's reading; None where no ledger is kept."""

    @property
    def checks(self) -> int:
        """The questions asked, over all signals and lives."""
        return sum(signal.checks for signal in self.signals)

    @property
    def evidence(self) -> list[Evidence]:
        """What was accepted, a piece a signal."""
        return [signal.evidence for signal in self.signals if signal.evidence is not None]
