"""Other processes, for contracts: real ones, and really killed."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

HARMLESS_TYPES = (str, bytes, bytearray, list, dict, tuple, set, frozenset, int, type)
HARMLESS_HOMES = {
    "_hashlib",
    "_json",
    "_thread",
    "builtins",
    "collections",
    "datetime",
    "functools",
    "pydantic_core",
    "re",
    "sys",
    "time",
    "zlib",
}

__all__ = ["Child", "dying_at_call", "run_child", "start_child"]

KILLED = -signal.SIGKILL


@dataclass
class Child:
    """A forked process, and what it says."""

    pid: int
    output: int
    """Read end of the pipe that it reports on."""

    def kill(self) -> None:
        """End it at once; nothing of it runs on."""
        os.kill(self.pid, signal.SIGKILL)

    def read(self) -> str:
        """All it said until it ended."""
        with os.fdopen(self.output, closefd=False) as pipe:
            return pipe.read()

    def wait(self) -> int:
        """How it ended: its exit code, or minus the signal that killed it."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.output)
        return os.waitstatus_to_exitcode(status)


def start_child(work: Callable[[Callable[[str], None]], None]) -> Child:
    """Run `work` in a forked process; what it passes to its argument can be read here.

    A forked process is what a worker of yours may be: what was opened before the fork is not its
    own.
    """
    if not hasattr(os, "fork"):  # pragma: no cover - where there is no fork
        pytest.skip("this clause forks, which this platform cannot")
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Threads of pytest's plugins make Python 3.12 warn; the child uses none of their locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if not pid:  # pragma: no cover - the child ends without a report
        _live(work, reading, writing)
    os.close(writing)
    return Child(pid, reading)


def _live(work: Callable[[Callable[[str], None]], None], reading: int, writing: int) -> NoReturn:
    code = 1
    try:
        os.close(reading)
        work(lambda text: (os.write(writing, text.encode()), None)[1])
        code = 0
    except BaseException:  # noqa: BLE001  # pragma: no cover - the parent has to hear of it
        os.write(writing, traceback.format_exc().encode())
    finally:
        os._exit(code)


def run_child(work: Callable[[Callable[[str], None]], None]) -> tuple[int, str]:
    """Run `work` in a forked process to its end; how it ended and what it said."""
    child = start_child(work)
    said = child.read()
    return child.wait(), said


def dying_at_call(number: int) -> Callable[[FrameType, str, Any], None]:
    """A profile function that kills its own process around its `number`th call into C.

    Calls that only handle text and containers are left out: between two calls that could reach
    a disk or a network nothing can change there.
    """
    left = number

    def profile(_frame: FrameType, event: str, called: Any) -> None:  # pragma: no cover - it kills
        nonlocal left
        if event not in {"c_call", "c_return"} or _harmless(called):
            return
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return profile


def _harmless(called: Any) -> bool:  # pragma: no cover - runs in what is killed
    owner = getattr(called, "__self__", None)
    if isinstance(owner, HARMLESS_TYPES):
        return True
    home = owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__
    return home.partition(".")[0] in HARMLESS_HOMES
