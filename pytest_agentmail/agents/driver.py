"""Call an agent, in this process."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_agentmail.errors import AgentMailError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Outcome", "live"]


class Outcome(NamedTuple):
    """How a life ended: it returned, or it raised."""

    result: Any
    error: BaseException | None


def live(agent: Callable[..., Any], *args: Any, **kwargs: Any) -> Outcome:
    """Call `agent` once, in this thread; a coroutine gets a fresh event loop.

    An agent that exits (`sys.exit`) has ended, as one that raises has. What a person or pytest
    stops, by KeyboardInterrupt or by an outcome such as `pytest.skip`, goes on to whoever called.

    Raises:
        AgentMailError: An event loop is running in this thread.
    """
    if _loop_is_running():
        raise AgentMailError(
            "drive() was called while an event loop is running; "
            "in an async test use: await run.drive_async(agent)"
        )
    try:
        result = agent(*args, **kwargs)
        if inspect.isawaitable(result):
            with asyncio.Runner() as runner:
                result = runner.run(_awaited(result))
    except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever it raises came of it)
        return Outcome(None, error)
    return Outcome(result, None)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
