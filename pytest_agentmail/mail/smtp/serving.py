"""What a server thread needs of its own: a loop, a socket, and silence."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BACKLOG", "RealTimeLoop", "listening_socket", "silent_thread"]

BACKLOG = 1024
"""How many clients may wait to be let in."""
_LOGGERS = ("mail.log", "asyncio")


class RealTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose timers run on while the suite has frozen time, whatever its policy."""

    # In a tuple: see `RealClock`.
    _clocks = (time.monotonic,)

    def time(self) -> float:
        """Seconds that pass whatever the suite froze."""
        return self._clocks[0]()


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there, at the first address of `host` that is one of this machine.

    Raises:
        OSError, OverflowError, UnicodeError: There is none, or the port is taken.
    """
    failures = []
    for family, kind, protocol, _, (address, _, *scope) in socket.getaddrinfo(
        host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        # Made with its protocol: only then does asyncio send replies at once (TCP_NODELAY).
        listening = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # pragma: no branch  (elsewhere it would share the port)
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((address, port, *scope))
            listening.listen(BACKLOG)
        except (OSError, OverflowError) as error:
            listening.close()
            failures.append(error)
        else:
            return listening
    raise failures[0]


@contextmanager
def silent_thread() -> Iterator[None]:
    """Keep what this thread does out of the suite's log; mails hold addresses and codes."""
    others = _OtherThreads(threading.get_ident())
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(others)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(others)


class _OtherThreads(logging.Filter):
    def __init__(self, silent: int) -> None:
        super().__init__()
        self._silent = silent

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._silent
