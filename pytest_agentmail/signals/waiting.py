"""Wait for a signal: when to look, and what to sleep on in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentmail.providers.protocol import WakingProvider
from pytest_agentmail.signals.signal import SignalStatus

if TYPE_CHECKING:
    from collections.abc import Generator
    from datetime import datetime

    from pytest_agentmail.clock.pausing import Pause, Wait
    from pytest_agentmail.signals.queue import SignalQueue
    from pytest_agentmail.signals.result import CheckResult
    from pytest_agentmail.signals.signal import Reason, Signal

__all__ = ["waiting"]


def waiting(queue: SignalQueue, signal: Signal) -> Wait[CheckResult]:
    """Look, sleep until the next look is due, matching mail arrives or a notice comes, look again.

    The last check is kept for the deadline or for mail that matches. A clock that stands still
    cannot prolong it: the signal ends once its seconds have passed on the monotonic clock.
    """
    clock = queue.clock
    limit = clock.monotonic() + _seconds(clock.now(), signal.expires_at)
    reason: Reason | None = None
    while True:
        known = {message.id for message in queue.arrived(signal)}
        result = queue.check(signal, reason)
        if result.final:
            return result
        if clock.monotonic() >= limit:
            return queue.close(signal)
        pause = min(_seconds(clock.now(), _next_look(queue, result)), limit - clock.monotonic())
        woken = yield from _sleeping(queue, signal, known, pause)
        failed = result.status is SignalStatus.PROVIDER_ERROR
        reason = "after_wakeup" if woken else "error_recovery" if failed else "scheduled"


def _next_look(queue: SignalQueue, result: CheckResult) -> datetime:
    signal = result.signal
    told_of_mail = isinstance(queue.provider, WakingProvider)
    failed = result.status is SignalStatus.PROVIDER_ERROR
    if result.retry_at is None or signal.checks_left <= 1 or (told_of_mail and not failed):
        return signal.expires_at
    return result.retry_at


def _sleeping(
    queue: SignalQueue, signal: Signal, known: set[str], seconds: float
) -> Generator[Pause, bool, bool]:
    """Sleep; tell whether matching mail or a notice cut it short. Other mail does not.

    A notice keeps the least distance between two checks; notices that come meanwhile are one.
    """
    now = queue.clock.monotonic()
    until = now + seconds
    rested = now + queue.rest_left(signal)
    while True:
        with queue.watching(signal) as watch:
            if any(m.id not in known and queue.counts(signal, m) for m in queue.arrived(signal)):
                return True
            now = queue.clock.monotonic()
            if now >= rested and queue.take_notice(signal):
                return True
            if now >= until:
                return False
            due = min(until, rested) if now < rested else until
            yield watch.pause(due - now)


def _seconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds()
