"""The SMTP dialogue (RFC 5321), spoken by aiosmtpd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from aiosmtpd.smtp import SMTP, syntax

from pytest_agentmail.mail.post_office import Acceptance

if TYPE_CHECKING:
    import asyncio

    from aiosmtpd.smtp import Envelope, Session

__all__ = ["Conversation", "Receive"]

Receive: TypeAlias = Callable[[bytes, str, Sequence[str]], Acceptance]
"""Stores a mail, given its bytes and the envelope's sender and recipients."""


class Conversation(SMTP):
    """One client's session; a fault of the client ends this one and no other.

    Args:
        receive: Stores a mail that is complete.
        open_sessions: Where the session is listed while its connection lives.
        size_limit: The largest mail taken, in bytes (RFC 1870).
    """

    __ident__ = "pytest_agentmail"

    def __init__(
        self,
        receive: Receive,
        open_sessions: set[Conversation],
        *,
        size_limit: int,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(
            self._Hooks(),
            data_size_limit=size_limit,
            enable_SMTPUTF8=True,
            hostname="agentmail",
            ident=self.__ident__,
            loop=loop,
        )
        self._receive = receive
        self._open_sessions = open_sessions
        self._accepted: Acceptance | None = None

    def abort(self) -> None:
        """Drop the connection at once."""
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._open_sessions.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._open_sessions.discard(self)
        super().connection_lost(error)

    @syntax("DATA")
    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802  (aiosmtpd finds commands by name)
        """Take a mail; announce it when the reply was written, or could not be."""
        try:
            await super().smtp_DATA(arg)
        finally:
            if self._accepted is not None:
                self._accepted.announce()
                self._accepted = None

    def take(self, envelope: Envelope) -> None:
        """Store the mail that is complete now."""
        sender = envelope.mail_from or ""
        self._accepted = self._receive(
            bytes(envelope.original_content or b""),
            "" if sender == "<>" else sender,
            envelope.rcpt_tos,
        )

    class _Hooks:
        async def handle_EHLO(  # noqa: N802  (aiosmtpd finds hooks by name)
            self,
            server: Conversation,
            session: Session,
            envelope: Envelope,  # noqa: ARG002
            hostname: str,
            responses: list[str],
        ) -> list[str]:
            session.host_name = hostname
            return [*responses[:-1], "250-PIPELINING", *responses[-1:]]

        async def handle_DATA(
            self, server: Conversation, session: Session, envelope: Envelope
        ) -> str:
            server.take(envelope)
            return "250 2.0.0 OK"

        async def handle_exception(self, error: Exception) -> str:
            return f"451 4.3.0 {type(error).__name__}"
