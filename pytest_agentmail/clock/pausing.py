"""Write a wait once; run it blocking here, or as a coroutine with `tasks`.

A wait is a generator. It yields a `Pause` whenever it has to wait, and is sent whether the pause
was cut short by its wakeup; it yields a `Call` for what may take long, and is sent what that
returned. What the generator returns is the result. Closing it ends the wait.
"""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pytest_agentmail.clock.protocol import Clock

__all__ = ["Call", "Pause", "Wait", "Watch", "finish", "ring"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait until `wakeup` is done, but at most `seconds`."""

    seconds: float
    wakeup: Future[None] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class Call:
    """Call `function`; where `brief`, a task does so itself, else in a thread."""

    function: Callable[[], Any]
    brief: bool


class Watch:
    """Something to sleep on: a wakeup, and the time after which looking again is worth it.

    Args:
        due: Gives the seconds until there may be more to see even if nobody rings.
        wakeup: What whoever has news resolves; a new one unless given.
    """

    def __init__(self, due: Callable[[], float], wakeup: Future[None] | None = None) -> None:
        self.wakeup: Future[None] = wakeup or Future()
        """Whoever has news resolves it."""
        self._due = due

    def or_in(self, due: Callable[[], float]) -> Watch:
        """The same, and worth looking again after `due` seconds too."""
        return Watch(lambda: min(self._due(), due()), self.wakeup)

    def pause(self, seconds: float) -> Pause:
        """Sleep on it for at most `seconds`."""
        return Pause(min(seconds, self._due()), self.wakeup)


Wait: TypeAlias = "Generator[Pause | Call, Any, T]"


def finish(clock: Clock, wait: Wait[T]) -> T:
    """Run `wait` in this thread and return its result."""
    __tracebackhide__ = True
    try:
        step = next(wait)
        while True:
            if isinstance(step, Call):
                step = wait.send(step.function())
            else:
                step = wait.send(clock.wait(step.wakeup, step.seconds))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        wait.close()


def ring(wakeup: Future[None]) -> None:
    """Resolve `wakeup`, unless its waiter gave up or it was resolved before."""
    with suppress(InvalidStateError):
        wakeup.set_result(None)
