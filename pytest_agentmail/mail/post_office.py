"""Who has which address, and where accepted mail goes."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.mail.address import Address, canonical, canonical_domain, unique_address
from pytest_agentmail.mail.content import Content
from pytest_agentmail.mail.fate import Fate, MailFaults
from pytest_agentmail.mail.mailbox import Mailbox
from pytest_agentmail.mail.message import Message
from pytest_agentmail.mail.smtp_faults import SmtpFaults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.world import Adversary, MailFault, SmtpFault

__all__ = ["RUN_HEADER", "RUN_PREFIX", "Acceptance", "Late", "PostOffice"]

RUN_HEADER = "X-Agentmail-Run"
"""A header with which an app may say for which run a mail is."""

RUN_PREFIX = "run-"
"""How every run id begins; a `+tag` that begins so is a run's token."""

NEVER = datetime.max.replace(tzinfo=UTC)
"""When a mail becomes visible that waits for another one."""

_STRAYS_KEPT = 200


class Late(NamedTuple):
    """A mail that came after the test it was for had ended."""

    test: str
    message: Message


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A mail that was stored; `announce` it once its sender knows."""

    deliveries: tuple[tuple[Mailbox, Message], ...]

    def announce(self) -> None:
        """Wake whoever waits for it."""
        for mailbox, message in self.deliveries:
            mailbox.announce(message)


class RunMail:
    """What the post office knows of one run."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        """Every mail accepted for it, once, in order of arrival; lost and delayed mail too."""
        self.faults = MailFaults()
        """What is to become of its mail."""
        self.smtp_faults = SmtpFaults()
        """What is to go wrong while it is sent."""
        self._lock = threading.Lock()
        self._expecting: list[tuple[int, Callable[[], object]]] = []
        self.held: list[tuple[Mailbox, Message]] = []
        """Mail that can be found only after the next one."""

    def add_sent(self, message: Message) -> None:
        """Note a mail that was accepted, and tell whoever expected one."""
        with self._lock:
            self.sent.append(message)
            due = [tell for count, tell in self._expecting if len(self.sent) > count]
            self._expecting = [each for each in self._expecting if len(self.sent) <= each[0]]
        for tell in due:
            tell()

    def when_more_than(self, count: int, tell: Callable[[], object]) -> None:
        """Call `tell` as soon as more than `count` mails were accepted."""
        with self._lock:
            if len(self.sent) <= count:
                self._expecting.append((count, tell))
                return
        tell()

    def happened(self) -> list[str]:
        """What faults did to its mail, a sentence each."""
        return [*self.smtp_faults.notes(), *self.faults.notes()]

    def pending(self) -> list[MailFault | SmtpFault]:
        """The faults that never struck."""
        return [*self.smtp_faults.pending(), *self.faults.pending()]


class PostOffice:
    """Routes mail by its SMTP envelope and loses nothing that was accepted.

    Blind copies are delivered like any other; case and tags make no difference; a mail for several
    mailboxes reaches each of them once.
    """

    def __init__(self, clock: Clock, domain: str) -> None:
        self._clock = clock
        self._domain = canonical_domain(domain)
        self._lock = threading.Lock()
        self._seq = itertools.count(1)
        self._leased: dict[str, Mailbox] = {}
        self._ended: dict[str, str] = {}
        self._runs: dict[str, RunMail] = {}
        self._strays: deque[Message] = deque(maxlen=_STRAYS_KEPT)
        self._late: list[Late] = []

    def open(self, run_id: str) -> RunMail:
        """What is known here of a run."""
        with self._lock:
            return self._runs.setdefault(run_id, RunMail())

    def lease(self, mailbox: Mailbox) -> None:
        """Give the mailbox its address, for itself alone.

        Raises:
            SettingsError: The address is leased already.
        """
        address = canonical(mailbox.address)
        with self._lock:
            holder = self._leased.setdefault(address, mailbox)
            if holder is mailbox:
                self._ended.pop(address, None)
                self._runs.setdefault(mailbox.run_id, RunMail())
                return
        raise SettingsError(
            f"address {mailbox.address!r} is leased to {holder.run_id} until "
            f"{holder.lease_expires_at.isoformat()}; an address serves one mailbox at a time"
        )

    def release(self, run_id: str, *, test: str) -> None:
        """End all leases of a run; what still comes for them is late mail of `test`."""
        with self._lock:
            for address in [a for a, m in self._leased.items() if m.run_id == run_id]:
                del self._leased[address]
                self._ended[address] = test
            self._runs.pop(run_id, None)

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

        It is when a recipient header names an address of our domain that this run does not have, or
        when it carries another run's token. A missing or unknown header says nothing: blind copies
        and aliases are not foreign.
        """
        for named in message.recipients:
            try:
                address = Address.parse(named)
            except ValueError:
                continue
            holder = self._leased.get(address.base)
            if holder is not None and holder.run_id != run_id:
                return f"it is addressed to {named}, which is leased to another run"
            if holder is None and (address.base in self._ended or address.domain == self._domain):
                return f"it is addressed to {named}, which is leased to no run"
            if address.tag and address.tag.startswith(RUN_PREFIX) and address.tag != run_id:
                return f"its address carries the token of run {address.tag}"
        token = message.headers.get(RUN_HEADER, run_id)
        return None if token == run_id else f"its {RUN_HEADER} header names run {token}"

    def accept(self, raw: bytes, envelope_from: str, envelope_to: Iterable[str]) -> Acceptance:
        """Store a mail in every mailbox it is for, as the faults of each run will have it."""
        with self._lock:
            accepted = _Accepted(raw, envelope_from)
            for owner, addressed in self._by_owner(envelope_to).items():
                if isinstance(owner, Mailbox):
                    self._deliver(accepted, owner, addressed)
                elif owner is None:
                    self._strays.append(self._message(accepted, "stray", addressed, self._clock))
                else:
                    late = self._message(accepted, "late", addressed, self._clock)
                    self._late.append(Late(owner, late))
            for mailbox, message in accepted.overtaken:
                message.visible_at = mailbox.clock.now() + timedelta.resolution
        return Acceptance((*accepted.deliveries, *accepted.overtaken))

    @property
    def strays(self) -> tuple[Message, ...]:
        """The latest mail for addresses that nobody has or had, oldest first."""
        with self._lock:
            return tuple(self._strays)

    def take_late(self) -> list[Late]:
        """The late mail that was not taken before."""
        with self._lock:
            taken, self._late = self._late, []
            return taken

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

    def _deliver(self, accepted: _Accepted, mailbox: Mailbox, addressed: list[str]) -> None:
        run = self._runs[mailbox.run_id]
        first_of_run = mailbox.run_id not in accepted.fates
        if first_of_run:
            accepted.fates[mailbox.run_id] = run.faults.next_fate()
            accepted.overtaken += run.held
            run.held.clear()
        fate = accepted.fates[mailbox.run_id]
        if fate.misled:
            addressed = [unique_address(self._domain)]
        name = Address.parse(mailbox.address).local
        copies = [
            self._message(accepted, name, addressed, mailbox.clock, fate, delay)
            for delay in fate.delays
        ]
        if first_of_run:
            run.add_sent(copies[0])
        if fate.misled:
            self._strays += copies
        elif not fate.lost:
            for copy in copies:
                mailbox.deliver(copy)
                (run.held if fate.held else accepted.deliveries).append((mailbox, copy))

    def _message(
        self,
        accepted: _Accepted,
        name: str,
        addressed: Iterable[str],
        clock: Clock,
        fate: Fate = Fate(),  # noqa: B008  (it is immutable)
        delay: float = 0.0,
    ) -> Message:
        seq, now = next(self._seq), clock.now()
        return Message(
            accepted.content(fate),
            id=f"{name}-{seq}",
            seq=seq,
            envelope_from=accepted.envelope_from,
            envelope_to=tuple(addressed),
            received_at=now,
            visible_at=NEVER if fate.held else now + timedelta(seconds=delay),
        )


class _Accepted:
    """A mail on its way into mailboxes."""

    def __init__(self, raw: bytes, envelope_from: str) -> None:
        self.envelope_from = envelope_from
        self.fates: dict[str, Fate] = {}
        """What becomes of it in each run."""
        self.deliveries: list[tuple[Mailbox, Message]] = []
        self.overtaken: list[tuple[Mailbox, Message]] = []
        """Held mail that becomes visible behind it."""
        self._contents: dict[tuple[Adversary, ...], Content] = {(): Content(raw)}

    def content(self, fate: Fate) -> Content:
        """What it says, rewritten where that is its fate; parsed once for all its deliveries."""
        if fate.rewritten not in self._contents:
            from pytest_agentmail.mail.composing import rewritten

            raw = reduce(rewritten, fate.rewritten, self._contents[()].raw)
            self._contents[fate.rewritten] = Content(raw)
        return self._contents[fate.rewritten]
