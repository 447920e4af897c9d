"""What is checked when a run is resumed (C12), each check by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_agentmail.errors import BudgetExceeded
from pytest_agentmail.runs.events import EventType
from pytest_agentmail.runs.snapshot import Action

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pytest_agentmail.runs.events import Event, Standing
    from pytest_agentmail.runs.snapshot import Snapshot

__all__ = ["RecoveryCheck", "RecoveryReport", "check_budget", "check_recovery", "differences"]


@dataclass(frozen=True)
class RecoveryCheck:
    """One check of a resumed run."""

    name: str
    passed: bool
    detail: str

    def __str__(self) -> str:
        return f"{'passed' if self.passed else 'FAILED'}  {self.name}: {self.detail}"


@dataclass(frozen=True)
class RecoveryReport:
    """The checks made when a run was resumed; `str()` tells them one per line."""

    run_id: str
    checks: tuple[RecoveryCheck, ...]

    @property
    def passed(self) -> bool:
        """Whether all of them passed."""
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[RecoveryCheck, ...]:
        """Those that did not."""
        return tuple(check for check in self.checks if not check.passed)

    def __str__(self) -> str:
        return "\n".join([f"resuming run {self.run_id}:", *map(str, self.checks)])


def check_budget(snapshot: Snapshot, minimum: int) -> None:
    """Make sure that a run has the checks left it takes to end it (C11); looked at first.

    Raises:
        BudgetExceeded: It has not; the text is the report.
    """
    left = snapshot.attempts_left
    over = snapshot.next_action in (Action.FINISH, Action.VALIDATE_EVIDENCE)
    if snapshot.version == 0 or over or left is None or left >= minimum:
        return
    raise BudgetExceeded(
        f"run {snapshot.run_id!r} is not resumed: {left} checks are left, and it takes "
        f"{minimum}; it stands at {snapshot.verification!s} after {snapshot.attempt} of "
        f"{snapshot.budget.checks_limit} checks, last action {snapshot.last_action!s}, "
        f"next would be {snapshot.next_action!s}"
    )


def check_recovery(
    written: Snapshot, events: Sequence[Event], standing: Standing, now: datetime
) -> RecoveryReport:
    """Check that a run can be gone on with.

    Args:
        written: The stored snapshot, which follows from the events.
        events: The events that are not compacted.
        standing: What checks and effects have come to.
        now: The time (aware).
    """
    checks = (
        _context(written, events),
        _steps(written, events),
        _pending(standing),
        _budget(written, standing),
        _times(events, now),
    )
    return RecoveryReport(written.run_id, checks)


def differences(one: Snapshot, other: Snapshot) -> str:
    """Where two snapshots differ."""
    mine, theirs = dict(one), dict(other)
    return ", ".join(
        f"{name} is {mine[name]!r}, not {theirs[name]!r}"
        for name in mine
        if mine[name] != theirs[name]
    )


def _context(written: Snapshot, events: Sequence[Event]) -> RecoveryCheck:
    kept = {*written.context.decisions, *written.context.parameters}
    confirmed = {
        name
        for event in events
        if event.type is EventType.DECISION_CONFIRMED
        for part in ("decisions", "parameters")
        for name in dict(getattr(event.facts, part))
    }
    lost = sorted(confirmed - kept)
    detail = f"lost: {', '.join(lost)}" if lost else f"{len(kept)} decisions and parameters"
    return RecoveryCheck("context is whole", not lost, detail)


def _steps(written: Snapshot, events: Sequence[Event]) -> RecoveryCheck:
    last = events[-1].version if events else written.version
    detail = f"version {written.version} follows from the events"
    if last != written.version:
        detail = f"the snapshot is at version {written.version}, the events at {last}"
    return RecoveryCheck("steps are consistent", last == written.version, detail)


def _pending(standing: Standing) -> RecoveryCheck:
    names = [f"{effect.name}/{effect.step}" for effect in standing.pending]
    detail = f"to reconcile first: {', '.join(names)}" if names else "no effect is pending"
    return RecoveryCheck("nothing is pending", not names, detail)


def _budget(written: Snapshot, standing: Standing) -> RecoveryCheck:
    before, now = written.budget.checks, standing.spending.checks
    detail = f"{now} checks are counted"
    if now < before:
        detail += f", but {before} had been made at version {written.version}"
    return RecoveryCheck("the budget includes the past", now >= before, detail)


def _times(events: Sequence[Event], now: datetime) -> RecoveryCheck:
    ahead = [event for event in events if event.at > now]
    detail = "every time is absolute and past"
    if ahead:
        detail = f"event {ahead[0].version} is dated {ahead[0].at}, and it is {now}"
    return RecoveryCheck("times are absolute", not ahead, detail)
