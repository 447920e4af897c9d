"""One question to the provider: put, judged, settled, answered."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from pytest_agentmail.errors import EvidenceConflict, ProviderError, StaleVersion
from pytest_agentmail.mail.matching import NearMiss, nearest_first
from pytest_agentmail.mail.message import Message
from pytest_agentmail.providers.protocol import Knowing
from pytest_agentmail.signals.diagnosis import advise, next_action
from pytest_agentmail.signals.result import CheckResult
from pytest_agentmail.signals.signal import Evidence, Missed, Signal, SignalStatus
from pytest_agentmail.signals.transitions import (
    Answer,
    Failed,
    Matched,
    Nothing,
    abandon,
    settle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.mail.mailbox import Surroundings
    from pytest_agentmail.providers.protocol import MailProvider
    from pytest_agentmail.signals.backoff import Backoff
    from pytest_agentmail.signals.contract import Contract, Surveyed
    from pytest_agentmail.signals.shelf import Kept, Shelf
    from pytest_agentmail.signals.signal import Cause
    from pytest_agentmail.signals.transitions import Observation

__all__ = ["Inquiry"]

_MISSES_KEPT = 8

_NEAR = timedelta(minutes=5)
"""How long before a window mail is asked for, so that it can be named as a near miss."""


class Inquiry:
    """Puts questions that were paid for, and remembers what was answered."""

    def __init__(
        self,
        provider: MailProvider,
        shelf: Shelf,
        clock: Clock,
        backoff: Backoff,
        look_around: Callable[[], Surroundings],
    ) -> None:
        self._provider = provider
        self._shelf = shelf
        self._clock = clock
        self._backoff = backoff
        self._look_around = look_around
        self._answers: dict[str, CheckResult] = {}

    def ask(self, paid: Kept, contract: Contract) -> CheckResult:
        """Put the question that was paid for, and settle it."""
        check = paid.signal.checks - 1
        messages, failure = self._search(paid.signal)
        kept = paid
        while True:
            surveyed = self.survey(kept.signal, contract, messages)
            seen = failure or _observation(surveyed, contract, kept.signal.recipient)
            settled, answer = settle(kept.signal, check, seen, self._clock.now(), self._backoff)
            misses = nearest_first(surveyed.missed, contract.subject)
            if settled is not kept.signal:
                settled = self._explained(settled, answer, misses)
            try:
                if settled is not kept.signal:
                    self._shelf.replace(kept, settled)
            except (StaleVersion, EvidenceConflict):
                kept = self._shelf.get(kept.signal.signal_id)
                continue
            return self._answer(settled, answer, surveyed.matching, misses)

    def _search(self, signal: Signal) -> tuple[Sequence[Message], Failed | None]:
        """What the provider has; whatever goes wrong there, the answer cannot be trusted."""
        opens = signal.opens_at
        try:
            found = list(
                self._provider.search(recipient=signal.recipient, after=opens and opens - _NEAR)
            )
        except ProviderError as error:
            return (), Failed(error.code, error.retry_after)
        except Exception as error:  # noqa: BLE001  (it becomes the answer, with its name)
            return (), Failed(type(error).__name__)
        if not all(isinstance(message, Message) for message in found):
            return (), Failed("malformed_answer")
        return found, None

    def survey(self, signal: Signal, contract: Contract, messages: Sequence[Message]) -> Surveyed:
        """Judge messages by the contract, with what else is known of them."""
        provider = self._provider
        return contract.survey(
            signal,
            messages,
            foreign=provider.foreign if isinstance(provider, Knowing) else lambda _: None,
            claimed=self._shelf.claimed(by_others_than=signal.signal_id),
        )

    def end(self, kept: Kept, now: datetime, cause: Cause | None = None) -> Signal:
        """The signal without a further look: final, whatever it was."""
        if kept.signal.final:
            return kept.signal
        ended = abandon(kept.signal, now, cause=cause)
        last = self._answers.get(ended.signal_id)
        misses = last.near_misses if last is not None else ()
        explained = self._explained(ended, Answer(ended.status, final=True), misses)
        return self._shelf.replace(kept, explained).signal

    def again(self, signal: Signal) -> CheckResult:
        """The last answer; made from what is kept where another life gave it."""
        last = self._answers.get(signal.signal_id)
        if last is not None and last.signal == signal:
            return last
        failing = bool(signal.history) and signal.history[-1].code is not None
        status = SignalStatus.PROVIDER_ERROR if failing else SignalStatus.WAITING
        answer = Answer(signal.status if signal.final else status, final=signal.final)
        matching = self._fetched([*signal.also_matched, *filter(None, [signal.message_id])])
        missed = self._fetched([miss.message_id for miss in signal.missed])
        misses = [
            NearMiss(missed[miss.message_id], miss.criterion, miss.why)
            for miss in signal.missed
            if miss.message_id in missed
        ]
        return self._answer(signal, answer, list(matching.values()), misses)

    def _fetched(self, message_ids: Sequence[str]) -> dict[str, Message]:
        """Those of the messages that can be had."""
        fetched = {}
        for message_id in message_ids:
            with suppress(ProviderError, OSError):
                fetched[message_id] = self._provider.fetch(message_id)
        return fetched

    def _explained(self, signal: Signal, answer: Answer, misses: Sequence[NearMiss]) -> Signal:
        """The signal with what is to be said of its end, so that every life says the same."""
        if not answer.final:
            return signal
        kept = tuple(
            Missed(message_id=miss.message.id, criterion=miss.criterion, why=miss.why)
            for miss in misses[:_MISSES_KEPT]
        )
        advice = advise(signal, answer, misses, self._look_around())
        return signal.model_copy(update={"advice": advice, "missed": kept})

    def _answer(
        self,
        signal: Signal,
        answer: Answer,
        matching: Sequence[Message],
        misses: Sequence[NearMiss],
    ) -> CheckResult:
        found = [message for message in matching if message.id == signal.message_id]
        result = self._answers[signal.signal_id] = CheckResult(
            status=answer.status,
            final=answer.final,
            signal=signal,
            message=found[0] if found else None,
            also_matched=tuple(m for m in matching if m.id in signal.also_matched),
            next_action=next_action(signal, answer),
            retry_at=signal.retry_at,
            cause=signal.cause,
            advice=signal.advice or advise(signal, answer, misses, self._look_around()),
            near_misses=tuple(misses),
            discarded=sum(miss.criterion == "other run" for miss in misses),
        )
        return result


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
