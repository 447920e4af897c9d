"""Say why a wait on a mailbox failed: nearest miss first, each with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentmail.errors import NoMatchingMail, UnexpectedMail
from pytest_agentmail.mail.masking import masked
from pytest_agentmail.mail.matching import nearest_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from pytest_agentmail.mail.mailbox import Mailbox, Surroundings
    from pytest_agentmail.mail.matching import Criteria
    from pytest_agentmail.mail.message import Message

__all__ = ["nothing_matched", "something_arrived", "summary"]

_LISTED = 8


def nothing_matched(
    mailbox: Mailbox,
    wanted: Criteria,
    timeout: float,
    handed_out: Collection[str],
    around: Surroundings,
) -> NoMatchingMail:
    """The failure of a wait that ended without a message."""
    arrived = mailbox.messages
    missed = nearest_first(map(wanted.failures, arrived), wanted.subject)
    used = [m for m in reversed(arrived) if m.id in handed_out and wanted.met_by(m)]
    since = mailbox.leased_at
    lines = [
        *(f"{summary(miss.message, since)}: {miss.why}" for miss in missed),
        *(f"{summary(message, since)}: an earlier wait handed it out" for message in used),
        *(
            f"{summary(message, since)}: sent to {', '.join(message.envelope_to)}, which nobody has"
            for message in reversed(around.strays)
        ),
    ]
    return NoMatchingMail(
        "\n".join(
            [
                f"no mail that counts came to {mailbox.address} within {timeout:g} s",
                f"expected: {wanted}",
                *_listed(lines),
                *(f"happened: {event}" for event in around.happened),
                *(f"hint: {hint}" for hint in around.hints),
                f"next: {_next_step(missed=bool(missed), used=bool(used), around=around)}",
            ]
        )
    )


def something_arrived(mailbox: Mailbox, wanted: Criteria, message: Message) -> UnexpectedMail:
    """The failure of an `expect_none`."""
    return UnexpectedMail(
        f"mail came to {mailbox.address} that must not\n"
        f"unwanted: {wanted}\n"
        f"  - {summary(message, mailbox.leased_at)}\n"
        f"next: take it with mailbox.wait() first if it may come, or find out who sent it"
    )


def summary(message: Message, since: datetime) -> str:
    """One message on one line: when it came, what it is called, who sent it."""
    after = (message.visible_at - since).total_seconds()
    subject = masked(message.subject) or "(no subject)"
    sender = message.sender or message.envelope_from or "(no sender)"
    return f"+{max(0.0, after):.3f} s {message.name} {subject!r} from {sender}"


def _listed(lines: list[str]) -> Iterator[str]:
    if not lines:
        yield "arrived: nothing"
        return
    yield f"arrived: {len(lines)}, nearest miss first"
    yield from (f"  - {line}" for line in lines[:_LISTED])
    if len(lines) > _LISTED:
        yield f"  - and {len(lines) - _LISTED} more"


def _next_step(*, missed: bool, used: bool, around: Surroundings) -> str:
    if missed:
        return "compare the criteria with the nearest mail above"
    if used:
        return "make the app send again before waiting again, or read mailbox.messages"
    if around.happened:
        return "see whether the app sends again after what happened, and wait long enough for it"
    if around.strays:
        return "compare the address the app sent to with mailbox.address"
    return "make sure that the app sends through smtp_sink.host and smtp_sink.port"
