"""Wait for a signal: when to look, and what to sleep on in between."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pytest_agentmail.clock.pausing import Call
from pytest_agentmail.signals.signal import SignalStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pytest_agentmail.clock.pausing import Wait
    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.signals.lookout import Lookout
    from pytest_agentmail.signals.result import CheckResult
    from pytest_agentmail.signals.signal import Reason, Signal

__all__ = ["Waiting"]


class Waiting:
    """One wait for one signal.

    It looks, sleeps until the next look is due, matching mail arrives or a notice comes, and looks
    again. The last check is kept for the deadline or for mail that matches. A clock that stands
    still cannot prolong it: the signal ends once its seconds have passed on the monotonic clock.

    Args:
        signal: What is waited for.
        clock: Whose time it follows.
        lookout: Hears of mail and notices.
        counts: Tells whether a message meets the contract.
        check: Asks once, for a reason; `brief` where that takes no time.
        close: Ends the signal without asking.
        least_gap: Seconds between two checks that notices keep.
    """

    def __init__(  # noqa: PLR0913  (what the queue lends, each by name)
        self,
        signal: Signal,
        clock: Clock,
        lookout: Lookout,
        *,
        counts: Callable[[Message], bool],
        check: Callable[[Reason | None], CheckResult],
        close: Callable[[], CheckResult],
        brief: bool,
        least_gap: float,
    ) -> None:
        self._signal = signal
        self._clock = clock
        self._lookout = lookout
        self._counts = counts
        self._check = check
        self._close = close
        self._brief = brief
        self._least_gap = least_gap

    def steps(self) -> Wait[CheckResult]:
        """The wait, to be finished by a thread or a task."""
        limit = self._clock.monotonic() + self._seconds_until(self._signal.expires_at)
        reason: Reason | None = None
        while True:
            known = {message.id for message in self._arrived()}
            result: CheckResult = yield Call(partial(self._check, reason), self._brief)
            if result.final:
                return result
            if self._clock.monotonic() >= limit:
                return self._close()
            due = self._seconds_until(self._next_look(result, known))
            woken = yield from self._sleeping(known, min(due, limit - self._clock.monotonic()))
            failed = result.status is SignalStatus.PROVIDER_ERROR
            reason = "after_wakeup" if woken else "error_recovery" if failed else "scheduled"

    def _next_look(self, result: CheckResult, known: set[str]) -> datetime:
        signal = result.signal
        failed = result.status is SignalStatus.PROVIDER_ERROR
        if result.retry_at is None or signal.checks_left <= 1:
            return signal.expires_at
        if not failed and self._will_be_told(known):
            return signal.expires_at
        return result.retry_at

    def _will_be_told(self, known: set[str]) -> bool:
        """Whether arrivals are told of, and none is known that a look should have found."""
        arrived = self._lookout.arrived(self._signal)
        if arrived is None:
            return False
        return not any(message.id in known and self._counts(message) for message in arrived)

    def _sleeping(self, known: set[str], seconds: float) -> Wait[bool]:
        """Sleep; tell whether matching mail or a notice cut it short. Other mail does not.

        A notice keeps the least gap between two checks; notices that come meanwhile are one.
        """
        now = self._clock.monotonic()
        until, rested = now + seconds, now + self._least_gap
        while True:
            with self._lookout.watching(self._signal) as watch:
                if any(m.id not in known and self._counts(m) for m in self._arrived()):
                    return True
                now = self._clock.monotonic()
                if now >= rested and self._lookout.take_notice(self._signal):
                    return True
                if now >= until:
                    return False
                yield watch.pause((min(until, rested) if now < rested else until) - now)

    def _arrived(self) -> Sequence[Message]:
        return self._lookout.arrived(self._signal) or ()

    def _seconds_until(self, moment: datetime) -> float:
        return (moment - self._clock.now()).total_seconds()
