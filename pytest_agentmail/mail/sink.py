"""The in-process SMTP server that takes every mail."""

from __future__ import annotations

import asyncio
import errno
import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from pytest_agentmail.errors import SinkError
from pytest_agentmail.mail.engine import Conversation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_agentmail.mail.engine import Receive
    from pytest_agentmail.mail.post_office import Acceptance

__all__ = ["Sink"]

_SIZE_LIMIT = 64 * 1024 * 1024
_START_TIMEOUT = 10.0
_STOP_TIMEOUT = 10.0
_CANNOT_LISTEN = (OSError, OverflowError, ValueError)


class Sink:
    """An SMTP server in a thread of its own; start it with `with`.

    Args:
        receive: Stores a mail; it is called in the sink's thread before the client is told.
        host: The interface to listen on.
        port: The port, or 0 for any free one.
        size_limit: The largest mail taken, in bytes; a larger one is refused with 552.

    Raises:
        SinkError: It cannot listen there; raised by `start`.
    """

    def __init__(
        self,
        receive: Receive,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        size_limit: int = _SIZE_LIMIT,
    ) -> None:
        self.host = host
        """The interface it listens on."""
        self.port = port
        """The port it listens on, once started."""
        self._receive = receive
        self._size_limit = size_limit
        self._open_sessions: set[Conversation] = set()
        self._errors: list[Exception] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Sink:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Sink {self.url}>"

    @property
    def url(self) -> str:
        """Where it listens, as `smtp://host:port`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"smtp://{host}:{self.port}"

    def env(self) -> dict[str, str]:
        """The environment variables from which apps read where to send mail.

        `EMAIL_*` as Django projects name Django's settings, `SMTP_*` as Rails and Node projects do,
        `MAIL_*` as Laravel and Flask-Mail do, and the URL forms of django-environ, NextAuth, Meteor
        and Symfony.
        """
        host, port = self.host, str(self.port)
        return {
            "EMAIL_HOST": host,
            "EMAIL_PORT": port,
            "EMAIL_USE_TLS": "false",
            "EMAIL_USE_SSL": "false",
            "EMAIL_HOST_USER": "",
            "EMAIL_HOST_PASSWORD": "",
            "EMAIL_URL": self.url,
            "EMAIL_SERVER": self.url,
            "SMTP_HOST": host,
            "SMTP_ADDRESS": host,
            "SMTP_PORT": port,
            "SMTP_SECURE": "false",
            "SMTP_URL": self.url,
            "MAIL_MAILER": "smtp",
            "MAIL_HOST": host,
            "MAIL_SERVER": host,
            "MAIL_PORT": port,
            "MAIL_URL": self.url,
            "MAILER_DSN": self.url,
        }

    def start(self) -> None:
        """Listen; when this returns, clients can connect."""
        listening: Future[int] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening)), name="agentmail-sink", daemon=True
        )
        self._thread.start()
        try:
            self.port = listening.result(_START_TIMEOUT)
        except _CANNOT_LISTEN as error:
            self._thread.join(_STOP_TIMEOUT)
            raise SinkError(self._why_not(error)) from error
        self._quiet = _OtherThreads(self._thread.ident)
        logging.getLogger("mail.log").addFilter(self._quiet)

    def stop(self) -> None:
        """Stop listening and drop every client; returns when nothing of it is left.

        Raises:
            SinkError: Storing a mail failed while it ran.
        """
        assert self._thread and self._loop and self._stopping
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_STOP_TIMEOUT)
        logging.getLogger("mail.log").removeFilter(self._quiet)
        if self._thread.is_alive():
            raise SinkError(f"{self.url} did not stop within {_STOP_TIMEOUT:g} s")
        if self._errors:
            raise SinkError(
                f"{len(self._errors)} mails could not be stored, first: {self._errors[0]!r}"
            ) from self._errors[0]

    async def _serve(self, listening: Future[int]) -> None:
        loop = self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        loop.set_exception_handler(_log_unless_disconnected)
        try:
            server = await loop.create_server(
                lambda: Conversation(
                    self._store, self._open_sessions, size_limit=self._size_limit, loop=loop
                ),
                self.host,
                self.port,
            )
        except _CANNOT_LISTEN as error:
            listening.set_exception(error)
            return
        listening.set_result(server.sockets[0].getsockname()[1])
        await self._stopping.wait()
        server.close()
        while self._open_sessions:
            for session in tuple(self._open_sessions):
                session.abort()
            await asyncio.sleep(0)

    def _store(self, raw: bytes, envelope_from: str, envelope_to: Sequence[str]) -> Acceptance:
        try:
            return self._receive(raw, envelope_from, envelope_to)
        except Exception as error:
            self._errors.append(error)
            raise

    def _why_not(self, error: Exception) -> str:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            return (
                f"port {self.port} on {self.host} is taken; leave --agentmail-port at 0 for a free "
                f"one (with several workers it has to be 0), or stop what listens there"
            )
        return f"cannot listen on {self.host} port {self.port}: {error}"


class _OtherThreads(logging.Filter):
    """Keeps the sink's dialogue, with its addresses and codes, out of the suite's log."""

    def __init__(self, silent: int | None) -> None:
        super().__init__()
        self._silent = silent

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._silent


def _log_unless_disconnected(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """A client that hangs up is no news."""
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)
