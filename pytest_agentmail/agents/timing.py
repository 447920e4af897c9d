"""The time of a run: real, or virtual and driven."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.clock.virtual import VirtualClock
    from pytest_agentmail.settings import Settings

__all__ = ["Timing", "timing"]


class Release(Protocol):
    """Something that keeps time still."""

    def release(self) -> None:
        """Let time go on; doing it again does nothing."""
        ...


Hold: TypeAlias = Callable[[str, float], Release]
"""Keeps time still for a reason, for some real seconds at most."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What a run needs of time."""

    clock: Clock
    """Tells it."""
    driven: Callable[[], AbstractContextManager[object]]
    """The code inside lives in it."""
    hold: Hold
    """Keeps it still."""
    virtual: VirtualClock | None
    """The clock, where it is one that jumps."""


class _NothingToRelease:
    def release(self) -> None:
        """Real time was never kept still."""


def timing(settings: Settings, real: Clock) -> Timing:
    """The time that `settings` ask for; real time is that of the clock `real`."""
    if settings.clock == "real":
        nothing = _NothingToRelease()
        return Timing(real, nullcontext, lambda _reason, _at_most: nothing, None)
    from pytest_agentmail.clock.driven import driving
    from pytest_agentmail.clock.virtual import VirtualClock

    clock = VirtualClock()
    return Timing(
        clock, partial(driving, clock, datetime=settings.datetime), clock.hold, clock
    )
