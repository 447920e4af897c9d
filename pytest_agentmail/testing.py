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

A run with `clock="virtual"` and the loop of its test share one clock.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_agentmail.clock.loop import VirtualLoop
from pytest_agentmail.clock.sharing import loops_follow, running_clock, virtual_loop_factory
from pytest_agentmail.clock.virtual import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["loops_follow", "run_virtual", "running_clock", "virtual_loop_factory"]

T = TypeVar("T")


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
