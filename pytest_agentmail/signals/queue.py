"""The queue: expect a mail, ask for it, wait for it."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from pytest_agentmail.clock.pausing import finish, finish_async
from pytest_agentmail.errors import (
    ContractConflict,
    EvidenceConflict,
    ProviderError,
    SettingsError,
    StaleVersion,
)
from pytest_agentmail.mail.address import canonical
from pytest_agentmail.mail.mailbox import Mailbox
from pytest_agentmail.mail.matching import nearest_first
from pytest_agentmail.providers.protocol import Knowing, Waking
from pytest_agentmail.signals.backoff import Backoff
from pytest_agentmail.signals.contract import Contract, Surveyed
from pytest_agentmail.signals.diagnosis import advise, next_action
from pytest_agentmail.signals.result import CheckResult
from pytest_agentmail.signals.shelf import Kept, Shelf
from pytest_agentmail.signals.signal import Evidence, Signal, SignalStatus, signal_id
from pytest_agentmail.signals.transitions import (
    Answer,
    Failed,
    Matched,
    Nothing,
    abandon,
    reserve,
    settle,
)
from pytest_agentmail.signals.waiting import waiting
from pytest_agentmail.signals.window import Opening

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.mail.matching import Text
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.providers.protocol import MailProvider
    from pytest_agentmail.signals.signal import Reason
    from pytest_agentmail.signals.transitions import Observation
    from pytest_agentmail.signals.window import NewerThan, Since
    from pytest_agentmail.stores.protocol import SignalStore

__all__ = ["SignalQueue"]

_NEAR = timedelta(minutes=5)
"""How long before a window mail is asked for, so that it can be named as a near miss."""


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
        self._backoff = backoff or Backoff()
        self._contracts: dict[str, Contract] = {}
        self._answers: dict[str, CheckResult] = {}
        self._turns: dict[str, threading.RLock] = {}

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
        now = self.clock.now()
        box = self._mailbox if mailbox is None else mailbox
        recipient = _address(box)
        older = Opening.newer_than(newer_than)
        opening = older & Opening.since(since or ("now" if _used_before(box) else None), now)
        lifetime = timedelta(seconds=_within(self._within if within is None else within))
        signal = self._shelf.add(
            Signal(
                signal_id=signal_id(self.run_id, _kind(kind), recipient, older.token),
                run_id=self.run_id,
                kind=kind,
                recipient=recipient,
                expected_subject=contract.wording,
                created_at=now,
                expires_at=now + lifetime,
                opens_at=opening.at,
                after_seq=opening.seq,
                spent_content=opening.content,
                max_checks=_checks(self._checks if checks is None else checks),
            ),
            identity=f"{kind}\n{recipient}\n{older.token}",
        )
        if signal.expected_subject != contract.wording:
            raise ContractConflict(
                f"signal {kind!r} for {recipient} is expected already, with "
                f"{signal.expected_subject}; now with {contract.wording}. "
                f"Use another kind, or newer_than= for a resend"
            )
        self._contracts[signal.signal_id] = contract
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
        not to be called yet.

        Args:
            signal: The signal, or an older copy of it.
            reason: Why it is asked (B11); "first_check" or "scheduled" unless given.

        Raises:
            ContractConflict: An earlier life expected it and this one did not yet.
        """
        contract = self._contract(signal)
        with self._turn(signal):
            while True:
                kept = self._shelf.get(signal.signal_id)
                now = self.clock.now()
                if kept.signal.final or _resting(kept.signal, now):
                    return self._again(kept.signal)
                try:
                    if not _may_ask(kept.signal, now):
                        return self._again(self._end(kept, now))
                    why = reason or ("scheduled" if kept.signal.checks else "first_check")
                    paid = self._shelf.replace(kept, reserve(kept.signal, now, why))
                except StaleVersion:
                    continue
                return self._ask(paid, contract)

    def wait(self, signal: Signal) -> CheckResult:
        """Ask until the answer is final; woken by arrivals where the provider tells of them."""
        return finish(self.clock, waiting(self, signal))

    async def wait_async(self, signal: Signal) -> CheckResult:
        """As `wait`, without blocking the event loop."""
        return await finish_async(self.clock, waiting(self, signal))

    def close(self, signal: Signal) -> CheckResult:
        """The answer of a signal that is out of time, without asking again."""
        with self._turn(signal):
            while True:
                kept = self._shelf.get(signal.signal_id)
                try:
                    return self._again(self._end(kept, kept.signal.expires_at))
                except StaleVersion:
                    continue

    def arrived(self, signal: Signal) -> Sequence[Message]:
        """What the provider tells of arrivals for `signal`; nothing where it does not tell."""
        if not isinstance(self.provider, Waking):
            return ()
        return self.provider.arrived(signal.recipient)

    def counts(self, signal: Signal, message: Message) -> bool:
        """Whether `message` meets the contract of `signal`."""
        return bool(self._survey(signal, self._contract(signal), [message]).matching)

    def _ask(self, paid: Kept, contract: Contract) -> CheckResult:
        """Put the question that was paid for, and settle it."""
        check = paid.signal.checks - 1
        messages, failure = self._search(paid.signal)
        kept = paid
        while True:
            surveyed = self._survey(kept.signal, contract, messages)
            seen = failure or _observation(surveyed, contract, kept.signal.recipient)
            settled, answer = settle(kept.signal, check, seen, self.clock.now(), self._backoff)
            try:
                if settled is not kept.signal:
                    self._shelf.replace(kept, settled)
            except (StaleVersion, EvidenceConflict):
                kept = self._shelf.get(kept.signal.signal_id)
                continue
            return self._answer(settled, answer, surveyed)

    def _search(self, signal: Signal) -> tuple[Sequence[Message], Failed | None]:
        opens = signal.opens_at
        try:
            found = self.provider.search(recipient=signal.recipient, after=opens and opens - _NEAR)
        except ProviderError as error:
            return (), Failed(error.code, error.retry_after)
        except OSError as error:
            return (), Failed(type(error).__name__)
        return found, None

    def _survey(self, signal: Signal, contract: Contract, messages: Sequence[Message]) -> Surveyed:
        provider = self.provider
        return contract.survey(
            signal,
            messages,
            foreign=provider.foreign if isinstance(provider, Knowing) else lambda _: None,
            claimed=self._shelf.claimed(by_others_than=signal.signal_id),
        )

    def _end(self, kept: Kept, now: datetime) -> Signal:
        if kept.signal.final:
            return kept.signal
        return self._shelf.replace(kept, abandon(kept.signal, now)).signal

    def _again(self, signal: Signal) -> CheckResult:
        """The last answer; made from what is kept where another life gave it."""
        last = self._answers.get(signal.signal_id)
        if last is not None and last.signal == signal:
            return last
        failing = bool(signal.history) and signal.history[-1].code is not None
        status = SignalStatus.PROVIDER_ERROR if failing else SignalStatus.WAITING
        answer = Answer(signal.status if signal.final else status, final=signal.final)
        matching = [*signal.also_matched, *filter(None, [signal.message_id])]
        found = [message for message in map(self._fetch, matching) if message is not None]
        return self._answer(signal, answer, Surveyed(found, []))

    def _fetch(self, message_id: str) -> Message | None:
        try:
            return self.provider.fetch(message_id)
        except (ProviderError, OSError):
            return None

    def _answer(self, signal: Signal, answer: Answer, surveyed: Surveyed) -> CheckResult:
        misses = nearest_first(surveyed.missed)
        found = [m for m in surveyed.matching if m.id == signal.message_id]
        result = self._answers[signal.signal_id] = CheckResult(
            status=answer.status,
            final=answer.final,
            signal=signal,
            message=found[0] if found else None,
            also_matched=tuple(m for m in surveyed.matching if m.id in signal.also_matched),
            next_action=next_action(signal, answer),
            retry_at=signal.retry_at,
            cause=signal.cause,
            advice=advise(signal, answer, misses),
            near_misses=tuple(misses),
            discarded=sum(miss.criterion == "other run" for miss in misses),
        )
        return result

    def _contract(self, signal: Signal) -> Contract:
        try:
            return self._contracts[signal.signal_id]
        except KeyError:
            raise ContractConflict(
                f"signal {signal.signal_id} ({signal.kind}) was expected by another life: call "
                f"expect({signal.kind!r}, …) again with its criteria ({signal.expected_subject})"
            ) from None

    def _turn(self, signal: Signal) -> threading.RLock:
        """Questions about one signal are asked one after the other."""
        return self._turns.setdefault(signal.signal_id, threading.RLock())


def _observation(surveyed: Surveyed, contract: Contract, recipient: str) -> Observation:
    if not surveyed.matching:
        return Nothing()
    *others, newest = surveyed.matching
    evidence = Evidence(
        message_id=newest.id,
        header_message_id=newest.message_id,
        sha256=newest.sha256,
        fingerprint=newest.content.fingerprint,
        seq=newest.seq,
        recipient=recipient,
        received_at=newest.received_at,
        visible_at=newest.visible_at,
        matched=contract.wording,
    )
    return Matched(evidence, tuple(message.id for message in others))


def _resting(signal: Signal, now: datetime) -> bool:
    """Whether the provider asked not to be called yet, and there is time to wait for it."""
    until = signal.resting_until
    return until is not None and now < until and now < signal.expires_at


def _may_ask(signal: Signal, now: datetime) -> bool:
    until = signal.resting_until
    return signal.checks_left > 0 and (until is None or now >= until)


def _address(mailbox: Mailbox | str | None) -> str:
    if mailbox is None:
        raise SettingsError("no mailbox: pass mailbox= to the queue or to expect()")
    address = mailbox.address if isinstance(mailbox, Mailbox) else mailbox
    try:
        canonical(address)
    except ValueError as error:
        raise SettingsError(f"mailbox={address!r}: {error}") from error
    return address


def _used_before(mailbox: Mailbox | str | None) -> bool:
    """Whether mail of others may be there: the address was not made for this run."""
    return mailbox.fixed if isinstance(mailbox, Mailbox) else True


def _kind(kind: str) -> str:
    if not (isinstance(kind, str) and kind.strip()):
        raise SettingsError(f"kind={kind!r}: expected a word for what the mail is for")
    return kind


def _within(seconds: float) -> float:
    if not (isinstance(seconds, int | float) and 0 < seconds < float("inf")):
        raise SettingsError(f"within={seconds!r}: expected seconds, more than 0")
    return seconds


def _checks(checks: int) -> int:
    if isinstance(checks, bool) or not isinstance(checks, int) or checks < 1:
        raise SettingsError(f"checks={checks!r}: expected a whole number, 1 or more")
    return checks
