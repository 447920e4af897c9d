"""Why virtual time cannot go on, in words."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

    from pytest_agentmail.clock.agenda import Waiter
    from pytest_agentmail.clock.holds import Hold
    from pytest_agentmail.clock.jumps import Jumps

__all__ = [
    "end_of_time",
    "endless",
    "held",
    "idle",
    "place",
    "thread_name",
    "waiting_inside_event",
    "whereabouts",
]

_OURS = str(Path(__file__).parents[1])
_STDLIB = str(Path(os.__file__).parent)
_MOST_TIMERS = 5


def idle(waiters: Iterable[Waiter]) -> str:
    """Everybody waits, and nothing is due."""
    return (
        "virtual time cannot go on: everybody waits, nothing is scheduled and nothing is under way."
        f"{_list('waiting', waiters)}"
        "\nGive the wait a timeout, or schedule what it waits for."
        " If something outside is to end it, take `clock.hold(reason)` while that is under way."
    )


def held(holds: Iterable[Hold], waiters: Iterable[Waiter], seconds: float) -> str:
    """Something has held time for too long."""
    standing = "".join(f"\n  - {hold.reason}{_at(hold)}" for hold in holds)
    return (
        f"virtual time has been held for {seconds:g} real seconds by:{standing}"
        f"{_list('waiting', waiters)}"
        "\nWhoever blocks on something that another waiter is to do keeps time from getting there;"
        " let it wait through the clock, or release the hold."
    )


def end_of_time(waiters: Iterable[Waiter], end: str) -> str:
    """The next deadline lies beyond the calendar."""
    return (
        f"virtual time cannot go on: the next deadline lies beyond {end}, the end of the calendar."
        f"{_list('waiting', waiters)}"
        "\nUse a shorter time, or `math.inf` for a wait without an end."
    )


def endless(jumps: Jumps, waiters: Iterable[Waiter], now: str) -> str:
    """Time moved on and on, and nothing else happened."""
    shown = jumps.most_common(_MOST_TIMERS)
    timers = "".join(f"\n  - {times:,} times: {what}" for what, times in shown)
    rest = jumps.total - sum(times for _, times in shown)
    more = f"\n  - {rest:,} times: others" if rest else ""
    return (
        f"virtual time moved on {jumps.total:,} times, to {now}, and nothing happened that anybody"
        " waits for. Somebody polls for ever:"
        f"{timers}{more}"
        f"{_list('waiting', waiters)}"
        "\nGive the polling an end, or raise `max_jumps` of the VirtualClock."
    )


def waiting_inside_event(what: str) -> str:
    """An event of the world waits on the clock that runs it."""
    return (
        f"an event of the world cannot wait on the clock that runs it, but it {what}."
        " Schedule a further event instead: clock.call_later(seconds, callback)."
    )


def thread_name(ident: int) -> str:
    """The name of a thread; that of an unknown one is its number."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return repr(names.get(ident, str(ident)))


def whereabouts(ident: int) -> str:
    """Where a thread stands right now; empty if that cannot be told."""
    return place(sys._current_frames().get(ident))  # noqa: SLF001 - documented in `sys`


def place(frame: FrameType | None) -> str:
    """The innermost line of code outside of this package and the standard library."""
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_OURS, "<frozen")) and not _is_stdlib(code.co_filename):
            return f" at {Path(code.co_filename).name}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return ""


def _is_stdlib(filename: str) -> bool:
    return filename.startswith(_STDLIB) and "site-packages" not in filename


def _at(hold: Hold) -> str:
    return f" (thread {thread_name(hold.thread)}{whereabouts(hold.thread)})"


def _list(title: str, waiters: Iterable[Waiter]) -> str:
    return f"\n{title}:" + "".join(f"\n  - {waiter.describe()}" for waiter in waiters)
