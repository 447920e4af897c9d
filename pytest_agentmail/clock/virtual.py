"""A clock on which waiting costs nothing."""

from __future__ import annotations

import datetime as dt
import math
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_agentmail.clock import diagnosis
from pytest_agentmail.clock.agenda import Waiter
from pytest_agentmail.clock.timekeeper import Limits, Timekeeper
from pytest_agentmail.errors import ClockError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from pytest_agentmail.clock.agenda import Event
    from pytest_agentmail.clock.holds import Hold

__all__ = ["VirtualClock"]

_SECOND = 1_000_000
_MICROSECOND = dt.timedelta(microseconds=1)
# Far from today, so that a real time that slipped in is seen at once.
_START = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_END = dt.datetime.max.replace(tzinfo=dt.UTC)


class VirtualClock:
    """Time that jumps to the next deadline as soon as everybody waits.

    Waiting through the clock takes no real time. Time stands still while anything is under way:
    code in `participate`, a hold, work in an executor, a loop that has something to do. Safe to use
    from several threads and event loops.

    Args:
        start: The first instant; aware.
        settle_io: Real seconds that sockets of waiting loops get to speak before each jump.
        idle_after: Real seconds after which a wait that nothing can end fails.
        held_limit: Real seconds for which time may be held without anything happening.
        max_jumps: How often time may jump without anything else happening.

    Attributes:
        keeper: What moves time; for the loop and for drives.

    Raises:
        ClockError: `start` is naive, or one of the numbers is negative.
    """

    def __init__(
        self,
        start: dt.datetime = _START,
        *,
        settle_io: float = 0.05,
        idle_after: float = 1.0,
        held_limit: float = 30.0,
        max_jumps: int = 100_000,
    ) -> None:
        self._start = _aware(start).astimezone(dt.UTC)
        self._epoch = (self._start - _EPOCH) // _MICROSECOND
        limits = Limits(settle_io, idle_after, held_limit, max_jumps)
        end = (_END - self._start) // _MICROSECOND
        self.keeper: Timekeeper = Timekeeper(
            limits, end, lambda moment: self._at(moment).isoformat()
        )

    def now(self) -> dt.datetime:
        """The current time: aware, UTC."""
        return self._at(self.keeper.now)

    def monotonic(self) -> float:
        """Virtual seconds since the start."""
        return self.keeper.now / _SECOND

    def microseconds(self) -> int:
        """Virtual microseconds since the start; exact."""
        return self.keeper.now

    def timestamp(self) -> float:
        """The current time in seconds since 1970."""
        return self.epoch_microseconds() / _SECOND

    def epoch_microseconds(self) -> int:
        """The current time in microseconds since 1970; exact."""
        return self._epoch + self.keeper.now

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds` of virtual time."""
        if seconds > 0:
            self._block(self._deadline(seconds), f"sleeps {seconds:g} s", None)

    async def sleep_async(self, seconds: float) -> None:
        """Suspend the calling task for `seconds` of virtual time."""
        from pytest_agentmail.clock.loop import sleep_in_loop

        await sleep_in_loop(self, seconds)

    def wait(self, wakeup: Future[None], timeout: float) -> bool:
        """Block until `wakeup` is done or `timeout` seconds passed; tell whether it is done.

        What happens at the instant of the deadline still counts.
        """
        if not wakeup.done():
            self._block(self._deadline(timeout), f"waits up to {timeout:g} s", wakeup)
        return wakeup.done()

    def wait_beside_loop(self, wakeup: Future[None], timeout: float) -> None:
        """Wait for a task of a loop that does not follow this clock and may have sockets open."""
        self._block(self._deadline(timeout), f"waits up to {timeout:g} s", wakeup, is_open=True)

    async def wait_async(self, wakeup: Future[None], timeout: float) -> bool:
        """Suspend until `wakeup` is done or `timeout` seconds passed; tell whether it is done.

        A wakeup that was not done in time is cancelled.
        """
        from pytest_agentmail.clock.loop import wait_in_loop

        return await wait_in_loop(self, wakeup, timeout)

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass, with everything that falls due in them, in order.

        It waits until nothing is under way before each step, as everybody does.

        Raises:
            ClockError: `seconds` is negative.
        """
        if seconds < 0:
            raise ClockError(f"time cannot go backwards, but advance was asked for {seconds:g} s")
        self._block(self._deadline(seconds), f"advances the clock by {seconds:g} s", None)

    def hold(self, reason: str, at_most: float = math.inf) -> Hold:
        """Keep time still until it is released.

        `with clock.hold("…"):` gives it up while the code inside waits on this clock. Kept in a
        variable, it stands until `release()`, which any thread may call.

        Args:
            reason: What is under way; listed when time cannot go on.
            at_most: Real seconds after which it ends by itself.
        """
        return self.keeper.holds.take(reason, at_most)

    @contextmanager
    def participate(self, name: str) -> Iterator[None]:
        """Keep time still while the calling thread runs the code inside and does not wait."""
        hold = self.hold(f"{name} runs")
        with self.taken_over(hold):
            yield

    @contextmanager
    def taken_over(self, hold: Hold) -> Iterator[None]:
        """Tie a hold that another thread took to the calling one; it ends with the code inside."""
        try:
            with hold.carried():
                yield
        finally:
            hold.release()

    def call_at(self, when: dt.datetime, callback: Callable[[], object]) -> Event:
        """Have `callback` called when it is `when`, before anybody's deadline at that instant.

        It runs in the thread of somebody who waits, while time stands still, and must not wait
        itself. Its error surfaces there. Events at one instant keep their order. A time that has
        passed means now.

        Returns:
            The event, which can be cancelled.

        Raises:
            ClockError: `when` is naive.
        """
        return self.keeper.schedule((_aware(when) - self._start) // _MICROSECOND, callback)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Event:
        """Have `callback` called in `seconds`; see `call_at`."""
        return self.keeper.schedule(self.keeper.now + _microseconds(seconds), callback)

    def _at(self, moment: int) -> dt.datetime:
        return self._start + dt.timedelta(microseconds=moment)

    def _deadline(self, seconds: float) -> int | None:
        return None if seconds == math.inf else self.keeper.now + _microseconds(seconds)

    def _block(
        self,
        deadline: int | None,
        what: str,
        wakeup: Future[None] | None,
        *,
        is_open: bool = False,
    ) -> None:
        with self._holds_to_give_up(what) as holds:
            waiter = _BlockedThread(deadline, what, holds, is_open=is_open)
            if wakeup is not None:
                wakeup.add_done_callback(lambda _: self.keeper.wake(waiter))
            self.keeper.park(waiter, waiter.block)

    @contextmanager
    def _holds_to_give_up(self, what: str) -> Iterator[tuple[Hold, ...]]:
        """What the caller gives up; a thread that holds nothing takes part for this one call."""
        mine = self.keeper.holds.of_caller()
        guest = self.hold(f"a thread that {what}")
        try:
            yield (*mine, guest)
        finally:
            guest.release()


class _BlockedThread(Waiter):
    """A thread that sleeps on a lock of its own."""

    def __init__(
        self, deadline: int | None, what: str, holds: tuple[Hold, ...], *, is_open: bool
    ) -> None:
        super().__init__(deadline, what, holds, is_open=is_open)
        self._thread = threading.get_ident()
        self._bell = threading.Lock()
        self._bell.acquire()

    def block(self, seconds: float) -> None:
        self._bell.acquire(timeout=seconds)

    def ring(self) -> None:
        if self._bell.locked():
            self._bell.release()

    def describe(self) -> str:
        thread = self._thread
        return f"thread {diagnosis.thread_name(thread)} {self.what}{diagnosis.whereabouts(thread)}"


def _aware(moment: dt.datetime) -> dt.datetime:
    if moment.tzinfo is None:
        raise ClockError(
            f"a time on a virtual clock must be aware, but {moment!r} has no time zone;"
            " add tzinfo=datetime.UTC"
        )
    return moment


def _microseconds(seconds: float) -> int:
    """Whole microseconds; the least bit of time is one, so that every sleep moves on."""
    if math.isnan(seconds):
        raise ClockError("a time in seconds must be a number, but it is nan")
    return max(1, round(seconds * _SECOND)) if seconds > 0 else 0
