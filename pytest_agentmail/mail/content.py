"""What a mail says, read on demand."""

from __future__ import annotations

import hashlib
import re
from email import message_from_bytes, policy
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import EmailMessage

__all__ = ["Content"]


class Content:
    """The readable side of one mail; parsed on first use, shared by all its deliveries."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @cached_property
    def _parsed(self) -> EmailMessage:
        return message_from_bytes(self.raw, policy=policy.default)  # type: ignore[return-value]

    @cached_property
    def sha256(self) -> str:
        """The hexadecimal SHA-256 of the raw bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    @cached_property
    def subject(self) -> str:
        return str(self._parsed["subject"] or "")

    @cached_property
    def code(self) -> str | None:
        found = re.search(r"\b\d{4,8}\b", self.text)
        return found and found[0]

    @cached_property
    def text(self) -> str:
        body = self._parsed.get_body(("plain",))
        return body.get_content() if body else ""
