"""One client's connection: lines and mails in, replies out, in the clear or in TLS."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, cast

from pytest_agentmail.mail.smtp.framing import Framing

if TYPE_CHECKING:
    import ssl
    from collections.abc import Coroutine, MutableSet

    from pytest_agentmail.mail.smtp.framing import Oversized

__all__ = ["Connection", "Gone"]

_PAUSE_READING_AT = 256 * 1024


class Gone(Exception):
    """The client is gone, or has to go; it is how conversations end."""


class Connection(asyncio.BaseProtocol):
    """Holds one conversation, which a subclass writes, and ends with it.

    Args:
        loop: The running loop.
        alive: Where it is listed until its socket is closed.
        mail_limit: The largest mail, in bytes.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, alive: MutableSet[Any], mail_limit: int
    ) -> None:
        self.loop = loop
        self._alive = alive
        self._incoming = Framing(mail_limit)
        self._more: asyncio.Future[None] | None = None
        self._unsent: asyncio.Future[None] | None = None
        self._hung_up = False
        self._reading_paused = False
        self._secure = False

    @abstractmethod
    def _converse(self) -> Coroutine[Any, Any, None]:
        """The conversation; `Gone` is raised in it when the client is."""

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the conversation."""
        self._stream = cast("asyncio.Transport", transport)
        # A reply counts as written when the system has it, not when it is in a buffer of ours.
        self._stream.set_write_buffer_limits(high=0)
        self._alive.add(self)
        self._task = self.loop.create_task(self._converse_until_gone())

    def data_received(self, data: bytes) -> None:
        """Take what the client said."""
        self._incoming.feed(data)
        if self._more is not None:
            self._wake()
        elif len(self._incoming) > _PAUSE_READING_AT:
            # Whoever does not wait for its answers has to wait for us.
            self._reading_paused = True
            self._stream.pause_reading()

    def eof_received(self) -> bool:
        """Answer what was said before; TLS knows no half-closed connections."""
        self._hung_up = True
        self._wake()
        return not self._secure

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002  (whatever the reason)
        """End the conversation where it stands."""
        self._task.cancel()
        self._alive.discard(self)

    def pause_writing(self) -> None:
        """Let who writes wait until it is written."""
        self._unsent = self.loop.create_future()

    def resume_writing(self) -> None:
        """Let who writes go on."""
        assert self._unsent
        self._unsent.set_result(None)
        self._unsent = None

    # What a server calls.

    def abort(self) -> None:
        """Drop the client at once; calling it again does no harm."""
        self._stream.abort()
        self._task.cancel()

    # What a conversation calls.

    async def _say(self, words: bytes) -> None:
        """Returns when the system has it."""
        if self._stream.is_closing():
            raise Gone
        self._stream.write(words)
        if self._unsent is not None:
            await self._unsent

    async def _line(self) -> bytes | Oversized:
        while (line := self._incoming.line()) is None:
            await self._hear_more()
        return line

    async def _mail(self) -> bytes | Oversized:
        while (mail := self._incoming.mail()) is None:
            await self._hear_more()
        return mail

    async def _start_tls(self, context: ssl.SSLContext) -> None:
        """Go on in TLS, or not at all."""
        # What was said in the clear is forgotten: anyone may have said it (RFC 3207 §4.2).
        self._incoming.clear()
        self._secure = True
        try:
            stream = await self.loop.start_tls(self._stream, self, context, server_side=True)
        except BaseException as error:
            # During a handshake asyncio tells nobody that the connection is lost.
            self._stream.abort()
            self._alive.discard(self)
            if isinstance(error, OSError):
                raise Gone from error
            raise
        assert stream
        self._stream = stream
        self._reading_paused = False

    async def _drop(self) -> None:
        """Drop the client without a word; does not return."""
        self._stream.abort()
        await self.loop.create_future()  # until `connection_lost` ends the conversation

    async def _converse_until_gone(self) -> None:
        try:
            await self._converse()
        except Gone:
            pass
        finally:
            self._stream.close()

    async def _hear_more(self) -> None:
        if self._hung_up:
            raise Gone
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
