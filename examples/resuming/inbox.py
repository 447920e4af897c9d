"""A mail provider for mail that is kept in Maildir folders, one for each address."""

import mailbox
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

from pytest_agentmail import Message, ProviderError
from pytest_agentmail.mail.content import Content
from pytest_agentmail.mail.matching import Criteria


class Inbox:
    """Finds mail in the folders that `mail_server.py` fills."""

    def __init__(self, root: Path):
        self._root = root

    def search(self, *, recipient, subject=None, after=None):
        if not self._root.is_dir():
            raise ProviderError("unavailable", detail="the mail folder is not there")
        if not (self._root / recipient).is_dir():
            return []
        keys = mailbox.Maildir(self._root / recipient).keys()
        found = [self.fetch(f"{recipient}/{key}") for key in keys]
        criteria = Criteria(subject=subject, after=after)
        return sorted(filter(criteria.met_by, found), key=attrgetter("seq"))

    def fetch(self, message_id):
        recipient, _, key = message_id.partition("/")
        try:
            path = next((self._root / recipient).glob(f"*/{key}*"))
            raw, at = path.read_bytes(), path.stat().st_mtime_ns
        except (StopIteration, OSError) as error:
            raise ProviderError("not_found", detail=f"no message {message_id}") from error
        arrived = datetime.fromtimestamp(at / 1e9, UTC)
        return Message(
            Content(raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")),
            id=message_id,
            seq=at,
            envelope_from="",
            envelope_to=(recipient,),
            received_at=arrived,
            visible_at=arrived,
        )
