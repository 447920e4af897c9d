"""All conversations of one server, and what they share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from aiosmtpd.smtp import SMTP, AuthResult

from pytest_agentmail.mail.post_office import Acceptance
from pytest_agentmail.mail.smtp.conversation import NAME, Conversation

if TYPE_CHECKING:
    import ssl

    from pytest_agentmail.mail.smtp.faults import Envelope, Faults
    from pytest_agentmail.mail.smtp.traffic import Traffic

__all__ = ["Credentials", "Engine", "Receive", "Terms"]

Receive: TypeAlias = Callable[[bytes, str, Sequence[str]], Acceptance]
"""Stores a mail, given its bytes and the envelope's sender and recipients."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A username and its password."""

    username: str
    password: str


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
    traffic: Traffic | None = None
    """Is told of clients that may be about to send a mail."""
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep
    """How a delay is waited for."""


class Engine:
    """All conversations of one server; call it for a new one, in the loop that will run it.

    Args:
        receive: Stores a mail that is complete.
        terms: On which terms.
        report: Is told of errors that are ours, not a client's.
    """

    def __init__(
        self, receive: Receive, terms: Terms, report: Callable[[Exception], object]
    ) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        """Where the conversations run."""
        self.terms = terms
        """On which terms clients are served."""
        self.report = report
        """Is told of errors that are ours."""
        self.conversations: set[Conversation] = set()
        """Those that have not ended."""
        self.abilities: dict[bool, str] = {
            secure: self._abilities(secure=secure) for secure in (False, True)
        }
        """The answer to EHLO, without and with TLS."""
        self.commands: dict[bytes, Any] = {
            name.removeprefix("smtp_").encode(): getattr(Conversation, name)
            for name in dir(Conversation)
            if name.startswith("smtp_") and self._offers(name)
        }
        """What a client may say, and what is done then."""
        self.common_state: dict[str, Any] = self._common_state()
        """What is the same in all conversations; finding it out is what takes aiosmtpd long."""
        self._receive = receive

    def __call__(self) -> Conversation:
        """A new conversation, for the loop to connect."""
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

    async def close(self) -> None:
        """Drop all clients; when it returns, their sockets are closed and their tasks have ended.

        One that was let in just now is still being set up, by a task of asyncio's: hence all tasks.
        """
        this = asyncio.current_task()
        while self.conversations or asyncio.all_tasks() > {this}:
            for conversation in tuple(self.conversations):
                conversation.abort()
            await asyncio.sleep(0)

    def _offers(self, command: str) -> bool:
        offers = {
            "smtp_STARTTLS": bool(self.terms.tls) and not self.terms.tls_first,
            "smtp_AUTH": self.terms.auth,
        }
        return offers.get(command, True)

    def _abilities(self, *, secure: bool) -> str:
        abilities = [NAME, f"SIZE {self.terms.size_limit}", "8BITMIME", "SMTPUTF8", "PIPELINING"]
        if self._offers("smtp_STARTTLS") and not secure:
            abilities.append("STARTTLS")
        if self._offers("smtp_AUTH"):
            abilities.append("AUTH PLAIN LOGIN")
        return "\r\n".join([*(f"250-{ability}" for ability in abilities), "250 HELP"])

    def _common_state(self) -> dict[str, Any]:
        state = vars(
            SMTP(
                _Mechanisms(),
                data_size_limit=self.terms.size_limit,
                enable_SMTPUTF8=True,
                hostname=NAME,
                auth_require_tls=False,
                authenticator=self._authenticate,
                loop=self.loop,
            )
        )
        # Set afterwards: aiosmtpd warns of passwords without TLS, which is what was asked for.
        state["_auth_required"] = self.terms.auth_first
        state["_smtp_methods"] = {name.decode(): do for name, do in self.commands.items()}
        return state

    def _authenticate(self, *about: Any) -> AuthResult:
        given = about[-1]
        wanted = self.terms.credentials
        right = wanted is None or (wanted.username.encode(), wanted.password.encode()) == given
        return AuthResult(success=right, handled=False, auth_data=given)


class _Mechanisms:
    """The mechanisms of AUTH, each carried out by the conversation it is for.

    aiosmtpd binds its own to the session for which it looks them up, and we have it look once.
    """

    async def auth_PLAIN(self, server: SMTP, args: list[str]) -> AuthResult:  # noqa: N802  (found by name)
        return await server.auth_PLAIN(server, args)

    async def auth_LOGIN(self, server: SMTP, args: list[str]) -> AuthResult:  # noqa: N802  (found by name)
        return await server.auth_LOGIN(server, args)
