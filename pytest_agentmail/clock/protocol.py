"""What everything that waits asks of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from concurrent.futures import Future
    from datetime import datetime

__all__ = ["Clock"]


class Clock(Protocol):
    """Tells the time, and waits until it has passed or something happened.

    Durations are seconds. A *wakeup* is a future that somebody else resolves; it is only ever
    waited for, never resolved, by a clock.
    """

    def now(self) -> datetime:
        """The current time: aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes backwards."""
        ...

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds`."""
        ...

    async def sleep_async(self, seconds: float) -> None:
        """Suspend the calling task for `seconds`."""
        ...

    def wait(self, wakeup: Future[None], timeout: float) -> bool:
        """Block until `wakeup` is done or `timeout` seconds passed; tell whether it is done."""
        ...

    async def wait_async(self, wakeup: Future[None], timeout: float) -> bool:
        """Suspend until `wakeup` is done or `timeout` seconds passed; tell whether it is done."""
        ...
