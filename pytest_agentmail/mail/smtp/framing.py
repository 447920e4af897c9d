"""Where lines and mails end in the bytes a client sends."""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["Framing", "Oversized"]

_END: Final = b"\r\n.\r\n"
_LINE_LIMIT: Final = 12_288  # RFC 4954 §4, the longest line any command may have


class Oversized(Enum):
    """Stands for a line or a mail that was over its limit and was thrown away."""

    OVERSIZED = "oversized"


class Framing:
    """Takes bytes as the network cuts them, gives back whole lines and whole mails.

    A line ends with LF, with or without CR. A mail ends with CRLF.CRLF and with nothing else: a
    bare CR or LF is part of what it says, so no mail can be smuggled in another one.

    Args:
        mail_limit: The largest mail, in bytes.
    """

    __slots__ = ("_buffer", "_in_mail", "_mail_limit", "_overflowed", "_searched")

    def __init__(self, mail_limit: int) -> None:
        self._mail_limit = mail_limit
        self._buffer = bytearray()
        self._searched = 0
        self._in_mail = False
        self._overflowed = False

    def __len__(self) -> int:
        """How many bytes wait here."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add what came from the network."""
        self._buffer += data

    def clear(self) -> None:
        """Forget what was not asked for yet."""
        self._buffer.clear()
        self._searched = 0

    def line(self) -> bytes | Oversized | None:
        """The next line without its end; None when it is not complete yet."""
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._keep_at_most(_LINE_LIMIT, tail=0)
            return None
        line = self._take(end + 1)
        if self._overflow() or len(line) > _LINE_LIMIT:
            return Oversized.OVERSIZED
        return line.rstrip(b"\r\n")

    def mail(self) -> bytes | Oversized | None:
        """The next mail, without dot-stuffing (RFC 5321 §4.5.2); None when it is not complete yet.

        To be called until it gives the mail: what follows is read as lines again.
        """
        if not self._in_mail:
            # The line end of the DATA command may begin the end of the mail: it can be empty.
            self._buffer[:0] = b"\r\n"
            self._in_mail = True
        end = self._buffer.find(_END, self._searched)
        if end < 0:
            # A third on top, since stuffing makes that much of a mail of dots.
            self._keep_at_most(self._mail_limit * 4 // 3 + len(_END), tail=len(_END) - 1)
            return None
        stuffed = self._take(end + 2)
        del self._buffer[: len(_END) - 2]
        self._in_mail = False
        mail = stuffed.replace(b"\r\n.", b"\r\n")[2:]
        if self._overflow() or len(mail) > self._mail_limit:
            return Oversized.OVERSIZED
        return mail

    def _take(self, length: int) -> bytes:
        with memoryview(self._buffer) as view:
            taken = bytes(view[:length])
        del self._buffer[:length]
        self._searched = 0
        return taken

    def _keep_at_most(self, limit: int, *, tail: int) -> None:
        """Throw away what is over `limit`, but for a `tail` in which the end may have begun."""
        if len(self._buffer) > limit:
            self._overflowed = True
            del self._buffer[: len(self._buffer) - tail]
        self._searched = max(0, len(self._buffer) - tail)

    def _overflow(self) -> bool:
        overflowed, self._overflowed = self._overflowed, False
        return overflowed
