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
    from datetime import datetime

    from pytest_agentmail.signals.contract import Contract
    from pytest_agentmail.signals.window import NewerThan, Since

__all__ = ["Expectation"]


class Expectation(NamedTuple):
    """What is said when a mail is expected, complete."""

    kind: str
    contract: Contract
    within: float
    checks: int
    mailbox: Mailbox | str | None
    since: Since
    newer_than: NewerThan

    def signal(self, run_id: str, now: datetime) -> Signal:
        """The signal for it, as it is at first.

        Raises:
            SettingsError: Something that was said is not allowed; the text says what is.
        """
        kind, recipient = _kind(self.kind), _address(self.mailbox)
        older = Opening.newer_than(self.newer_than)
        default = "now" if _used_before(self.mailbox) else None
        opening = older & Opening.since(self.since or default, now)
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
