"""The clock on the wall."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, nullcontext, suppress

from pytest_agentmail.clock.timers import timers
from pytest_agentmail.clock.wall import WALL

__all__ = ["NoHold", "RealClock"]


class NoHold(AbstractContextManager["NoHold"]):
    """Stands where a virtual clock would hold time."""

    def release(self) -> None:
        """Do nothing."""

    def lifted(self) -> AbstractContextManager[None]:
        """Do nothing."""
        return nullcontext()

    def __exit__(self, *_: object) -> None:
        pass


class RealClock:
    """Real time. A suite that freezes `datetime` freezes `now()`, and nothing else of it.

    Waiting is timed by locks, in threads, and never by an event loop: a loop whose clock is frozen
    would wait for ever.
    """

    def now(self) -> dt.datetime:
        """The current time: aware, UTC; a frozen one where the suite froze it."""
        return dt.datetime.now(dt.UTC)

    def monotonic(self) -> float:
        """Seconds that pass even while `datetime` is frozen."""
        return WALL.monotonic()

    def hold(self, reason: str, at_most: float = 0.0) -> NoHold:  # noqa: ARG002 - as VirtualClock
        """Do nothing: real time stands still for nobody."""
        return NoHold()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds` of real time."""
        WALL.sleep(max(0.0, seconds))

    async def sleep_async(self, seconds: float) -> None:
        """Suspend the calling task for `seconds` of real time."""
        await self.wait_async(Future(), seconds)

    def wait(self, wakeup: Future[None], timeout: float) -> bool:
        """Block until `wakeup` is done or `timeout` seconds passed; tell whether it is done."""
        with suppress(TimeoutError, CancelledError):
            wakeup.exception(_bounded(timeout))
        return wakeup.done()

    async def wait_async(self, wakeup: Future[None], timeout: float) -> bool:
        """Suspend until `wakeup` is done or `timeout` seconds passed; tell whether it is done.

        A wakeup that was not done in time is cancelled.
        """
        try:
            if timeout > 0 and not wakeup.done():
                await _told(wakeup, timeout)
        finally:
            woken = not wakeup.cancel()
        return woken


async def _told(wakeup: Future[None], seconds: float) -> None:
    """Return when `wakeup` is done, or `seconds` have passed for the thread that counts them."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def tell() -> None:
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(told.set)

    cancel = timers.after(seconds, tell)

    def woken(_: Future[None]) -> None:
        cancel()  # here too, since nobody is left to do it where the loop is gone
        tell()

    try:
        wakeup.add_done_callback(woken)
        await told.wait()
    finally:
        cancel()


def _bounded(seconds: float) -> float:
    return min(max(0.0, seconds), threading.TIMEOUT_MAX)
