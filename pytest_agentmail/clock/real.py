"""The clock on the wall."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["RealClock"]


class RealClock:
    """Real time. A suite that freezes `datetime` freezes `now()`, and nothing else of it."""

    # In a tuple: freezegun replaces clocks that stand alone as an attribute of a module.
    _clocks = (time.monotonic, time.sleep)

    def now(self) -> dt.datetime:
        """The current time: aware, UTC; a frozen one where the suite froze it."""
        return dt.datetime.now(dt.UTC)

    def monotonic(self) -> float:
        """Seconds that pass even while `datetime` is frozen."""
        return self._clocks[0]()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds` of real time."""
        self._clocks[1](max(0.0, seconds))

    async def sleep_async(self, seconds: float) -> None:
        """Suspend the calling task for `seconds` of real time."""
        await asyncio.sleep(max(0.0, seconds))

    def wait(self, wakeup: Future[None], timeout: float) -> bool:
        """Block until `wakeup` is done or `timeout` seconds passed; tell whether it is done."""
        try:
            wakeup.result(max(0.0, timeout))
        except TimeoutError:
            return False
        return True

    async def wait_async(self, wakeup: Future[None], timeout: float) -> bool:
        """Suspend until `wakeup` is done or `timeout` seconds passed; tell whether it is done."""
        waiter = asyncio.wrap_future(wakeup)
        try:
            done, _ = await asyncio.wait([waiter], timeout=max(0.0, timeout))
        finally:
            waiter.cancel()
        return bool(done)
