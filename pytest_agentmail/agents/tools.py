"""The tools an agent calls: counted, and given time for their effect to show."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from pytest_agentmail.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from datetime import datetime

    from pytest_agentmail.clock.real import RealClock
    from pytest_agentmail.clock.virtual import VirtualClock
    from pytest_agentmail.mail.run_mail import RunMail

__all__ = ["CallCount", "Tools"]

Tool = TypeVar("Tool", bound="Callable[..., Any]")

_RESERVED = frozenset({"check", "ledger", "sleep", "lease", "smtp.data"})
"""The steps that a run takes by itself."""
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class CallCount(NamedTuple):
    """How often a step was called."""

    attempted: int
    """Calls that began."""
    completed: int
    """Calls that returned."""


class Tools:
    """Wraps what an agent calls, so that the world knows of it.

    Args:
        clock: Stands still while a tool runs, and a while after one that has an effect.
        mail: What was accepted for the run.
        settle: Real seconds for which the mail of an effect is awaited at most.
        on_effect: Told of each effect that asks for mail; tells whether an app will send it.
        may_go_on: Raises where no step may be taken any more.
    """

    def __init__(
        self,
        clock: RealClock | VirtualClock,
        mail: RunMail,
        settle: float,
        on_effect: Callable[[], bool] = lambda: True,
        may_go_on: Callable[[], object] = lambda: None,
    ) -> None:
        self._clock = clock
        self._on_effect = on_effect
        self._may_go_on = may_go_on
        self._mail = mail
        self._settle = settle
        self._lock = threading.Lock()
        self._attempted: Counter[str] = Counter()
        self._completed: Counter[str] = Counter()
        self.requested_at: datetime | None = None
        """When an effect that sends mail began last."""

    @overload
    def wrap(
        self, tool: Tool, *, name: str | None = None, effect: bool = False, sends_mail: bool = True
    ) -> Tool: ...

    @overload
    def wrap(
        self, *, name: str | None = None, effect: bool = False, sends_mail: bool = True
    ) -> Callable[[Tool], Tool]: ...

    def wrap(
        self,
        tool: Any = None,
        *,
        name: str | None = None,
        effect: bool = False,
        sends_mail: bool = True,
    ) -> Any:
        """`tool`, known to the world under `name`; without `tool`, a decorator.

        Sync and async functions, bound methods and callable objects keep their name, docstring,
        signature and annotations. A call is completed when it returned, or when what it gave has
        been awaited.

        Args:
            tool: What the agent calls.
            name: Of letters, digits and `_ . -`; the tool's own unless given.
            effect: Whether it changes the outside world, such as asking for a mail. Under the
                virtual clock time then waits for that mail, `settle` real seconds at most.
            sends_mail: Whether a mail is to be expected after the effect.

        Raises:
            SettingsError: The tool cannot be called, or the name cannot be one or is that of a
                step of the run itself (check, ledger, lease, sleep, smtp.data).
        """
        if tool is None:
            return functools.partial(self.wrap, name=name, effect=effect, sends_mail=sends_mail)
        if not callable(tool):
            raise SettingsError(f"{tool!r} is no tool: expected something that can be called")
        called = _checked(name or str(getattr(tool, "__name__", type(tool).__name__)))
        counted = functools.partial(self._counted, called, awaits_mail=effect and sends_mail)
        in_progress = functools.partial(self._clock.hold, f"step {called} is in progress")

        async def finished(result: Awaitable[Any], ending: ExitStack) -> Any:
            with ending, in_progress():
                return await result

        if _is_async(tool):

            @functools.wraps(tool)
            async def wrapped(*args: Any, **kwargs: Any) -> Any:
                with counted(), in_progress():
                    return await tool(*args, **kwargs)
        else:

            @functools.wraps(tool)
            def wrapped(*args: Any, **kwargs: Any) -> Any:
                with ExitStack() as ending:
                    ending.enter_context(counted())
                    with in_progress():
                        result = tool(*args, **kwargs)
                    if not _is_to_be_awaited(result):
                        return result
                    rest = finished(result, ending.pop_all())
                return asyncio.ensure_future(rest) if asyncio.isfuture(result) else rest

        return wrapped

    @property
    def calls(self) -> dict[str, CallCount]:
        """How often each step was called, by its name."""
        with self._lock:
            return {
                name: CallCount(attempted, self._completed[name])
                for name, attempted in self._attempted.items()
            }

    @contextmanager
    def _counted(self, name: str, *, awaits_mail: bool) -> Iterator[None]:
        self._may_go_on()
        with self._lock:
            self._attempted[name] += 1
        before = len(self._mail.sent)
        if awaits_mail:
            self.requested_at = self._clock.now()
        try:
            yield
        finally:
            if awaits_mail and self._on_effect():
                hold = self._clock.hold(f"the mail that {name} causes is awaited", self._settle)
                self._mail.when_more_than(before, hold.release)
        with self._lock:
            self._completed[name] += 1


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{name!r} is no name of a step: expected letters, digits, _ . and -")
    if name in _RESERVED:
        raise SettingsError(
            f"a tool cannot be called {name!r}, which is a step of the run itself: give it another "
            f"name= (not {', '.join(sorted(_RESERVED))})"
        )
    return name


def _is_to_be_awaited(result: Any) -> bool:
    """Whether a step goes on in what its tool gave; not in what is to be used in `async with`."""
    return inspect.isawaitable(result) and not hasattr(result, "__aenter__")


def _is_async(tool: Any) -> bool:
    return inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(
        getattr(tool, "__call__", None)  # noqa: B004  (its kind is asked, not whether it is there)
    )
