"""Who has which address, and where accepted mail goes."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentmail.errors import AgentMailError, SettingsError
from pytest_agentmail.mail.address import Address, canonical, canonical_domain, unique_address
from pytest_agentmail.mail.fate import UNDISTURBED
from pytest_agentmail.mail.letter import Letter
from pytest_agentmail.mail.mailbox import Mailbox
from pytest_agentmail.mail.message import Message
from pytest_agentmail.mail.run_mail import Refused, RunMail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.mail.fate import Fate
    from pytest_agentmail.mail.smtp.planned import SmtpFaults

__all__ = ["RUN_HEADER", "RUN_PREFIX", "Acceptance", "Late", "PostOffice", "has_ended"]

RUN_HEADER = "X-Agentmail-Run"
"""A header with which an app may say for which run a mail is."""

RUN_PREFIX = "run-"
"""How every run id begins; a `+tag` that begins so is a run's token."""

NEVER = datetime.max.replace(tzinfo=UTC)
"""When a mail becomes visible that waits for another one."""


def has_ended(run_id: str) -> AgentMailError:
    """The error of an agent that goes on when its run is over."""
    return AgentMailError(
        f"run {run_id} has ended, so it takes no further part in anything: have the test wait for "
        f"its agent, or stop it"
    )


class Late(NamedTuple):
    """A mail that came after the test it was for had ended."""

    test: str
    message: Message


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A mail that was stored; `announce` it once its sender knows."""

    deliveries: tuple[tuple[Mailbox, Message], ...]
    expected: tuple[Callable[[], object], ...] = ()
    """Tells whoever expected that a mail of the run is accepted."""

    def announce(self) -> None:
        """Wake whoever waits for it."""
        for mailbox, message in self.deliveries:
            mailbox.announce(message)
        for tell in self.expected:
            tell()


class PostOffice:
    """Routes mail by its SMTP envelope and loses nothing that was accepted.

    Blind copies are delivered like any other; case and tags make no difference; a mail for several
    mailboxes reaches each of them once.
    """

    def __init__(self, clock: Clock, domain: str) -> None:
        self._clock = clock
        self._domain = canonical_domain(domain)
        self._domains = {self._domain}
        self._lock = threading.Lock()
        self._seq = itertools.count(1)
        self._leased: dict[str, Mailbox] = {}
        self._ended: dict[str, str] = {}
        self._runs: dict[str, RunMail] = {}
        self._strays: list[Message] = []
        self._misdelivered: list[Message] = []
        self._late: list[Late] = []
        self._others = (f"stray{number}" for number in itertools.count(1))

    def open(self, run_id: str) -> RunMail:
        """What is known here of a run."""
        with self._lock:
            return self._run(run_id)

    def lease(self, mailbox: Mailbox) -> None:
        """Give the mailbox its address, for itself alone.

        Raises:
            SettingsError: The address is leased already.
        """
        address = Address.parse(mailbox.address)
        with self._lock:
            holder = self._leased.setdefault(address.base, mailbox)
            if holder is mailbox:
                self._ended.pop(address.base, None)
                self._run(mailbox.run_id)
                if not mailbox.fixed:
                    self._domains.add(address.domain)
                return
        raise SettingsError(
            f"address {mailbox.address!r} is leased to {holder.run_id} until "
            f"{holder.lease_expires_at.isoformat()}; an address serves one mailbox at a time"
        )

    def release(self, mailboxes: Iterable[Mailbox], *, test: str) -> None:
        """End these leases; what still comes for them is late mail of `test`.

        A run is known for as long as a mailbox is leased to it.
        """
        ending = list(mailboxes)
        with self._lock:
            for mailbox in ending:
                address = canonical(mailbox.address)
                if self._leased.get(address) is mailbox:
                    del self._leased[address]
                    self._ended[address] = test
            going_on = {mailbox.run_id for mailbox in self._leased.values()}
            for run_id in {mailbox.run_id for mailbox in ending} - going_on:
                self._runs.pop(run_id, None)
        for mailbox in ending:
            mailbox.end()

    def holder(self, address: str) -> Mailbox | None:
        """The mailbox that has `address` now."""
        try:
            return self._leased.get(canonical(address))
        except ValueError:
            return None

    def smtp_faults(self, recipients: Sequence[str]) -> Sequence[SmtpFaults]:
        """The SMTP faults of the runs that have these addresses, each once."""
        runs = {mailbox.run_id for mailbox in map(self.holder, recipients) if mailbox}
        with self._lock:
            return [
                self._runs[run_id].smtp_faults for run_id in sorted(runs) if run_id in self._runs
            ]

    def mailboxes(self, run_id: str) -> list[Mailbox]:
        """The mailboxes leased to a run, in the order in which they were leased."""
        with self._lock:
            return [mailbox for mailbox in self._leased.values() if mailbox.run_id == run_id]

    def foreign(self, message: Message, run_id: str) -> str | None:
        """Why `message` is for another run than the one it came to, or None when it is not.

        It is when a recipient header names an address of a domain of ours that this run does not
        have, or when a header or the envelope carries another run's token. A missing or unknown
        header says nothing: blind copies and aliases are not foreign.
        """
        for named in (*message.recipients, *message.envelope_to):
            try:
                address = Address.parse(named)
            except ValueError:
                continue
            holder = self._leased.get(address.base)
            if holder is not None and holder.run_id != run_id:
                return f"it is addressed to {named}, which is leased to another run"
            if holder is None and (address.base in self._ended or address.domain in self._domains):
                return f"it is addressed to {named}, which is leased to no run"
            if address.tag and address.tag.startswith(RUN_PREFIX) and address.tag != run_id:
                return f"its address carries the token of run {address.tag}"
        token = message.headers.get(RUN_HEADER, run_id)
        return None if token == run_id else f"its {RUN_HEADER} header names run {token}"

    def accept(self, raw: bytes, envelope_from: str, envelope_to: Iterable[str]) -> Acceptance:
        """Store a mail in every mailbox it is for, as the faults of each run will have it."""
        return self._store(Letter(raw, envelope_from, by_app=True), envelope_to)

    def write(self, raw: bytes, envelope_from: str, envelope_to: Iterable[str]) -> None:
        """Deliver a mail that no app sent: the world wrote it."""
        self._store(Letter(raw, envelope_from, by_app=False), envelope_to).announce()

    def _store(self, letter: Letter, envelope_to: Iterable[str]) -> Acceptance:
        with self._lock:
            for owner, addressed in self._by_owner(envelope_to).items():
                if isinstance(owner, Mailbox):
                    self._deliver(letter, owner, addressed)
                    continue
                copies = self._copies(letter, addressed, self._others, self._clock)
                if owner is None:
                    self._strays += copies
                else:
                    self._late += [Late(owner, copy) for copy in copies]
            for mailbox, message in letter.overtaken:
                message.visible_at = mailbox.clock.now() + timedelta.resolution
        return Acceptance((*letter.deliveries, *letter.overtaken), tuple(letter.expected))

    def note_refusal(self, run_id: str, code: int) -> None:
        """Note that a mail for a run was refused; runs that have no mailbox are not kept."""
        for mailbox in self.mailboxes(run_id)[:1]:
            self.open(run_id).refusals.append(Refused(code, mailbox.clock.now()))

    @property
    def strays(self) -> tuple[Message, ...]:
        """The mail for addresses that nobody has or had, oldest first."""
        with self._lock:
            return tuple(self._strays)

    @property
    def misdelivered(self) -> tuple[Message, ...]:
        """The mail that the world delivered to somebody else, oldest first."""
        with self._lock:
            return tuple(self._misdelivered)

    def take_late(self) -> list[Late]:
        """The late mail that was not taken before."""
        with self._lock:
            taken, self._late = self._late, []
            return taken

    def _run(self, run_id: str) -> RunMail:
        return self._runs.setdefault(run_id, RunMail(run_id))

    def _by_owner(self, addresses: Iterable[str]) -> dict[Mailbox | str | None, list[str]]:
        owners: dict[Mailbox | str | None, list[str]] = {}
        for address in addresses:
            owners.setdefault(self._owner(address), []).append(address)
        return owners

    def _owner(self, address: str) -> Mailbox | str | None:
        """The mailbox that has it, the test that had it, or None."""
        try:
            base = canonical(address)
        except ValueError:
            return None
        return self._leased.get(base) or self._ended.get(base)

    def _deliver(self, letter: Letter, mailbox: Mailbox, addressed: list[str]) -> None:
        run = self._runs[mailbox.run_id]
        first_of_run = mailbox.run_id not in letter.fates
        if first_of_run:
            letter.fates[mailbox.run_id] = run.faults.next_fate()
            letter.overtaken += run.held
            run.held.clear()
        fate = letter.fates[mailbox.run_id]
        if fate.misled:
            addressed = [unique_address(self._domain)]
        copies = self._copies(letter, addressed, run.names, mailbox.clock, fate)
        if fate.misled:
            self._misdelivered += copies
        elif not fate.lost:
            for copy in copies:
                mailbox.deliver(copy)
                (run.held if fate.held else letter.deliveries).append((mailbox, copy))
        if first_of_run and letter.by_app:
            letter.expected += run.add_sent(copies[0])

    def _copies(
        self,
        letter: Letter,
        addressed: list[str],
        names: Iterator[str],
        clock: Clock,
        fate: Fate = UNDISTURBED,
    ) -> list[Message]:
        now = clock.now()
        return [
            Message(
                letter.content(fate),
                id=next(names),
                seq=next(self._seq),
                envelope_from=letter.envelope_from,
                envelope_to=tuple(addressed),
                received_at=now,
                visible_at=NEVER if fate.held else now + timedelta(seconds=delay),
            )
            for delay in fate.delays
        ]
