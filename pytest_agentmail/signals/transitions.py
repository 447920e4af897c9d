"""How a signal moves: the whole table, and nothing that does I/O.

Every check is reserved before the question is asked and settled after it was answered, so that a
life that dies in between has paid for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_agentmail.signals.signal import Outcome, Query, SignalStatus

if TYPE_CHECKING:
    from datetime import datetime

    from pytest_agentmail.signals.backoff import Backoff
    from pytest_agentmail.signals.signal import Cause, Evidence, Reason, Signal

__all__ = [
    "UNANSWERED",
    "Answer",
    "Failed",
    "Matched",
    "Nothing",
    "Observation",
    "abandon",
    "reserve",
    "settle",
]


@dataclass(frozen=True, slots=True)
class Matched:
    """The provider has messages that count; the newest is the evidence."""

    evidence: Evidence
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nothing:
    """The provider answered, and nothing counts."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The provider did not answer."""

    code: str
    retry_after: float | None = None


Observation: TypeAlias = Matched | Nothing | Failed


class Answer(NamedTuple):
    """What is told to whoever asked."""

    status: SignalStatus
    final: bool


# (what was observed, whether budget is left) → what is answered; a final answer ends the signal.
_ANSWERS = {
    (Matched, True): Answer(SignalStatus.FOUND, final=True),
    (Matched, False): Answer(SignalStatus.FOUND, final=True),
    (Nothing, True): Answer(SignalStatus.WAITING, final=False),
    (Nothing, False): Answer(SignalStatus.EXPIRED, final=True),
    (Failed, True): Answer(SignalStatus.PROVIDER_ERROR, final=False),
    (Failed, False): Answer(SignalStatus.PROVIDER_ERROR, final=True),
}

UNANSWERED = "unanswered"
"""The code of a check whose life died before it was answered."""

_LONGEST_REST = 10 * 365 * 86400.0

_OUTCOMES = {Matched: Outcome.FOUND, Nothing: Outcome.CHECKED, Failed: Outcome.ERROR}


def reserve(signal: Signal, at: datetime, reason: Reason) -> Signal:
    """`signal` with one more check paid for."""
    return signal.model_copy(update={"history": (*signal.history, Query(at=at, reason=reason))})


def settle(
    signal: Signal, check: int, seen: Observation, now: datetime, backoff: Backoff
) -> tuple[Signal, Answer]:
    """`signal` after its check number `check` (from 0) was answered, and what to say.

    A signal that is final stays as it is.
    """
    if signal.final:
        return signal, Answer(signal.status, final=True)
    answer = _ANSWERS[type(seen), _budget_left(signal, now)]
    query = signal.history[check].model_copy(
        update={
            "outcome": _OUTCOMES[type(seen)],
            "matches": 1 + len(seen.also) if isinstance(seen, Matched) else 0,
            "code": seen.code if isinstance(seen, Failed) else None,
        }
    )
    changes: dict[str, object] = {
        "history": (*signal.history[:check], query, *signal.history[check + 1 :]),
        "retry_at": None,
        "resting_until": None,
    }
    if isinstance(seen, Matched):
        changes |= {"evidence": seen.evidence, "also_matched": seen.also}
    elif answer.final:
        changes |= {"cause": _cause(signal, now)}
    else:
        changes |= _when_to_retry(signal, seen, now, backoff)
    if answer.final:
        changes |= {"status": answer.status, "ended_at": now}
    return signal.model_copy(update=changes), answer


def abandon(signal: Signal, now: datetime, *, cause: Cause | None = None) -> Signal:
    """`signal` ended without a further look.

    A check that was paid for and never answered, since its life died, told nothing.
    """
    history = tuple(
        query.model_copy(update={"outcome": Outcome.ERROR, "code": UNANSWERED})
        if query.outcome is Outcome.RESERVED
        else query
        for query in signal.history
    )
    failed = bool(history) and history[-1].outcome is Outcome.ERROR
    return signal.model_copy(
        update={
            "history": history,
            "status": SignalStatus.PROVIDER_ERROR if failed else SignalStatus.EXPIRED,
            "cause": cause or _cause(signal, now),
            "ended_at": now,
        }
    )


def _budget_left(signal: Signal, now: datetime) -> bool:
    return signal.checks_left > 0 and now < signal.expires_at


def _cause(signal: Signal, now: datetime) -> Cause:
    return "deadline" if now >= signal.expires_at else "checks"


def _when_to_retry(
    signal: Signal, seen: Observation, now: datetime, backoff: Backoff
) -> dict[str, object]:
    asked = seen.retry_after if isinstance(seen, Failed) else None
    resting = (
        None if asked is None else now + timedelta(seconds=min(max(asked, 0.0), _LONGEST_REST))
    )
    pause = now + timedelta(seconds=backoff.delay(signal.kind, signal.checks))
    at = max(pause, resting or pause)
    return {"retry_at": min(at, signal.expires_at), "resting_until": resting}
