"""Threads of a driven agent: those it starts take part, and those that wait for others step aside.

A thread that blocks on a condition (an event, a queue, a future) or joins another thread must not
keep time still, or what it waits for could never sleep. It takes time back in the moment in which it
is notified, and not only when it gets to run: otherwise time could move in between.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_agentmail.clock import diagnosis
from pytest_agentmail.clock.agenda import Waiter
from pytest_agentmail.clock.executors import submit
from pytest_agentmail.clock.inside import inside, scope_of_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_agentmail.clock.inside import Scope
    from pytest_agentmail.clock.patches import Patches

__all__ = ["cover"]


def cover(patches: Patches) -> None:
    """Replace what threads of a drive do otherwise than others."""
    patches.put(threading.Thread, "start", _start)
    patches.put(threading.Thread, "join", _join)
    patches.put(threading.Condition, "wait", _wait)
    patches.put(threading.Condition, "notify", _notify)
    patches.put(ThreadPoolExecutor, "submit", _submit)


class _Real:
    """What the covers lead to in the end."""

    start = threading.Thread.start
    join = threading.Thread.join
    wait = threading.Condition.wait
    notify = threading.Condition.notify
    submit = ThreadPoolExecutor.submit


class _Here(threading.local):
    # Threads that an executor starts for itself wait for work; only their work takes part.
    hires = False


_here = _Here()


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
    if scope is None or _here.hires:
        _Real.start(thread)
        return
    hold = scope.hold(f"thread {thread.name!r} runs")
    run = thread.run

    def run_inside() -> None:
        try:
            with inside(scope), hold.carried():
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
    if scope is None or _here.hires:
        return _Real.submit(executor, fn, *args, **kwargs)
    return submit(scope.clock, executor, _hire(executor), fn, *args, **kwargs)


def _hire(executor: ThreadPoolExecutor) -> Callable[..., Future[Any]]:
    def send(fn: Callable[..., Any]) -> Future[Any]:
        _here.hires = True
        try:
            return _Real.submit(executor, fn)
        finally:
            _here.hires = False

    return send
