"""The queue: expect a mail, ask for it, wait for it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, get_args

from pytest_agentmail.clock.pausing import finish
from pytest_agentmail.clock.tasks import finish_async
from pytest_agentmail.errors import (
    ContractConflict,
    ProviderError,
    SettingsError,
    StaleVersion,
    UnexpectedMail,
)
from pytest_agentmail.mail.explaining import summary
from pytest_agentmail.mail.mailbox import Surroundings
from pytest_agentmail.providers.protocol import Knowing
from pytest_agentmail.signals.backoff import Backoff
from pytest_agentmail.signals.contract import Contract
from pytest_agentmail.signals.expectation import Expectation
from pytest_agentmail.signals.inquiry import Inquiry
from pytest_agentmail.signals.lookout import Lookout
from pytest_agentmail.signals.notices import Notices
from pytest_agentmail.signals.shelf import Shelf
from pytest_agentmail.signals.signal import Outcome, Reason, Signal, SignalStatus
from pytest_agentmail.signals.transitions import reserve
from pytest_agentmail.signals.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.mail.mailbox import LookAround, Mailbox
    from pytest_agentmail.mail.matching import Text
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.providers.protocol import MailProvider
    from pytest_agentmail.signals.result import CheckResult
    from pytest_agentmail.signals.window import NewerThan, Since
    from pytest_agentmail.stores.protocol import SignalStore

__all__ = ["SignalQueue"]

_FOREVER = datetime.max.replace(tzinfo=UTC)


class SignalQueue:
    """The expected mails of one run; each is asked for by its signal, never by reading an inbox.

    Args:
        provider: Where the mail is.
        store: Where signals are kept; they last as long as it does.
        clock: Whose time expiry and budgets follow.
        run_id: The run whose signals these are.
        mailbox: The mailbox or address that is meant when none is named.
        checks: The most questions a signal may ask, unless `expect` says otherwise.
        within: Seconds a signal lives, unless `expect` says otherwise.
        backoff: The pauses between questions.
        look_around: Tells what was seen outside the mailbox, for advice.
        requested_at: Tells when the run asked for a mail last, for the window of a resend.
        on_expect: Told whenever a mail is expected.
    """

    def __init__(  # noqa: PLR0913  (what a run decides, each by name)
        self,
        provider: MailProvider,
        store: SignalStore,
        clock: Clock,
        *,
        run_id: str,
        mailbox: Mailbox | str | None = None,
        checks: int = 10,
        within: float = 120,
        backoff: Backoff | None = None,
        look_around: LookAround = Surroundings,
        requested_at: Callable[[], datetime | None] = lambda: None,
        on_expect: Callable[[], object] = lambda: None,
    ) -> None:
        self.provider = provider
        """Where the mail is."""
        self.clock = clock
        """Whose time expiry and budgets follow."""
        self.run_id = run_id
        """The run whose signals these are."""
        self._shelf = Shelf(store, run_id)
        self._mailbox = mailbox
        self._checks = checks
        self._within = within
        self._backoff = backoff or Backoff(seed=run_id)
        self._inquiry = Inquiry(provider, self._shelf, clock, self._backoff, look_around)
        self._requested_at = requested_at
        self._on_expect = on_expect
        self._contracts: dict[str, Contract] = {}
        self._turns: dict[str, threading.RLock] = {}
        self._notices = Notices()
        self._lookout = Lookout(provider, self._notices)

    def expect(  # noqa: PLR0913  (what an expectation is made of, each by name)
        self,
        kind: str,
        *,
        subject: Text = None,
        within: float | None = None,
        checks: int | None = None,
        mailbox: Mailbox | str | None = None,
        since: Since = None,
        newer_than: NewerThan = None,
    ) -> Signal:
        """The signal for one expected mail; expecting it again gives the same one (B6, B19).

        Args:
            kind: What the mail is for, such as "verification_email".
            subject: Contained (case and white space folded), searched, asked, or anything.
            within: Seconds until it expires.
            checks: The most questions that may be asked.
            mailbox: The mailbox or address it comes to; the run's own unless given.
            since: A moment, a message, or "now", before which mail does not count.
            newer_than: Evidence, a message or an ended signal that the mail must be newer than; the
                same content again does not count. This makes it another signal.

        Raises:
            ContractConflict: It is expected already, with another subject.
            SettingsError: An argument is not allowed; the text says what is.
        """
        contract = Contract(subject)
        expectation = Expectation(
            kind=kind,
            contract=contract,
            within=self._within if within is None else within,
            checks=self._checks if checks is None else checks,
            mailbox=self._mailbox if mailbox is None else mailbox,
            since=since,
            newer_than=self._current(newer_than),
        )
        signal = self._shelf.add(
            expectation.signal(
                self.run_id,
                self.clock.now(),
                exclusive=self._exclusive,
                requested_at=self._requested_at(),
            )
        )
        known = self._contracts.get(signal.signal_id, contract)
        if signal.criteria != contract.wording or known != contract:
            raise ContractConflict(
                f"signal {kind!r} for {signal.recipient} is expected already, with "
                f"{signal.criteria}; now with {contract.wording}. "
                f"Use another kind, or newer_than= for a resend"
            )
        self._contracts[signal.signal_id] = contract
        self._on_expect()
        return signal

    def get(self, signal_id: str) -> Signal:
        """The signal with that id, as it is now.

        Raises:
            SettingsError: This run has none of that id.
        """
        return self._shelf.get(signal_id).signal

    def pending(self) -> list[Signal]:
        """The signals that are not decided yet, oldest first."""
        return [signal for signal in self.all() if not signal.final]

    def all(self) -> list[Signal]:
        """All signals of the run, oldest first."""
        return self._shelf.all()

    def check(self, signal: Signal, reason: Reason | None = None) -> CheckResult:
        """Ask once, within the budget, without waiting.

        A decided signal gives its answer again and asks nobody. So does one whose provider asked
        not to be called yet, and one whose last check is still unanswered, until its deadline.

        Args:
            signal: The signal, or an older copy of it.
            reason: Why it is asked (B11); "first_check" or "scheduled" unless given.

        Raises:
            ContractConflict: An earlier life expected it and this one did not yet.
            SettingsError: There is no such reason.
        """
        if reason is not None and reason not in get_args(Reason):
            raise SettingsError(f"reason={reason!r}: expected one of {', '.join(get_args(Reason))}")
        contract = self._contract(signal)
        with self._turn(signal):
            while True:
                kept = self._shelf.get(signal.signal_id)
                now = self.clock.now()
                if kept.signal.final or _has_to_rest(kept.signal, now):
                    return self._inquiry.again(kept.signal)
                try:
                    if not _may_ask(kept.signal, now):
                        return self._inquiry.again(self._inquiry.end(kept, now))
                    why = reason or ("scheduled" if kept.signal.checks else "first_check")
                    paid = self._shelf.replace(kept, reserve(kept.signal, now, why))
                except StaleVersion:
                    continue
                return self._inquiry.ask(paid, contract)

    def wait(self, signal: Signal) -> CheckResult:
        """Ask until the answer is final; woken by arrivals where the provider tells of them."""
        return finish(self.clock, self._waiting(signal).steps())

    async def wait_async(self, signal: Signal) -> CheckResult:
        """As `wait`, without blocking the event loop."""
        return await finish_async(self.clock, self._waiting(signal).steps())

    def notify(self, signal: Signal) -> None:
        """Tell that something may have happened, as a webhook does; a wait looks soon.

        Notices coalesce, and keep the least distance between two checks.
        """
        self._notices.give(signal.signal_id)

    def expect_none(  # noqa: PLR0913  (what an expectation is made of, each by name)
        self,
        kind: str,
        *,
        subject: Text = None,
        within: float | None = None,
        mailbox: Mailbox | str | None = None,
        since: Since = None,
        newer_than: NewerThan = None,
    ) -> CheckResult:
        """Make sure that no such mail comes in time; the expired result.

        Args: as `expect`.

        Raises:
            UnexpectedMail: It came.
            ProviderError: The provider failed at the last look, so nothing is known.
        """
        __tracebackhide__ = True
        signal = self.expect(
            kind,
            subject=subject,
            within=within,
            mailbox=mailbox,
            since=since,
            newer_than=newer_than,
        )
        result = self.wait(signal)
        if result.message is not None:
            raise UnexpectedMail(
                f"mail came for {signal.kind!r} to {signal.recipient} that must not\n"
                f"unwanted: {signal.criteria}\n"
                f"  - {summary(result.message, signal.created_at)}\n"
                f"next: find out what sent it, or let it count as older with newer_than="
            )
        if result.status is SignalStatus.PROVIDER_ERROR:
            raise ProviderError(result.signal.last_error or "unknown", detail=result.advice)
        return result

    def late(self, signal: Signal) -> list[Message]:
        """Mail that would have counted, had it come before the signal ended; it changes nothing."""
        ended = self.get(signal.signal_id)
        if not ended.final:
            return []
        taken = {ended.message_id, *ended.also_matched}
        anytime = ended.model_copy(update={"expires_at": _FOREVER})
        arrived = self._lookout.arrived(ended) or ()
        survey = self._inquiry.survey(anytime, self._contract(signal), arrived)
        return [message for message in survey.matching if message.id not in taken]

    def _waiting(self, signal: Signal) -> Waiting:
        contract = self._contract(signal)
        return Waiting(
            signal,
            self.clock,
            self._lookout,
            counts=lambda message: bool(self._inquiry.survey(signal, contract, [message]).matching),
            check=lambda reason: self.check(signal, reason),
            close=lambda: self._close(signal),
            brief=getattr(self.provider, "immediate", False),
            least_gap=self._backoff.first,
        )

    def _close(self, signal: Signal) -> CheckResult:
        """The answer of a signal whose seconds have passed, on whatever clock."""
        with self._turn(signal):
            while True:
                kept = self._shelf.get(signal.signal_id)
                try:
                    ended = self._inquiry.end(kept, self.clock.now(), "deadline")
                except StaleVersion:
                    continue
                return self._inquiry.again(ended)

    def _current(self, older: NewerThan) -> NewerThan:
        return self.get(older.signal_id) if isinstance(older, Signal) else older

    def _exclusive(self, recipient: str) -> bool:
        """Whether the address was made for this run, so that no other mail can be there."""
        return isinstance(self.provider, Knowing) and self.provider.exclusive(recipient)

    def _contract(self, signal: Signal) -> Contract:
        try:
            return self._contracts[signal.signal_id]
        except KeyError:
            raise ContractConflict(
                f"signal {signal.signal_id} ({signal.kind}) was expected by another life: call "
                f"expect({signal.kind!r}, …) again with its criteria ({signal.criteria})"
            ) from None

    def _turn(self, signal: Signal) -> threading.RLock:
        """Questions about one signal are asked one after the other."""
        return self._turns.setdefault(signal.signal_id, threading.RLock())


def _has_to_rest(signal: Signal, now: datetime) -> bool:
    """Whether there is nothing to do before a later time that comes before the deadline."""
    if now >= signal.expires_at:
        return False
    if not signal.checks_left:
        return signal.history[-1].outcome is Outcome.RESERVED
    return signal.resting_until is not None and now < signal.resting_until


def _may_ask(signal: Signal, now: datetime) -> bool:
    until = signal.resting_until
    return signal.checks_left > 0 and (until is None or now >= until)
