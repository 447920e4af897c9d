"""The SMTP dialogue (RFC 5321): the state and most commands are aiosmtpd's, the rest is here.

Ours is what takes long or goes wrong in it: making a session, reading, parsing plain addresses,
taking a mail, TLS. Only this module and `engine` know aiosmtpd.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from aiosmtpd.smtp import MISSING, SMTP, syntax

from pytest_agentmail.mail.smtp.connection import Connection, Gone
from pytest_agentmail.mail.smtp.faults import BEFORE_REPLY, CONNECT, CONTENT, Delay, Drop, Envelope
from pytest_agentmail.mail.smtp.framing import Oversized

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from aiosmtpd.smtp import Envelope as MailEnvelope
    from aiosmtpd.smtp import Session

    from pytest_agentmail.mail.smtp.engine import Engine
    from pytest_agentmail.mail.smtp.traffic import Traffic

__all__ = ["NAME", "Conversation"]

NAME = "agentmail"
"""How the server calls itself."""

_GREETING = f"220 {NAME} ESMTP pytest_agentmail"
_NOBODY = "<>"
_REFUSING = (b"4", b"5")
_MISTAKES = 10
_PLAIN_PATH = re.compile(r"<([A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+)>(.*)", re.DOTALL)


class Conversation(Connection, SMTP):
    """One client's session; a fault of the client ends this one and no other."""

    AuthLoginUsernameChallenge = "Username:"
    AuthLoginPasswordChallenge = "Password:"

    def __init__(self, engine: Engine) -> None:
        # Not SMTP's own, which takes longer than receiving a mail.
        self.__dict__.update(engine.common_state)
        Connection.__init__(self, engine.loop, engine.conversations, engine.terms.size_limit)
        self._engine = engine
        self._faults = engine.terms.faults
        self._traffic = engine.terms.traffic
        self._forget()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the conversation."""
        if self._traffic is not None:
            self._traffic.connects(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        """End the conversation where it stands."""
        if self._traffic is not None:
            self._traffic.rests(self)
        super().connection_lost(error)

    # What aiosmtpd's commands call.

    async def push(self, status: str | bytes) -> None:
        """Answer; after a 421 the conversation is over (RFC 5321 §3.8)."""
        reply = status if isinstance(status, bytes) else status.encode(errors="surrogateescape")
        if reply[:1] in _REFUSING and self._traffic is not None:
            self._traffic.refuses(self, int(reply[:3]))
        await self._say(reply + b"\r\n")
        if reply.startswith(b"421"):
            raise Gone

    async def readline(self) -> bytes:
        """What the client answers in the course of AUTH."""
        line = await self._line()
        return line if isinstance(line, bytes) else b"="  # which is no base64

    async def _call_handler_hook(self, command: str, *args: Any) -> Any:
        """What is answered instead of doing what was asked for, or MISSING."""
        if command == "RCPT" and args[0] == _NOBODY:
            return "553 5.1.3 That is no recipient"
        if self._traffic is not None:
            self._tell(self._traffic, command, *args)
        if self._faults is None:
            return MISSING
        return await self._strike(command, self._seen(command, *args))

    def _tell(self, traffic: Traffic, command: str, *args: Any) -> None:
        if command == "MAIL":
            traffic.sends(self)
        elif command == "RCPT":
            traffic.addresses(self, args[0])

    def _getaddr(self, arg: str) -> tuple[str | None, str | None]:
        """The address that begins `arg`, and what follows; None twice when it is malformed."""
        plain = _PLAIN_PATH.fullmatch(arg)
        if plain:
            return plain[1], plain[2]
        if arg.startswith("<") and ">" not in arg:
            return None, None
        try:
            arg.encode()
            return super()._getaddr(arg)
        except Exception:  # noqa: BLE001  (the parser breaks in many ways; the address is malformed)
            return None, None

    def _getparams(self, params: Sequence[str]) -> dict[str, str | bool] | None:
        """The parameters of MAIL or RCPT, but for who the client says wrote it (RFC 4954 §5)."""
        return super()._getparams([param for param in params if not param.startswith("AUTH=")])

    def _set_post_data_state(self) -> None:
        self._envelope = self._create_envelope()
        self.envelope: MailEnvelope | None = self._envelope

    # The commands that are ours.

    @syntax("EHLO hostname")
    async def smtp_EHLO(self, hostname: str) -> None:  # noqa: N802  (found by name)
        """Say what we can, in one piece."""
        if not hostname:
            await self.push("501 Syntax: EHLO hostname")
            return
        self._set_post_data_state()
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
        elif (status := await self._call_handler_hook("STARTTLS")) is not MISSING:
            await self.push(status)
        else:
            await self.push("220 Ready to start TLS")
            await self._secure_it()

    @syntax("AUTH <mechanism>")
    async def smtp_AUTH(self, arg: str) -> None:  # noqa: N802  (found by name)
        """Check who it is; the mechanism may be in lower case too."""
        mechanism, space, initial = (arg or "").partition(" ")
        self._reader = cast("asyncio.StreamReader", self)
        try:
            await super().smtp_AUTH(mechanism.upper() + space + initial)
        finally:
            del self._reader

    @syntax("QUIT")
    async def smtp_QUIT(self, arg: str) -> None:  # noqa: N802  (found by name)
        """Say goodbye."""
        if arg:
            await self.push("501 Syntax: QUIT")
            return
        status = await self._call_handler_hook("QUIT")
        await self.push("221 Bye" if status is MISSING else status)
        raise Gone

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
        raw: bytes | Oversized = b""
        status = await self._call_handler_hook("DATA")
        if status is MISSING:
            await self.push("354 End data with <CR><LF>.<CR><LF>")
            raw = await self._mail()
            status = await self._call_handler_hook(CONTENT)
        envelope = self._seen()
        self._set_post_data_state()
        if status is not MISSING:
            await self.push(status)
        elif isinstance(raw, Oversized):
            await self.push(f"552 5.3.4 The mail is over {self._engine.terms.size_limit} bytes")
        else:
            await self._take(raw, envelope)

    async def _take(self, raw: bytes, envelope: Envelope) -> None:
        accepted = self._engine.store(raw, envelope)
        if accepted is None:
            await self.push("451 4.3.0 The mail could not be stored")
            return
        try:
            status = MISSING if self._faults is None else await self._strike(BEFORE_REPLY, envelope)
            await self.push("250 2.0.0 OK" if status is MISSING else status)
        finally:
            self._engine.announce(accepted)
            if self._traffic is not None:
                self._traffic.rests(self)

    # The dialogue.

    async def _converse(self) -> None:
        if self._engine.terms.tls_first:
            await self._secure_it()
        status = await self._call_handler_hook(CONNECT)
        await self.push(_GREETING if status is MISSING else status)
        for _ in range(_MISTAKES):
            await self._obey_until_mistaken()
            await self.push("500 5.5.2 That is no command")
        await self.push("421 4.7.0 Too many mistakes")

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
            except Gone:
                raise
            except Exception as error:  # noqa: BLE001  (whatever it is, it is reported)
                self._engine.report(error)
                await self.push("451 4.3.0 Something broke in the sink")

    async def _secure_it(self) -> None:
        assert self._engine.terms.tls
        await self._start_tls(self._engine.terms.tls)
        self._forget()

    def _forget(self) -> None:
        self._session = self._create_session()
        self.session: Session | None = self._session
        self._set_post_data_state()

    # What goes wrong on purpose.

    def _seen(self, command: str = "", *args: Any) -> Envelope:
        """The mail under way, with what the command is about to add to it."""
        sender = args[0] if command == "MAIL" else self._envelope.mail_from
        recipients = (*self._envelope.rcpt_tos, *(args[:1] if command == "RCPT" else ()))
        return Envelope("" if sender == _NOBODY else sender, recipients)

    async def _strike(self, point: str, envelope: Envelope) -> Any:
        assert self._faults
        fault = self._faults.at(point, envelope)
        if isinstance(fault, Delay):
            await self._engine.terms.sleep(fault.seconds)
            fault = fault.then
        if isinstance(fault, Drop):
            await self._drop()
        return MISSING if fault is None else str(fault)
