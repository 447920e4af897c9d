"""What the sink saw of a run: the truth about sends, which no agent can forget or invent."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_agentmail.mail.matching import Criteria
from pytest_agentmail.mail.smtp.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from datetime import datetime

    from pytest_agentmail.mail.post_office import PostOffice
    from pytest_agentmail.mail.run_mail import Refused

__all__ = ["AcceptanceLog", "Accepted", "Underway"]


class Accepted(NamedTuple):
    """One mail that the sink accepted, whatever became of it afterwards."""

    content: str
    """A digest of what it says, without trace fields; equal for copies."""
    accepted_at: datetime
    """When, by the clock of its run (UTC)."""


class Underway(Traffic):
    """The mails that clients of one sink may be sending, and for which runs.

    Args:
        post_office: Knows whose the addresses are.
        run_id: The one run the sink is for; before RCPT it is not known otherwise.
    """

    def __init__(self, post_office: PostOffice, run_id: str | None = None) -> None:
        self._post_office = post_office
        self._run_id = run_id
        self._lock = threading.Lock()
        self._recipients: dict[Hashable, tuple[str, ...]] = {}

    def connects(self, client: Hashable) -> None:
        """A mail for anybody may come."""
        with self._lock:
            self._recipients[client] = ()

    def sends(self, client: Hashable) -> None:
        """A mail begins; for whom is not said yet."""
        self.connects(client)

    def addresses(self, client: Hashable, recipient: str) -> None:
        """It is for this recipient too."""
        with self._lock:
            self._recipients[client] = (*self._recipients.get(client, ()), recipient)

    def refuses(self, client: Hashable, code: int) -> None:
        """Note it for the runs that the mail was meant for."""
        with self._lock:
            recipients = self._recipients.get(client, ())
        for run_id in self._runs(recipients):
            self._post_office.note_refusal(run_id, code)

    def rests(self, client: Hashable) -> None:
        """Nothing is under way there."""
        with self._lock:
            self._recipients.pop(client, None)

    def count(self, run_id: str) -> int:
        """The clients that may be sending a mail for this run."""
        with self._lock:
            under_way = list(self._recipients.values())
        return sum(1 for recipients in under_way if self._may_be_for(run_id, recipients))

    def _may_be_for(self, run_id: str, recipients: Sequence[str]) -> bool:
        open_to_all = self._run_id is None and not recipients
        return open_to_all or run_id in self._runs(recipients)

    def _runs(self, recipients: Sequence[str]) -> set[str]:
        """The runs that a mail to these is for, as far as that is known."""
        if self._run_id is not None:
            return {self._run_id}
        return {holder.run_id for holder in map(self._post_office.holder, recipients) if holder}


class AcceptanceLog:
    """What the sinks of a run saw of it, for its probes (a `MailAcceptanceLog`).

    Args:
        post_office: Keeps what was accepted and refused.
        under_way: What is being sent, a sink each.
    """

    def __init__(self, post_office: PostOffice, *under_way: Underway) -> None:
        self._post_office = post_office
        self._under_way = under_way

    def accepted(self, run_id: str, criteria: Mapping[str, Any]) -> list[Accepted]:
        """What apps sent for the run and meets `criteria`, in order of acceptance.

        Mail that is foreign to the run says nothing of its sends.

        Args:
            run_id: The run.
            criteria: As for `Mailbox.search`.
        """
        wanted = Criteria(**criteria)
        return [
            Accepted(message.content.fingerprint, message.received_at)
            for message in tuple(self._post_office.open(run_id).sent)
            if wanted.met_by(message) and self._post_office.foreign(message, run_id) is None
        ]

    def open_connections(self, run_id: str) -> int:
        """How many clients may be sending a mail for the run."""
        return sum(under_way.count(run_id) for under_way in self._under_way)

    def refusals(self, run_id: str) -> tuple[Refused, ...]:
        """What was refused for the run, oldest first."""
        return tuple(self._post_office.open(run_id).refusals)
