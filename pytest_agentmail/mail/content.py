"""What a mail says, read on demand."""

from __future__ import annotations

import hashlib
import re
from email import message_from_bytes, policy
from email.utils import getaddresses
from functools import cached_property


class Headers(dict):
    def get_all(self, name):
        return [v for k, v in self.items() if k.lower() == name.lower()]

    def get(self, name, default=None):
        return next(iter(self.get_all(name)), default)

    def __getitem__(self, name):
        found = self.get_all(name)
        if not found:
            raise KeyError(name)
        return found[0]


class Content:
    """The readable side of one mail; parsed on first use, shared by all its deliveries."""

    attachments = ()
    defects = ()

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @cached_property
    def _parsed(self):
        return message_from_bytes(self.raw, policy=policy.default)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def fingerprint(self):
        return self.sha256

    @property
    def subject(self):
        return str(self._parsed["subject"] or "")

    @property
    def headers(self):
        return Headers((k, str(v)) for k, v in self._parsed.items())

    @property
    def sender(self):
        return next((a for _, a in getaddresses([str(self._parsed["from"] or "")])), "")

    @property
    def recipients(self):
        values = self.headers.get_all("to") + self.headers.get_all("cc")
        return tuple(a for _, a in getaddresses(values) if "@" in a)

    @property
    def message_id(self):
        return self.headers.get("message-id")

    @property
    def codes(self):
        return tuple(re.findall(r"\b\d{4,8}\b", self.text))

    @property
    def code(self):
        return next(iter(self.codes), None)

    @property
    def links(self):
        return tuple(re.findall(r"https?://\S+", self.text))

    @property
    def link(self):
        return next(iter(self.links), None)

    @property
    def html(self):
        body = self._parsed.get_body(("html",))
        return body.get_content() if body else None

    @property
    def text(self):
        body = self._parsed.get_body(("plain",))
        return body.get_content() if body else ""

    @property
    def visible_text(self):
        return self.text
