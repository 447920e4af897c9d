"""The time of a run: real, or virtual and driven."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_agentmail.clock.real import RealClock
    from pytest_agentmail.clock.virtual import VirtualClock
    from pytest_agentmail.settings import Settings

__all__ = ["Timing", "timing"]


class Timing(NamedTuple):
    """What a run needs of time."""

    clock: RealClock | VirtualClock
    """Tells it, waits in it, and can be held."""
    driven: Callable[[], AbstractContextManager[object]]
    """Makes the code inside live in it."""
    virtual: VirtualClock | None
    """The clock, where it is one that jumps."""
    shared: Callable[[], AbstractContextManager[object]]
    """While it is open, loops made for tests follow it too."""
    hints: Sequence[Callable[[], str | None]]
    """Each tells, when a wait failed, what time may have had to do with it, or None."""


def timing(settings: Settings, real: RealClock) -> Timing:
    """The time that `settings` ask for; where it is the real one, that of `real`."""
    if settings.clock == "real":
        from pytest_agentmail.clock.frozen import frozen_hint

        return Timing(real, nullcontext, None, nullcontext, [frozen_hint])
    from pytest_agentmail.clock.driven import driving
    from pytest_agentmail.clock.sharing import clock_at_hand, loops_follow

    if settings.datetime:
        from pytest_agentmail.clock.frozen import warm

        warm()
    clock = clock_at_hand()
    driven = partial(driving, clock, datetime=settings.datetime)
    return Timing(clock, driven, clock, partial(loops_follow, clock), ())
