"""How each item of the checklists is told from the record of a run."""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_agentmail.runs.events import EventType
from pytest_agentmail.signals.signal import Outcome, SignalStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydantic import BaseModel

    from pytest_agentmail.runs.record import RunRecord

__all__ = ["Answer", "Found"]


class Answer(StrEnum):
    """What the evidence says to one item."""

    YES = "yes"
    NO = "no"
    NOT_SHOWN = "not shown"
    """The run did nothing by which it could be told."""


class Found(NamedTuple):
    """What is found of one item."""

    answer: Answer
    evidence: str


def _yes(evidence: str) -> Found:
    return Found(Answer.YES, evidence)


def _not_shown(evidence: str) -> Found:
    return Found(Answer.NOT_SHOWN, evidence)


def _no_if(faults: Iterable[str], otherwise: str) -> Found:
    """No where there are faults, each told once, else yes."""
    listed = "; ".join(dict.fromkeys(faults))
    return Found(Answer.NO, listed) if listed else _yes(otherwise)


NO_LEDGER = "no ledger was kept; use run.ledger"
NO_SIGNAL = "no signal was expected; use run.signals"
NOT_RESUMED = "the run had one life; let it be killed and go on"


# What the state snapshot is asked (A16).


def leased(run: RunRecord) -> Found:
    """A run id, and a lease with an end."""
    if run.snapshot is None:
        return _not_shown(NO_LEDGER)
    until = run.snapshot.lease_expires_at
    if until is None:
        return Found(Answer.NO, "no mailbox was leased")
    return _yes(f"the lease of {run.run_id} ends at {until:%Y-%m-%d %H:%M:%SZ}")


def one_next_action(run: RunRecord) -> Found:
    """One next action."""
    if run.snapshot is None:
        return _not_shown(NO_LEDGER)
    return _yes(f"at version {run.snapshot.version} it is {run.snapshot.next_action.value}")


def versioned(run: RunRecord) -> Found:
    """Versions without a gap, a replay that agrees, nothing confirmed twice."""
    if not run.events:
        return _not_shown(NO_LEDGER)
    versions = [event.version for event in run.events]
    last = len(versions)
    confirmed = Counter(
        event.data["message_id"] for event in run.events if event.type is EventType.MESSAGE_RECEIVED
    )

    def faults() -> Iterator[str]:
        if versions != list(range(1, last + 1)):
            yield f"the versions are {', '.join(map(str, versions))}"
        if run.replayed != run.snapshot:
            yield "replaying the events does not give the snapshot"
        for message_id, times in confirmed.items():
            if times > 1:
                yield f"message {_name(run, str(message_id))} was confirmed {times} times"

    return _no_if(
        faults(),
        f"versions 1 to {last} without a gap, and replaying them gives the snapshot; "
        f"{_some(run.stale_refusals, 'stale write')} refused",
    )


def own_mail(run: RunRecord) -> Found:
    """Every accepted message is a message of this run."""
    if not run.accepted:
        return _not_shown("no message was accepted")
    mails = {mail.message_id: mail for mail in run.mails}

    def faults() -> Iterator[str]:
        for message_id in run.accepted:
            if message_id not in mails:
                yield f"message {_name(run, message_id)} came to no mailbox of this run"
            elif mails[message_id].foreign:
                yield f"message {mails[message_id].name}: {mails[message_id].foreign}"

    names = ", ".join(_name(run, message_id) for message_id in run.accepted)
    return _no_if(faults(), f"{names}, and nothing else, came to this run and was accepted")


def goes_on(run: RunRecord) -> Found:
    """No more requests, and no more mails, than were due."""
    if not run.resumes:
        return _not_shown(NOT_RESUMED)
    asked = run.count(EventType.VERIFICATION_REQUESTED, EventType.RESEND_REQUESTED)
    sent = len(_answers_to_signals(run))
    if not asked and not sent:
        return _not_shown("no mail was asked for")
    mailboxes = max(1, run.count(EventType.MAILBOX_LEASED))
    rejected = run.count(EventType.CODE_REJECTED)
    due = mailboxes + rejected
    told = (
        f"{_some(run.resumes, 'resume')}: {_some(asked, 'request')} recorded and "
        f"{_some(sent, 'mail')} sent, where {due} were due "
        f"({_some(mailboxes, 'mailbox', 'mailboxes')}, {_some(rejected, 'refused code')})"
    )
    return _no_if([told] if max(asked, sent) > due else [], told)


def no_content(run: RunRecord) -> Found:
    """No text of a mail in anything that is kept."""
    kept: list[tuple[str, BaseModel]] = []
    kept += [(f"event {event.version}", event.facts) for event in run.events]
    kept += [(f"signal {signal.kind}", signal) for signal in run.signals]
    kept += [("the snapshot", run.snapshot)] if run.snapshot is not None else []
    return _nothing_of_mail(run, kept, "events, snapshot and signals")


# What the signal queue is asked (B18).


def whole_signals(run: RunRecord) -> Found:
    """Signals with a condition."""
    if not run.signals:
        return _not_shown(NO_SIGNAL)
    return _no_if(
        (
            f"{signal.kind} takes any mail; expect a subject"
            for signal in run.signals
            if not signal.expected_subject
        ),
        "; ".join(
            f"{signal.kind} is {signal.signal_id}, until {signal.expires_at:%H:%M:%SZ}"
            for signal in run.signals
        ),
    )


def idempotent_queries(run: RunRecord) -> Found:
    """No query after an answer, no mail of others, no mail for two."""
    asked = sum(signal.checks for signal in run.signals)
    if not asked:
        return _not_shown("nothing was asked")
    claims = Counter(signal.claim for signal in run.signals if signal.claim)

    def faults() -> Iterator[str]:
        for signal in run.signals:
            outcomes = [query.outcome for query in signal.history]
            if Outcome.FOUND in outcomes[:-1]:
                yield f"{signal.kind} was asked for again after it was found"
            if signal.evidence and signal.evidence.recipient != signal.recipient:
                yield f"{signal.kind} took mail of another mailbox"
        if any(times > 1 for times in claims.values()):
            yield "one mail serves two signals"

    others = sum(1 for mail in run.mails if mail.foreign)
    return _no_if(
        faults(),
        f"{_some(asked, 'query', 'queries')}, none after its answer, no mail for two signals; "
        f"{_some(others, 'message')} of other runs left out",
    )


def distinct_answers(run: RunRecord) -> Found:
    """Each status for its own reason."""
    if not run.signals:
        return _not_shown(NO_SIGNAL)

    def faults() -> Iterator[str]:
        for signal in run.signals:
            last = signal.history[-1].outcome if signal.history else None
            if (signal.status is SignalStatus.FOUND) != (signal.evidence is not None):
                yield f"{signal.kind} is {signal.status.value} and its evidence says otherwise"
            if signal.status is SignalStatus.EXPIRED and last is Outcome.ERROR:
                yield f"{signal.kind} is expired though its last query failed"
            if signal.status is SignalStatus.PROVIDER_ERROR and not signal.last_error:
                yield f"{signal.kind} is provider_error though no query failed"

    return _no_if(faults(), "; ".join(f"{s.kind} is {s.status.value}" for s in run.signals))


def budgets(run: RunRecord) -> Found:
    """No more queries than were allowed."""
    if not run.signals:
        return _not_shown(NO_SIGNAL)
    return _no_if(
        (
            f"{signal.kind} was asked for {signal.checks} times, {signal.max_checks} were allowed"
            for signal in run.signals
            if signal.checks > signal.max_checks
        ),
        "; ".join(
            f"{signal.kind} used {signal.checks} of {_some(signal.max_checks, 'check')} within "
            f"{(signal.expires_at - signal.created_at).total_seconds():g} s"
            for signal in run.signals
        ),
    )


def least_evidence(run: RunRecord) -> Found:
    """No text of a mail in signals."""
    kept: list[tuple[str, BaseModel]] = [(f"signal {s.kind}", s) for s in run.signals]
    return _nothing_of_mail(run, kept, "signals")


def same_signal(run: RunRecord) -> Found:
    """No second signal for the same mail."""
    if not run.signals:
        return _not_shown(NO_SIGNAL)
    if not run.resumes:
        return _not_shown(NOT_RESUMED)
    due = 1 + run.count(EventType.CODE_REJECTED)
    made = Counter((signal.kind, signal.recipient) for signal in run.signals)
    return _no_if(
        (
            f"{kind} was expected as {times} signals in one mailbox, where {due} were due"
            for (kind, _), times in made.items()
            if times > due
        ),
        f"{_some(run.resumes, 'resume')}, and no signal beside the first for any kind of mail "
        f"but one for each refused code",
    )


def hard_cases(run: RunRecord) -> Found:
    """Late, doubled, failing."""
    if not run.signals:
        return _not_shown(NO_SIGNAL)
    copies = Counter(mail.fingerprint for mail in run.mails)
    queries = [query.outcome for signal in run.signals for query in signal.history]
    late = any(s.evidence and s.history[0].outcome is not Outcome.FOUND for s in run.signals)
    met = {
        "late mail": late,
        "doubled mail": any(times > 1 for times in copies.values()),
        "a provider that fails": Outcome.ERROR in queries,
    }
    missing = [case for case, was_met in met.items() if not was_met]
    if missing:
        return _not_shown(f"this run did not meet {', '.join(missing)}")
    return _yes(f"this run met {', '.join(met)}")


# What they share.


def _answers_to_signals(run: RunRecord) -> set[str]:
    """The contents of the mails that a signal took or would have taken."""
    matching = {m for s in run.signals for m in (s.message_id, *s.also_matched) if m}
    return {mail.fingerprint for mail in run.mails if mail.message_id in matching}


def _nothing_of_mail(run: RunRecord, kept: Sequence[tuple[str, BaseModel]], where: str) -> Found:
    if not run.mails:
        return _not_shown("no mail came")
    texts = [(place, text) for place, model in kept for text in _texts(model.model_dump())]
    return _no_if(
        (
            f"{place} holds {what} of {mail.name}"
            for mail in run.mails
            for secret, what in mail.secrets.items()
            for place, text in texts
            if _holds(text, secret)
        ),
        f"no code, link or line of {_some(len(run.mails), 'mail')} is in {where}",
    )


def _texts(value: Any) -> Iterator[str]:
    """Every text inside; moments and numbers are none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _holds(text: str, secret: str) -> bool:
    """Whether it is there as a word: a short code is part of many a hash."""
    return secret in text and bool(re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", text))


def _name(run: RunRecord, message_id: str) -> str:
    """How texts call a message of the run: "m1"."""
    return message_id.removesuffix(f".{run.run_id}")


def _some(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"
