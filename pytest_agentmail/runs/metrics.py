"""The figures of a run, or of many, and what they mean to the one who reads them (A11, A12)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from pytest_agentmail.runs.events import EventType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from pytest_agentmail.runs.events import Event

__all__ = ["CheckMade", "Metrics", "measure", "total"]

MANY = 0.1


class CheckMade(Protocol):
    """One question put to the inbox."""

    @property
    def at(self) -> datetime:
        """When (aware)."""
        ...


@dataclass(frozen=True)
class Metrics:
    """The figures of row A11. Those of several runs are added up by `total`."""

    runs: int = 0
    resumes: int = 0
    resumes_succeeded: int = 0
    """Resumes whose life moved the run on, or found it finished."""
    queries: int = 0
    queries_per_life: Counter[int] = field(default_factory=Counter)
    transitions: int = 0
    stale_refusals: int = 0
    waits: tuple[timedelta, ...] = ()
    """From each request to the mail it brought."""
    discarded: int = 0
    """Messages that belonged to another run."""

    @property
    def resume_success(self) -> float | None:
        """The share of resumes that succeeded; `None` where there were none."""
        return self.resumes_succeeded / self.resumes if self.resumes else None

    @property
    def queries_per_run(self) -> float | None:
        """Inbox queries per run; `None` where there were no runs."""
        return self.queries / self.runs if self.runs else None

    @property
    def stale_share(self) -> float:
        """The share of all transitions tried that were refused as stale."""
        tried = self.transitions + self.stale_refusals
        return self.stale_refusals / tried if tried else 0.0

    def reading(self) -> tuple[str, ...]:
        """What the figures say, and what to do about it; empty when there is nothing to say."""
        return tuple(advice for advice in (self._queries_grow(), self._stale()) if advice)

    def __str__(self) -> str:
        parts = [f"{self.runs} runs", f"{self.queries} inbox queries"]
        if self.resumes:
            parts.append(f"{self.resumes_succeeded} of {self.resumes} resumes succeeded")
        parts.append(f"{self.stale_refusals} transitions refused as stale")
        if self.waits:
            longest = max(self.waits).total_seconds()
            mean = sum(self.waits, timedelta()).total_seconds() / len(self.waits)
            parts.append(f"mail came after {mean:g} s (at most {longest:g} s)")
        parts.append(f"{self.discarded} messages of other runs discarded")
        return "\n".join([", ".join(parts), *self.reading()])

    def _queries_grow(self) -> str | None:
        lives = sorted(self.queries_per_life)
        counts = [self.queries_per_life[life] for life in lives]
        grows = len(counts) > 1 and all(a < b for a, b in pairwise(counts))
        if not grows:
            return None
        shown = ", ".join(f"life {life}: {n}" for life, n in zip(lives, counts, strict=True))
        return (
            f"each restart asks the inbox more often ({shown}): the snapshot does not say enough "
            f"about the next action"
        )

    def _stale(self) -> str | None:
        if self.stale_share <= MANY:
            return None
        return (
            f"{self.stale_share:.0%} of the transitions were refused as stale: workers are not "
            f"coordinated, or leases are too long"
        )


def measure(
    events: Sequence[Event],
    checks: Iterable[CheckMade] = (),
    *,
    lives: int,
    stale_refusals: int = 0,
    discarded: int = 0,
) -> Metrics:
    """The figures of one run.

    Args:
        events: All its events, oldest first.
        checks: The questions put to the inbox, over all lives.
        lives: How many lives it had.
        stale_refusals: How many of its writes were refused as stale.
        discarded: How many messages were left out as another run's.
    """
    checks = list(checks)
    acted = {event.life for event in events}
    resumed = range(2, lives + 1)
    return Metrics(
        runs=1,
        resumes=len(resumed),
        resumes_succeeded=sum(1 for life in resumed if life in acted or _over(events, life)),
        queries=len(checks),
        queries_per_life=Counter(_life_at(events, check.at) for check in checks),
        transitions=len(events),
        stale_refusals=stale_refusals,
        waits=tuple(_waits(events)),
        discarded=discarded,
    )


def total(metrics: Iterable[Metrics]) -> Metrics:
    """The figures of several runs together."""
    metrics = list(metrics)
    return Metrics(
        runs=sum(m.runs for m in metrics),
        resumes=sum(m.resumes for m in metrics),
        resumes_succeeded=sum(m.resumes_succeeded for m in metrics),
        queries=sum(m.queries for m in metrics),
        queries_per_life=sum((m.queries_per_life for m in metrics), Counter()),
        transitions=sum(m.transitions for m in metrics),
        stale_refusals=sum(m.stale_refusals for m in metrics),
        waits=tuple(wait for m in metrics for wait in m.waits),
        discarded=sum(m.discarded for m in metrics),
    )


def _over(events: Sequence[Event], life: int) -> bool:
    """Whether a life found the run verified when it began."""
    before = [event for event in events if event.life < life]
    return any(event.type is EventType.CODE_VERIFIED for event in before)


def _life_at(events: Sequence[Event], at: datetime) -> int:
    """The life that wrote last at that time."""
    return max((event.life for event in events if event.at <= at), default=1)


def _waits(events: Sequence[Event]) -> Iterable[timedelta]:
    requested: datetime | None = None
    for event in events:
        if event.type in (EventType.VERIFICATION_REQUESTED, EventType.RESEND_REQUESTED):
            requested = event.at
        elif event.type is EventType.MESSAGE_RECEIVED and requested is not None:
            yield event.at - requested
            requested = None
