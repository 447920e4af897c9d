"""Make a new signal out of what is expected, or say what is wrong with it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.mail.address import canonical
from pytest_agentmail.mail.mailbox import Mailbox
from pytest_agentmail.signals.signal import Signal, signal_id
from pytest_agentmail.signals.window import Opening

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pytest_agentmail.signals.contract import Contract
    from pytest_agentmail.signals.window import NewerThan, Since

__all__ = ["Expectation"]


_A_CENTURY = 100 * 365 * 86400.0


class Expectation(NamedTuple):
    """What is said when a mail is expected, complete."""

    kind: str
    contract: Contract
    within: float
    checks: int
    mailbox: Mailbox | str | None
    since: Since
    newer_than: NewerThan

    def signal(
        self,
        run_id: str,
        now: datetime,
        *,
        exclusive: Callable[[str], bool],
        requested_at: datetime | None,
    ) -> Signal:
        """The signal for it, as it is at first.

        Args:
            run_id: Whose it is.
            now: When it is expected.
            exclusive: Tells whether an address was made for this run alone.
            requested_at: When the run asked for a mail last.

        Raises:
            SettingsError: Something that was said is not allowed; the text says what is.
        """
        kind, recipient = _kind(self.kind), _address(self.mailbox)
        older = Opening.newer_than(self.newer_than)
        default = None if exclusive(recipient) else "now"
        opening = older & Opening.since(self.since or default, now)
        if older.token:
            opening &= _resent(self.newer_than, requested_at)
        return Signal(
            signal_id=signal_id(run_id, kind, recipient, older.token),
            run_id=run_id,
            kind=kind,
            recipient=recipient,
            expected_subject=self.contract.expected,
            criteria=self.contract.wording,
            created_at=now,
            expires_at=now + timedelta(seconds=_within(self.within)),
            opens_at=opening.at,
            after_seq=opening.seq,
            spent_content=opening.content,
            max_checks=_checks(self.checks),
        )


def _address(mailbox: Mailbox | str | None) -> str:
    if mailbox is None:
        raise SettingsError("no mailbox: pass mailbox= to the queue or to expect()")
    address = mailbox.address if isinstance(mailbox, Mailbox) else mailbox
    try:
        canonical(address)
    except ValueError as error:
        raise SettingsError(f"mailbox={address!r}: {error}") from error
    return address


def _resent(older: NewerThan, requested_at: datetime | None) -> Opening:
    """A resend opens its window when it was asked for, if it was since the older mail."""
    match older:
        case Signal():
            seen = older.ended_at
        case None:
            seen = None
        case _:
            seen = older.visible_at
    if requested_at is None or seen is None or requested_at <= seen:
        return Opening()
    return Opening(at=requested_at)


def _kind(kind: str) -> str:
    if not (isinstance(kind, str) and kind.strip()):
        raise SettingsError(f"kind={kind!r}: expected a word for what the mail is for")
    return kind


def _within(seconds: float) -> float:
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not (number and 0 < seconds < _A_CENTURY):
        raise SettingsError(f"within={seconds!r}: expected seconds, more than 0")
    return seconds


def _checks(checks: int) -> int:
    if isinstance(checks, bool) or not isinstance(checks, int) or checks < 1:
        raise SettingsError(f"checks={checks!r}: expected a whole number, 1 or more")
    return checks
