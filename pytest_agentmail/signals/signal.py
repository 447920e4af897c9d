"""A signal: one expected mail, and all that is known of it."""

from __future__ import annotations

import hashlib
import string
from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import AwareDatetime, BaseModel, NonNegativeInt, PositiveInt

from pytest_agentmail.mail.address import canonical

__all__ = [
    "Cause",
    "Evidence",
    "Missed",
    "Outcome",
    "Query",
    "Reason",
    "Signal",
    "SignalStatus",
    "claim_of",
    "signal_id",
]


class SignalStatus(StrEnum):
    """The four answers to "is the mail there?" (B4)."""

    WAITING = "waiting"
    """No evidence yet."""
    FOUND = "found"
    """There is evidence."""
    EXPIRED = "expired"
    """The budget is used up and nothing was there."""
    PROVIDER_ERROR = "provider_error"
    """The question was not answered, so nothing is known."""


class Outcome(StrEnum):
    """What one query recorded; exactly one of these (B8)."""

    RESERVED = "reserved"
    """Paid for, and not answered: it runs, or its life died."""
    FOUND = "found"
    CHECKED = "checked"
    ERROR = "error"


Reason: TypeAlias = Literal["first_check", "scheduled", "after_wakeup", "error_recovery"]
"""Why a query was made (B11)."""

Cause: TypeAlias = Literal["deadline", "checks"]
"""Which half of the budget was used up first."""


class _Record(BaseModel, frozen=True, extra="forbid"):
    """Kept for good, and never changed in place."""


class Evidence(_Record):
    """What is kept of an accepted message; never its body (A3, B10)."""

    message_id: str
    """The message's `id`, with which it can be fetched again."""
    header_message_id: str | None
    """Its Message-ID header; for diagnosis, since senders repeat them."""
    sha256: str
    """Of its raw bytes."""
    fingerprint: str
    """SHA-256 without trace headers: equal for copies of one mail."""
    seq: int
    """Its place in the order of acceptance."""
    recipient: str
    received_at: AwareDatetime
    visible_at: AwareDatetime
    matched: str
    """The criterion it met."""

    @property
    def claim(self) -> str:
        """What a signal claims with it: this content in this mailbox, however often it comes."""
        return claim_of(self.recipient, self.fingerprint)


class Missed(_Record):
    """What is kept of a near miss."""

    message_id: str
    criterion: str
    why: str


class Query(_Record):
    """One question put to the provider (B10)."""

    at: AwareDatetime
    reason: Reason
    outcome: Outcome = Outcome.RESERVED
    matches: NonNegativeInt = 0
    code: str | None = None
    """The provider's short error code, uninterpreted (A4)."""


class Signal(_Record):
    """One expected mail: identity, contract, window, budget, and what came of it."""

    signal_id: str
    run_id: str
    kind: str
    recipient: str
    expected_subject: str
    """The text the subject must contain, or the pattern, or the name of the function asked."""
    criteria: str
    """What a message must be, in words; equal for equal contracts."""
    status: SignalStatus = SignalStatus.WAITING
    """As far as it is decided: `waiting` until it is final."""
    created_at: AwareDatetime
    expires_at: AwareDatetime
    """The last moment at which a message may become visible and count."""
    opens_at: AwareDatetime | None = None
    """The moment before which a message does not count; None where nothing older can be there."""
    after_seq: int = 0
    """The place in the order of acceptance up to which a message does not count."""
    spent_content: tuple[str, ...] = ()
    """Fingerprints of mail that must not count again."""
    max_checks: PositiveInt
    history: tuple[Query, ...] = ()
    evidence: Evidence | None = None
    also_matched: tuple[str, ...] = ()
    """Ids of the other messages that would have counted."""
    cause: Cause | None = None
    retry_at: AwareDatetime | None = None
    """When to ask again."""
    resting_until: AwareDatetime | None = None
    """Until when the provider asked not to be called (Retry-After)."""
    ended_at: AwareDatetime | None = None
    """When it was decided."""
    advice: str = ""
    """What to do next, once it is decided; the same in every life."""
    missed: tuple[Missed, ...] = ()
    """What did not count when it was decided, nearest first."""

    @property
    def final(self) -> bool:
        """Whether it is decided for good."""
        return self.status is not SignalStatus.WAITING

    @property
    def checks(self) -> int:
        """The queries paid for, over all lives."""
        return len(self.history)

    @property
    def checks_left(self) -> int:
        """The queries that may still be made."""
        return max(0, self.max_checks - self.checks)

    @property
    def message_id(self) -> str | None:
        """The id of the message that is its evidence."""
        return None if self.evidence is None else self.evidence.message_id

    @property
    def claim(self) -> str | None:
        """The content it claims for itself within its run."""
        return None if self.evidence is None else self.evidence.claim

    @property
    def last_error(self) -> str | None:
        """The code of the latest query that failed."""
        return next((query.code for query in reversed(self.history) if query.code), None)


def claim_of(recipient: str, fingerprint: str) -> str:
    """The claim on this content in the mailbox of `recipient`, however that is spelled."""
    return f"{canonical(recipient)} {fingerprint}"


def signal_id(run_id: str, kind: str, recipient: str, newer_than: str) -> str:
    """The id that this identity always has, however the recipient is spelled."""
    identity = f"{run_id}\n{kind}\n{canonical(recipient)}\n{newer_than}"
    digest = hashlib.sha256(identity.encode()).digest()
    return "sig-" + "".join(string.ascii_lowercase[byte % 26] for byte in digest[:16])
