"""What a run is judged by: its mail, its signals and its ledger, read from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentmail.runs.record import MailSeen, RunRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.runs.metrics import Metrics
    from pytest_agentmail.runs.reader import RunReader
    from pytest_agentmail.signals.signal import Signal

__all__ = ["measured", "recorded", "seen"]

_A_LINE = 20
"""Characters from which a line of a mail is nobody else's."""


def seen(message: Message, foreign: str | None) -> MailSeen:
    """A message as the checklist sees it.

    Args:
        message: In a mailbox of the run.
        foreign: Why it is another run's.
    """
    return MailSeen(
        message.name,
        message.id,
        foreign,
        message.content.fingerprint,
        {secret: what for what, secret in _secrets(message)},
    )


def measured(reader: RunReader, signals: Sequence[Signal], mails: Sequence[MailSeen]) -> Metrics:
    """The figures of row A11."""
    queries = [query for signal in signals for query in signal.history]
    return reader.metrics(queries, discarded=sum(1 for mail in mails if mail.foreign))


def recorded(
    run_id: str,
    reader: RunReader | None,
    signals: Sequence[Signal],
    mails: Sequence[MailSeen],
    lives: int,
) -> RunRecord:
    """What the checklist is answered from.

    Args:
        run_id: The run.
        reader: Reads its ledger; None where none is kept.
        signals: Its signals, oldest first.
        mails: What is in its mailboxes.
        lives: How often it was driven.
    """
    figures = measured(reader, signals, mails) if reader else None
    return RunRecord(
        run_id=run_id,
        snapshot=reader.snapshot if reader else None,
        replayed=reader.replay() if reader else None,
        events=(*reader.archived_events(), *reader.events()) if reader else (),
        signals=signals,
        mails=mails,
        stale_refusals=figures.stale_refusals if figures else 0,
        resumes=max(lives - 1, figures.resumes if figures else 0),
    )


def _secrets(message: Message) -> Iterator[tuple[str, str]]:
    for line in message.visible_text.splitlines():
        if len(line.strip()) >= _A_LINE:
            yield "a line", line.strip()
    yield from (("a link", link) for link in message.links)
    yield from (("a code", code) for code in message.codes)
