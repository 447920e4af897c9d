"""Virtual time in tests of your own.

Whole `async def` tests become virtual when their event loop does. With pytest-asyncio, in
`conftest.py`:

```python
from pytest_agentmail.testing import virtual_loop_factory

def pytest_asyncio_loop_factories(config, item):
    return {"virtual": virtual_loop_factory}
```

With anyio:

```python
@pytest.fixture
def anyio_backend():
    return "asyncio", {"loop_factory": virtual_loop_factory}
```
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_agentmail.clock.loop import VirtualLoop
from pytest_agentmail.clock.virtual import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

__all__ = ["loops_follow", "run_virtual", "running_clock", "virtual_loop_factory"]

T = TypeVar("T")

_followed: list[VirtualClock] = []


def virtual_loop_factory() -> VirtualLoop:
    """Make an event loop whose timers take no real time.

    It follows a clock of its own, or the one that `loops_follow` names.
    """
    return VirtualLoop(_followed[-1] if _followed else VirtualClock())


@contextmanager
def loops_follow(clock: VirtualClock) -> Iterator[None]:
    """Have the loops that `virtual_loop_factory` makes meanwhile follow `clock`."""
    _followed.append(clock)
    try:
        yield
    finally:
        _followed.remove(clock)


def running_clock() -> VirtualClock | None:
    """Get the clock of the running event loop; None if it runs in real time, or none runs."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return loop.clock if isinstance(loop, VirtualLoop) else None


def run_virtual(main: Coroutine[Any, Any, T], clock: VirtualClock | None = None) -> T:
    """Run `main` in virtual time, as `asyncio.run` does in real time.

    Args:
        main: What to run.
        clock: The clock to follow; a new one by default.

    Returns:
        What `main` returns.
    """
    followed = VirtualClock() if clock is None else clock
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(followed)) as runner:
        return runner.run(main)
