"""Threads of a drive or a virtual loop: those they start take part, those that wait step aside.

A thread that blocks on a condition (an event, a queue, a future) or joins another thread must not
keep time still, or what it waits for could never sleep. It takes time back in the moment in which
it is notified, not when it gets to run: otherwise time could move in between.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_agentmail.clock import diagnosis
from pytest_agentmail.clock.agenda import Waiter
from pytest_agentmail.clock.executors import OUT_OF_PROCESS, Work, submit
from pytest_agentmail.clock.inside import Dismissed, inside, scope_of_thread
from pytest_agentmail.clock.patches import Patches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from pytest_agentmail.clock.inside import Scope

__all__ = ["followed"]


# They start threads that wait for work, or for a child process; what matters is held elsewhere.
_PLUMBING = frozenset({"asyncio", "concurrent"})


class _Real:
    """What the covers lead to in the end."""

    start = threading.Thread.start
    join = threading.Thread.join
    wait = threading.Condition.wait
    notify = threading.Condition.notify
    submit = ThreadPoolExecutor.submit


class _Cover:
    """The replaced methods, shared by everything that needs them at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._patches = Patches()
        self._users = 0

    @contextmanager
    def worn(self) -> Iterator[None]:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._put_on()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._patches.take_back()

    def _put_on(self) -> None:
        self._patches.put(threading.Thread, "start", _start)
        self._patches.put(threading.Thread, "join", _join)
        self._patches.put(threading.Condition, "wait", _wait)
        self._patches.put(threading.Condition, "notify", _notify)
        self._patches.put(ThreadPoolExecutor, "submit", _submit)


_cover = _Cover()


def followed() -> AbstractContextManager[None]:
    """Have threads of a scope, and those they start, take part in its clock."""
    return _cover.worn()


class _Aside(Waiter):
    """A thread that waits for another one, and not for the clock."""

    def __init__(self, scope: Scope, what: str) -> None:
        keeper = scope.clock.keeper
        super().__init__(None, what, keeper.holds.of_caller(), is_open=False)
        self._keeper = keeper
        self._thread = threading.get_ident()

    def return_to_work(self) -> None:
        self._keeper.step_in(self)

    def describe(self) -> str:
        thread = self._thread
        return f"thread {diagnosis.thread_name(thread)} {self.what}{diagnosis.whereabouts(thread)}"


class _Asides:
    """Who stands aside until something is notified or a thread ends."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[object, deque[_Aside]] = WeakKeyDictionary()
        self._lock = threading.RLock()

    @contextmanager
    def standing(self, scope: Scope, cause: object, what: str) -> Iterator[None]:
        aside = _Aside(scope, what)
        with self._lock:
            self._of.setdefault(cause, deque()).append(aside)
        scope.clock.keeper.step_out(aside)
        try:
            yield
        finally:
            aside.return_to_work()
            with self._lock:
                mine = self._of.get(cause)
                if mine and aside in mine:
                    mine.remove(aside)

    def call_back(self, cause: object, most: int | None = None) -> None:
        with self._lock:
            standing = self._of.get(cause)
            while standing and most != 0:
                standing.popleft().return_to_work()
                most = None if most is None else most - 1


_asides = _Asides()


def _start(thread: threading.Thread) -> None:
    scope = scope_of_thread()
    if scope is None or _starter() in _PLUMBING:
        _Real.start(thread)
        return
    hold = scope.hold(f"thread {thread.name!r} runs")
    run = thread.run

    def run_inside() -> None:
        try:
            with suppress(Dismissed), inside(scope), hold.carried():
                run()
        finally:
            _asides.call_back(thread)
            scope.release(hold)

    thread.run = run_inside  # type: ignore[method-assign]
    try:
        _Real.start(thread)
    except BaseException:
        scope.release(hold)
        raise


def _join(thread: threading.Thread, timeout: float | None = None) -> None:
    scope = scope_of_thread()
    if scope is None:
        _Real.join(thread, timeout)
        return
    with _asides.standing(scope, thread, f"joins thread {thread.name!r}"):
        _Real.join(thread, timeout)


def _wait(condition: threading.Condition, timeout: float | None = None) -> bool:
    scope = scope_of_thread()
    if scope is None:
        return _Real.wait(condition, timeout)
    with _asides.standing(scope, condition, "waits for another thread"):
        return _Real.wait(condition, timeout)


def _notify(condition: threading.Condition, n: int = 1) -> None:
    _asides.call_back(condition, n)
    _Real.notify(condition, n)


def _submit(
    executor: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Future[Any]:
    scope = scope_of_thread()
    if scope is None or isinstance(fn, Work) or isinstance(executor, OUT_OF_PROCESS):
        return _Real.submit(executor, fn, *args, **kwargs)
    return submit(scope.clock, executor, fn, *args, **kwargs)


def _starter() -> str:
    """The top-level package of the code that called `start`."""
    name: str = sys._getframe(2).f_globals.get("__name__", "")  # noqa: SLF001 - as logging does
    return name.partition(".")[0]
