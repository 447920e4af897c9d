"""The mail that the sink took for one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentmail.errors import ProviderError
from pytest_agentmail.mail.post_office import has_ended

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from pytest_agentmail.clock.pausing import Watch
    from pytest_agentmail.mail.mailbox import Mailbox
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.mail.post_office import PostOffice

__all__ = ["SinkProvider"]


class SinkProvider:
    """Searches the mailboxes of one run, and no others.

    Its failures are those of a wrong question: an address that this run does not have, or a run
    that has ended.
    """

    def __init__(self, post_office: PostOffice, run_id: str) -> None:
        self._post_office = post_office
        self._run_id = run_id

    def search(
        self,
        *,
        recipient: str,
        subject: str | None = None,
        after: datetime | None = None,
    ) -> Sequence[Message]:
        """The visible mail for `recipient`, in order of acceptance."""
        return self._mailbox(recipient).search(subject=subject, after=after)

    def fetch(self, message_id: str) -> Message:
        """The message of this run with that id."""
        for mailbox in self._post_office.mailboxes(self._run_id):
            message = mailbox.get(message_id)
            if message is not None:
                return message
        raise ProviderError("not_found", detail=f"no message {message_id} in run {self._run_id}")

    def watching(self, recipient: str) -> AbstractContextManager[Watch]:
        """What to sleep on until there may be more for `recipient`."""
        return self._mailbox(recipient).watching()

    def arrived(self, recipient: str) -> Sequence[Message]:
        """What is visible for `recipient`."""
        return self._mailbox(recipient).messages

    immediate = True

    def exclusive(self, recipient: str) -> bool:
        """Whether the address was made for this run, so that nobody had it before."""
        mailbox = self._post_office.holder(recipient)
        return mailbox is not None and mailbox.run_id == self._run_id and not mailbox.fixed

    def foreign(self, message: Message) -> str | None:
        """Why the message belongs to another run, or None."""
        return self._post_office.foreign(message, self._run_id)

    def _mailbox(self, recipient: str) -> Mailbox:
        mailbox = self._post_office.holder(recipient)
        if mailbox is None or mailbox.run_id != self._run_id:
            if not self._post_office.mailboxes(self._run_id):
                raise has_ended(self._run_id)
            raise ProviderError("no_such_mailbox", detail=f"{recipient} is not of {self._run_id}")
        return mailbox
