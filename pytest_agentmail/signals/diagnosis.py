"""What to do next, in one sentence that can be acted on (B16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentmail.mail.masking import masked
from pytest_agentmail.signals.signal import SignalStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_agentmail.mail.mailbox import Surroundings
    from pytest_agentmail.mail.matching import NearMiss
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.signals.signal import Signal
    from pytest_agentmail.signals.transitions import Answer

__all__ = ["advise", "next_action"]


def next_action(signal: Signal, answer: Answer) -> str:
    """The one thing to do after that answer (A6, B13)."""
    match answer:
        case (SignalStatus.FOUND, _):
            return "validate_evidence"
        case (SignalStatus.WAITING | SignalStatus.PROVIDER_ERROR, False):
            return "poll_inbox"
        case (SignalStatus.EXPIRED, _) if signal.checks_left:
            return "lease_new_mailbox"
        case _:
            return "finish"


def advise(
    signal: Signal,
    answer: Answer,
    misses: Sequence[NearMiss],
    around: Surroundings,
) -> str:
    """What to do next and why.

    Args:
        signal: As it is now.
        answer: What is being answered.
        misses: What did not count, nearest first.
        around: What was seen outside the mailbox.
    """
    match answer:
        case (SignalStatus.FOUND, _):
            return f"Validate message {signal.message_id} at the app, then confirm it."
        case (SignalStatus.WAITING, _):
            return f"Nothing that counts yet: ask again at {_time(signal)}, {_left(signal)}."
        case (SignalStatus.PROVIDER_ERROR, False):
            return (
                f"The provider failed with {signal.last_error}, so nothing is known of the mail: "
                f"ask again at {_time(signal)}, {_left(signal)}; do not have it sent again."
            )
        case (SignalStatus.PROVIDER_ERROR, _):
            return (
                f"The provider failed with {signal.last_error} since {_failing_since(signal)} and "
                f"the budget is used up: whether the mail came is unknown. Have the provider "
                f"mended, then start a new signal; do not have the mail sent again before."
            )
        case _:
            return " ".join([_used_up(signal), *_why_nothing(misses, around)])


def _why_nothing(misses: Sequence[NearMiss], around: Surroundings) -> Iterator[str]:
    if misses:
        yield _about(misses[0])
    if around.happened:
        yield (
            f"Something was done to this run's mail: {'; '.join(around.happened)}. See whether the "
            f"app sends again after that, then request a new verification."
        )
    if around.strays and not misses:
        yield _strayed(around.strays)
    if not (misses or around.happened or around.strays):
        yield _NOTHING
    yield from (f"{hint}." for hint in around.hints)


def _strayed(strays: Sequence[Message]) -> str:
    latest = strays[-1]
    return (
        f"{len(strays)} mail{'s' if len(strays) > 1 else ''} came for addresses that nobody has, "
        f"the latest, {masked(latest.subject)!r}, for {', '.join(latest.envelope_to)}: see which "
        f"address the app was given."
    )


_NOTHING = (
    "No mail came to the address at all: see whether the app took the request and which "
    "address and mail server it sent to, then request a new verification with a new mailbox."
)

_REMEDIES = {
    "wrong subject": "If that is the mail, expect its subject; if not, the app sent another one.",
    "other run": "See why the app sent it here, and request this run's own verification.",
    "before the window": "It answers an earlier request: request a new verification.",
    "after the window": "The app is slower than the signal waits: allow more time with `within`.",
    "other recipient": "See why the provider gave mail of another address.",
    "already used": "Request a new verification: one mail serves one signal.",
}


def _about(miss: NearMiss) -> str:
    subject = masked(miss.message.subject)
    return f"Nearest was {miss.message.name} {subject!r}: {miss.why}. {_REMEDIES[miss.criterion]}"


def _used_up(signal: Signal) -> str:
    if signal.cause == "checks":
        count = signal.max_checks
        used = "the only check is" if count == 1 else f"all {count} checks are"
        return f"Expired: {used} used up."
    seconds = (signal.expires_at - signal.created_at).total_seconds()
    if signal.ended_at is not None and signal.ended_at < signal.expires_at:
        return (
            f"Expired: {seconds:g} s have passed, but time stood still at "
            f"{signal.ended_at.isoformat()}: something froze it, so no moment in between came."
        )
    return f"Expired: {seconds:g} s have passed."


def _left(signal: Signal) -> str:
    count = signal.checks_left
    return f"{count} check{'' if count == 1 else 's'} left until {signal.expires_at.isoformat()}"


def _time(signal: Signal) -> str:
    return (signal.retry_at or signal.expires_at).isoformat()


def _failing_since(signal: Signal) -> str:
    since = signal.history[-1].at
    for query in reversed(signal.history):
        if query.code is None:
            break
        since = query.at
    return since.isoformat()
