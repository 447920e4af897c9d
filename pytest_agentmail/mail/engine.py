"""The SMTP dialogue (RFC 5321): the state and the commands are aiosmtpd's, the rest is here.

Ours is what costs most or goes wrong most in it: building a session, reading from the network,
parsing plain addresses, taking a mail, STARTTLS. No other module knows aiosmtpd.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

from aiosmtpd.smtp import MISSING, SMTP, AuthResult, LoginPassword, syntax

from pytest_agentmail.mail.faults import BEFORE_REPLY, CONNECT, CONTENT, Delay, Drop, Envelope
from pytest_agentmail.mail.framing import Framing, Oversized
from pytest_agentmail.mail.post_office import Acceptance

if TYPE_CHECKING:
    from aiosmtpd.smtp import Session

    from pytest_agentmail.mail.faults import Fault, Faults

__all__ = ["Credentials", "Engine", "Receive", "Terms"]

Receive: TypeAlias = Callable[[bytes, str, Sequence[str]], Acceptance]
"""Stores a mail, given its bytes and the envelope's sender and recipients."""

_NAME = "agentmail"
_GREETING = f"220 {_NAME} ESMTP pytest_agentmail"
_NOBODY = "<>"
_MISTAKES = 10
_PAUSE_READING_AT = 256 * 1024
_PLAIN_PATH = re.compile(r"<([A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+)>(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Credentials:
    """A username and its password."""

    username: str
    password: str

    def match(self, given: LoginPassword) -> bool:
        """Whether they were given, as UTF-8 (RFC 4616)."""
        return (self.username.encode(), self.password.encode()) == tuple(given)


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms clients are served."""

    size_limit: int
    """The largest mail, in bytes (RFC 1870)."""
    tls: ssl.SSLContext | None = None
    """With what TLS is spoken, if at all."""
    tls_first: bool = False
    """Whether TLS comes before the first word (RFC 8314), or after STARTTLS (RFC 3207)."""
    auth: bool = False
    """Whether AUTH is offered (RFC 4954)."""
    auth_first: bool = False
    """Whether mail is refused before AUTH."""
    credentials: Credentials | None = None
    """The only ones taken; any are, unless given."""
    faults: Faults | None = None
    """What goes wrong."""
    sleep: Callable[[float], Awaitable[Any]] = field(default=asyncio.sleep)
    """How a delay is waited for."""


class Engine:
    """All sessions of one server; call it for a new one.

    Args:
        receive: Stores a mail that is complete.
        terms: On which terms.
        report: Is told of errors that are ours, not a client's.
    """

    def __init__(
        self, receive: Receive, terms: Terms, report: Callable[[Exception], object]
    ) -> None:
        self.loop = asyncio.get_running_loop()
        """Where the sessions run; it is the one that was running."""
        self.terms = terms
        """On which terms clients are served."""
        self.report = report
        """Is told of errors that are ours."""
        self.sessions: set[Conversation] = set()
        """The sessions that have not ended."""
        self.commands = {
            name.removeprefix("smtp_").encode(): getattr(Conversation, name)
            for name in dir(Conversation)
            if name.startswith("smtp_") and self._offered(name)
        }
        """What a client may say, and who answers."""
        self.common_state = self._common_state()
        """What is the same in all sessions; looking it up is what takes aiosmtpd long."""
        self.abilities = {secure: self._abilities(secure=secure) for secure in (False, True)}
        """The answer to EHLO, without and with TLS."""
        self._receive = receive

    def __call__(self) -> Conversation:
        return Conversation(self)

    def store(self, raw: bytes, envelope: Envelope) -> Acceptance | None:
        """Have a mail stored; None when that failed, which is reported."""
        try:
            return self._receive(raw, envelope.sender or "", envelope.recipients)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is reported)
            self.report(error)
            return None

    def announce(self, accepted: Acceptance) -> None:
        """Wake whoever waits for a mail; a failure is reported."""
        try:
            accepted.announce()
        except Exception as error:  # noqa: BLE001  (whatever it is, it is reported)
            self.report(error)

    def _abilities(self, *, secure: bool) -> str:
        offered = [_NAME, f"SIZE {self.terms.size_limit}", "8BITMIME", "SMTPUTF8", "PIPELINING"]
        if self.terms.tls and not secure:
            offered.append("STARTTLS")
        if self.terms.auth:
            offered.append("AUTH PLAIN LOGIN")
        return "\r\n".join([*(f"250-{ability}" for ability in offered), "250 HELP"])

    async def close(self) -> None:
        """Drop all clients; when it returns their sockets are closed and their tasks have ended."""
        while self.sessions:
            for session in tuple(self.sessions):
                session.abort()
            await asyncio.sleep(0)

    def _offered(self, command: str) -> bool:
        return {
            "smtp_STARTTLS": bool(self.terms.tls) and not self.terms.tls_first,
            "smtp_AUTH": self.terms.auth,
        }.get(command, True)

    def _common_state(self) -> dict[str, Any]:
        state = vars(
            SMTP(
                _Mechanisms(),
                data_size_limit=self.terms.size_limit,
                enable_SMTPUTF8=True,
                hostname=_NAME,
                ident="pytest_agentmail",
                auth_require_tls=False,
                authenticator=self._authenticate,
                loop=self.loop,
            )
        )
        # Set afterwards: aiosmtpd warns of passwords without TLS, which is what was asked for.
        state["_auth_required"] = self.terms.auth_first
        state["_smtp_methods"] = {
            name: method
            for name, method in state["_smtp_methods"].items()
            if name.encode() in self.commands
        }
        return state

    def _authenticate(
        self, _server: SMTP, _session: Session, _envelope: object, _mechanism: str, given: Any
    ) -> AuthResult:
        credentials = self.terms.credentials
        return AuthResult(
            success=credentials is None or credentials.match(given), handled=False, auth_data=given
        )


class Conversation(SMTP):
    """One client's session; a fault of the client ends this one and no other."""

    AuthLoginUsernameChallenge = "Username:"
    AuthLoginPasswordChallenge = "Password:"

    def __init__(self, engine: Engine) -> None:
        # Not SMTP's own, which takes longer than receiving a mail.
        self.__dict__.update(engine.common_state)
        self._engine = engine
        self._faults = engine.terms.faults
        self._incoming = Framing(engine.terms.size_limit)
        self._more: asyncio.Future[None] | None = None
        self._unsent: asyncio.Future[None] | None = None
        self._hung_up = False
        self._reading_paused = False
        self._secure = False

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._engine.sessions.add(self)
        self._begin(cast("asyncio.Transport", transport))
        # Until the system has a reply, nobody is told of the mail.
        self._stream.set_write_buffer_limits(high=0)
        self._task = self._handler_coroutine = self.loop.create_task(self._converse())

    def data_received(self, data: bytes) -> None:
        self._incoming.feed(data)
        if self._more is not None:
            self._wake()
        elif len(self._incoming) > _PAUSE_READING_AT:
            # Whoever does not wait for its answers has to wait for us.
            self._reading_paused = True
            self._stream.pause_reading()

    def eof_received(self) -> bool:
        self._hung_up = True
        self._wake()
        # What it said before it hung up is answered; TLS knows no half-closed connections.
        return not self._secure

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002  (it is gone, whatever the reason)
        self._task.cancel()
        self._engine.sessions.discard(self)

    def pause_writing(self) -> None:
        self._unsent = self.loop.create_future()

    def resume_writing(self) -> None:
        assert self._unsent
        if not self._unsent.done():
            self._unsent.set_result(None)
        self._unsent = None

    # What the engine calls.

    def abort(self) -> None:
        """Drop the connection at once."""
        self._stream.abort()
        self._task.cancel()

    # What aiosmtpd calls.

    async def push(self, status: str | bytes) -> None:
        """Answer; returns when the system has it."""
        if self._stream.is_closing():
            raise _Gone
        reply = status if isinstance(status, bytes) else status.encode(errors="surrogateescape")
        self._stream.write(reply + b"\r\n")
        if self._unsent is not None:
            await self._unsent
        if reply.startswith(b"421"):
            raise _Gone

    @property
    def _reader(self) -> Conversation:
        return self

    async def readline(self) -> bytes:
        """What the client answers in the course of AUTH."""
        line = await self._line()
        return line if isinstance(line, bytes) else b"="  # which is no base64

    async def _call_handler_hook(self, command: str, *args: Any) -> Any:
        """What is answered instead of what was asked for, or MISSING."""
        if command == "RCPT" and args[0] == _NOBODY:
            return "553 5.1.3 That is no recipient"
        if self._faults is None:
            return MISSING
        return await self._strike(command, self._seen(command, *args))

    def _getaddr(self, arg: str) -> tuple[str | None, str | None]:
        """The address that begins `arg`, and what follows; None twice when it is malformed."""
        plain = _PLAIN_PATH.fullmatch(arg)
        if plain:
            return plain[1], plain[2]
        try:
            arg.encode()
            return super()._getaddr(arg)
        except Exception:  # noqa: BLE001  (the parser was not made for hostile input; that is malformed)
            return None, None

    def _getparams(self, params: Sequence[str]) -> dict[str, str | bool] | None:
        """The parameters of MAIL or RCPT, without whose word the client relays (RFC 4954 §5)."""
        return super()._getparams([param for param in params if not param.startswith("AUTH=")])

    # The commands that are ours.

    @syntax("EHLO hostname")
    async def smtp_EHLO(self, hostname: str) -> None:  # noqa: N802  (found by name)
        """Say what we can, in one piece."""
        if not hostname:
            await self.push("501 Syntax: EHLO hostname")
            return
        self._set_rset_state()
        self._session.extended_smtp = True
        status = await self._call_handler_hook("EHLO", hostname)
        if status is MISSING:
            self._session.host_name = hostname
            status = self._engine.abilities[self._secure]
        await self.push(status)

    @syntax("STARTTLS")
    async def smtp_STARTTLS(self, arg: str) -> None:  # noqa: N802  (found by name)
        """Go on in TLS."""
        if arg:
            await self.push("501 Syntax: STARTTLS")
        elif self._secure:
            await self.push("503 TLS is in use already")
        else:
            status = await self._call_handler_hook("STARTTLS")
            if status is not MISSING:
                await self.push(status)
                return
            await self.push("220 Ready to start TLS")
            await self._start_tls()

    @syntax("AUTH <mechanism>")
    async def smtp_AUTH(self, arg: str) -> None:  # noqa: N802  (found by name)
        """Check who it is; the mechanism may be in lower case too."""
        mechanism, space, initial = (arg or "").partition(" ")
        await super().smtp_AUTH(mechanism.upper() + space + initial)

    @syntax("DATA")
    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802  (found by name)
        """Take a mail; announce it when the reply was written, or could not be."""
        if await self.check_helo_needed() or await self.check_auth_needed("DATA"):
            return
        if not self._envelope.rcpt_tos:
            await self.push("503 Error: need RCPT command")
            return
        if arg:
            await self.push("501 Syntax: DATA")
            return
        status = await self._call_handler_hook("DATA")
        if status is MISSING:
            await self.push("354 End data with <CR><LF>.<CR><LF>")
            raw = await self._mail()
            if isinstance(raw, Oversized):
                status = f"552 5.3.4 The mail is over {self._engine.terms.size_limit} bytes"
            else:
                status = await self._call_handler_hook(CONTENT)
        envelope = self._seen()
        self._set_post_data_state()
        if status is MISSING:
            await self._take(raw, envelope)
        else:
            await self.push(status)

    async def _take(self, raw: bytes, envelope: Envelope) -> None:
        accepted = self._engine.store(raw, envelope)
        if accepted is None:
            await self.push("451 4.3.0 The mail could not be stored")
            return
        try:
            status = await self._strike(BEFORE_REPLY, envelope)
            await self.push("250 2.0.0 OK" if status is MISSING else status)
        finally:
            self._engine.announce(accepted)

    # The dialogue.

    async def _converse(self) -> None:
        try:
            if self._engine.terms.tls_first:
                await self._start_tls()
            status = await self._call_handler_hook(CONNECT)
            await self.push(_GREETING if status is MISSING else status)
            for _ in range(_MISTAKES):
                await self._obey_until_mistaken()
                await self.push("500 5.5.2 That is no command")
            await self.push("421 4.7.0 Too many mistakes")
        except _Gone:
            pass
        finally:
            self._stream.close()

<<<<<<< HEAD
        async def handle_DATA(
            self, server: Conversation, session: Session, envelope: Envelope
        ) -> str:
            server.take(envelope)
            return "250 2.0.0 OK"
=======
    async def _obey_until_mistaken(self) -> None:
        """Carry out commands until there is a line that is none."""
        while True:
            line = await self._line()
            if isinstance(line, Oversized):
                return
            name, _, rest = line.partition(b" ")
            command = self._engine.commands.get(name.upper())
            if command is None:
                return
            try:
                await command(self, rest.strip().decode(errors="surrogateescape") or None)
            except _Gone:
                raise
            except Exception as error:  # noqa: BLE001  (whatever it is, it is reported)
                self._engine.report(error)
                await self.push("451 4.3.0 Something broke in the sink")
>>>>>>> ce1f3ba (Speak SMTP in full: own framing, STARTTLS and implicit TLS, AUTH, faults at every command)

    async def _line(self) -> bytes | Oversized:
        while (line := self._incoming.line()) is None:
            await self._more_to_come()
        return line

    async def _mail(self) -> bytes | Oversized:
        while (mail := self._incoming.mail()) is None:
            await self._more_to_come()
        return mail

    async def _more_to_come(self) -> None:
        if self._hung_up:
            raise _Gone
        if self._reading_paused:
            self._reading_paused = False
            self._stream.resume_reading()
        self._more = self.loop.create_future()
        try:
            await self._more
        finally:
            self._more = None

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    async def _start_tls(self) -> None:
        assert self._engine.terms.tls
        # What was said in the clear is forgotten: anyone may have said it (RFC 3207 §4.2).
        self._incoming.clear()
        self._secure = True
        try:
            stream = await self.loop.start_tls(
                self._stream, self, self._engine.terms.tls, server_side=True
            )
        except OSError as error:
            self._engine.sessions.discard(self)
            raise _Gone from error
        except asyncio.CancelledError:
            self._engine.sessions.discard(self)
            raise
        assert stream
        self._begin(stream)

    def _begin(self, stream: asyncio.Transport) -> None:
        self.transport = self._stream = stream
        self.session = self._session = self._create_session()
        self._reading_paused = False
        self._set_post_data_state()

    def _set_post_data_state(self) -> None:
        self.envelope = self._envelope = self._create_envelope()

    # What goes wrong on purpose.

    def _seen(self, command: str = "", *args: Any) -> Envelope:
        """The mail under way, with what the command is about to add to it."""
        sender = args[0] if command == "MAIL" else self._envelope.mail_from
        recipients = (*self._envelope.rcpt_tos, *(args[:1] if command == "RCPT" else ()))
        return Envelope("" if sender == _NOBODY else sender, recipients)

    async def _strike(self, point: str, envelope: Envelope) -> Any:
        if self._faults is None:
            return MISSING
        fault = self._faults.at(point, envelope)
        if isinstance(fault, Delay):
            await self._engine.terms.sleep(fault.seconds)
            fault = fault.then
        if isinstance(fault, Drop):
            await self._drop()
        return MISSING if fault is None else str(fault)

    async def _drop(self) -> NoReturn:
        self._stream.abort()
        # Cancelled when the connection is lost.
        await self.loop.create_future()
        raise AssertionError


class _Gone(Exception):  # noqa: N818  (no error: that is how sessions end)
    """The client is gone, or has to go."""


class _Mechanisms:
    """The mechanisms of AUTH, each carried out by the session it is for.

    aiosmtpd binds its own to the session for which it looks them up, and we have it look once.
    """

    async def auth_PLAIN(self, server: SMTP, args: list[str]) -> AuthResult:  # noqa: N802  (found by name)
        return await server.auth_PLAIN(server, args)

    async def auth_LOGIN(self, server: SMTP, args: list[str]) -> AuthResult:  # noqa: N802  (found by name)
        return await server.auth_LOGIN(server, args)
