"""The in-process SMTP server that takes every mail."""

from __future__ import annotations

import asyncio
import errno
import ssl
import threading
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from pytest_agentmail.errors import SinkError
from pytest_agentmail.mail.smtp.engine import Credentials, Engine, Terms
from pytest_agentmail.mail.smtp.environment import SPELLINGS, environment
from pytest_agentmail.mail.smtp.serving import (
    BACKLOG,
    RealTimeLoop,
    listening_socket,
    silent_thread,
)
from pytest_agentmail.mail.smtp.tls import identity

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable

    from pytest_agentmail.mail.smtp.engine import Receive
    from pytest_agentmail.mail.smtp.faults import Faults
    from pytest_agentmail.mail.smtp.traffic import Traffic

__all__ = ["Sink"]

_SIZE_LIMIT = 64 * 1024 * 1024
_STOP_TIMEOUT = 10.0
_CANNOT_LISTEN = (OSError, OverflowError, UnicodeError)
_HUNG_UP = (ConnectionError, TimeoutError, ssl.SSLError)

# The same in every session, so that an app's settings file can hold them; nothing is behind them.
_OURS = Credentials("agentmail", "agentmail")


class Sink:
    """An SMTP server in a thread of its own; start it with `with`.

    Args:
        receive: Stores a mail; it is called in the sink's thread before the client is told.
        host: The interface to listen on.
        port: The port, or 0 for any free one.
        size_limit: The largest mail taken, in bytes; a larger one is refused with 552.
        tls: "off", "starttls" (offered, RFC 3207) or "implicit" (spoken from the start, RFC 8314).
        auth: "off", "optional" (any username and password are taken) or "required" (mail is refused
            before AUTH with `username` and `password`).
        directory: Where the CA file is written; a temporary one unless given.
        faults: What goes wrong, and when.
        traffic: Is told of clients that may be about to send a mail.
        sleep: How a delay, which is a fault, is waited for.

    Raises:
        SinkError: It cannot listen there; raised by `start`.
    """

    def __init__(  # noqa: PLR0913  (each is a setting)
        self,
        receive: Receive,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        size_limit: int = _SIZE_LIMIT,
        tls: str = "off",
        auth: str = "off",
        directory: Path | None = None,
        faults: Faults | None = None,
        traffic: Traffic | None = None,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        self.host = host
        """The interface it listens on."""
        self.port: int = port
        """The port it listens on, once started."""
        self.tls = tls
        """Whether and how TLS is spoken: "off", "starttls", "implicit"."""
        self.ca_file: Path | None = None
        """The certificate (PEM) of the authority to trust, while TLS is on and the sink runs."""
        self._credentials = None if auth == "off" else _OURS
        self._receive = receive
        self._size_limit = size_limit
        self._auth = auth
        self._directory = directory
        self._faults = faults
        self._traffic = traffic
        self._sleep = sleep
        self._errors: list[Exception] = []
        self._belongings = ExitStack()
        self._stop_serving: Callable[[], object] | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Sink {self.url}>"

    @property
    def running(self) -> bool:
        """Whether it is started, and not stopped since."""
        return self._thread is not None

    @property
    def url(self) -> str:
        """Where it listens, as `smtp://host:port`, or `smtps://` where TLS is implicit."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{SPELLINGS[self.tls].scheme}://{host}:{self.port}"

    @property
    def username(self) -> str | None:
        """With what to log in, unless `auth` is off."""
        return self._credentials.username if self._credentials else None

    @property
    def password(self) -> str | None:
        """With what to log in, unless `auth` is off."""
        return self._credentials.password if self._credentials else None

    def env(self) -> dict[str, str]:
        """The environment variables from which apps read where to send mail; see `environment`."""
        return environment(
            self.host,
            self.port,
            tls=self.tls,
            credentials=self._credentials,
            ca_file=self.ca_file,
        )

    def start(self) -> None:
        """Listen; when this returns, clients can connect.

        Raises:
            SinkError: It runs already, it cannot listen there, or TLS is on and the extra `tls` is
                not installed.
        """
        if self.running:
            raise SinkError(f"{self.url} is started already; stop() it first")
        terms = self._terms()
        try:
            listening = listening_socket(self.host, self.port)
        except _CANNOT_LISTEN as error:
            self._belongings.close()
            raise SinkError(self._why_not(error)) from error
        self.port = int(listening.getsockname()[1])
        started: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(listening, terms, started), name="agentmail-sink", daemon=True
        )
        self._thread.start()
        failure = started.exception()
        if failure is not None:
            self._thread.join(_STOP_TIMEOUT)
            listening.close()
            self._clear_away()
            raise SinkError(f"the SMTP sink could not start: {failure!r}") from failure

    def stop(self) -> None:
        """Stop listening and drop every client; returns when nothing of it is left.

        Does nothing while the sink is not started.

        Raises:
            SinkError: Storing a mail failed while it ran; what went wrong is its cause.
        """
        if self._thread is None or self._stop_serving is None:
            return
        self._stop_serving()
        self._thread.join(_STOP_TIMEOUT)
        if self._thread.is_alive():
            raise SinkError(f"{self.url} did not stop within {_STOP_TIMEOUT:g} s")
        self._clear_away()
        if self._errors:
            errors, self._errors = self._errors, []
            raise SinkError(
                f"{self.url} had {len(errors)} errors of its own, first: {errors[0]!r}"
            ) from (errors[0] if len(errors) == 1 else ExceptionGroup("all of them", errors))

    def _clear_away(self) -> None:
        self._thread = self._stop_serving = self.ca_file = None
        self._belongings.close()

    def _run(self, listening: socket.socket, terms: Terms, started: Future[None]) -> None:
        try:
            with silent_thread(), asyncio.Runner(loop_factory=RealTimeLoop) as runner:
                runner.run(self._serve(listening, terms, started))
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    async def _serve(self, listening: socket.socket, terms: Terms, started: Future[None]) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._note_unless_hung_up)
        stopping = asyncio.Event()
        self._stop_serving = partial(loop.call_soon_threadsafe, stopping.set)
        engine = Engine(self._receive, terms, self._errors.append)
        server = await loop.create_server(engine, sock=listening, backlog=BACKLOG)
        started.set_result(None)
        await stopping.wait()
        # Closed last: asyncio forgets a client that it lets in while its server closes.
        loop.remove_reader(listening)
        await engine.close()
        server.close()

    def _terms(self) -> Terms:
        context = None
        if self.tls != "off":
            context, authority = identity(self.host)
            directory = self._directory or Path(
                self._belongings.enter_context(TemporaryDirectory(prefix="agentmail-"))
            )
            self.ca_file = directory / "ca.pem"
            self.ca_file.write_bytes(authority)
        return Terms(
            size_limit=self._size_limit,
            tls=context,
            tls_first=self.tls == "implicit",
            auth=self._auth != "off",
            auth_first=self._auth == "required",
            credentials=_OURS if self._auth == "required" else None,
            faults=self._faults,
            traffic=self._traffic,
            sleep=self._sleep,
        )

    def _note_unless_hung_up(
        self,
        loop: asyncio.AbstractEventLoop,  # noqa: ARG002  (asyncio passes it)
        context: dict[str, object],
    ) -> None:
        """A client that hangs up is no news."""
        error = context.get("exception")
        if not isinstance(error, _HUNG_UP):
            failure = RuntimeError(str(context.get("message")))
            failure.__cause__ = error if isinstance(error, BaseException) else None
            self._errors.append(failure)

    def _why_not(self, error: Exception) -> str:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            return (
                f"port {self.port} on {self.host} is taken; leave --agentmail-port at 0 for a free "
                f"one (with several workers it has to be 0), or stop what listens there"
            )
        return f"cannot listen on {self.host} port {self.port}: {error}"
