"""Run a wait as a coroutine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from pytest_agentmail.clock.pausing import Pause

if TYPE_CHECKING:
    from pytest_agentmail.clock.pausing import Wait
    from pytest_agentmail.clock.protocol import Clock

__all__ = ["finish_async"]

T = TypeVar("T")


async def finish_async(clock: Clock, wait: Wait[T]) -> T:
    """Run `wait` in this task and return its result."""
    __tracebackhide__ = True
    try:
        step = next(wait)
        while True:
            if isinstance(step, Pause):
                step = wait.send(await clock.wait_async(step.wakeup, step.seconds))
            elif step.brief:
                step = wait.send(step.function())
            else:
                step = wait.send(await asyncio.to_thread(step.function))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        wait.close()
