"""What the answer to a check stands for in the ledger, and whether a message may be evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pytest_agentmail.errors import EvidenceConflict
from pytest_agentmail.runs.events import EventType
from pytest_agentmail.runs.snapshot import Verification

if TYPE_CHECKING:
    from pytest_agentmail.runs.snapshot import Snapshot

__all__ = ["CheckOutcome", "Stated", "is_accepted", "stands_for"]

TOLD_OF_EVIDENCE = ("sha256", "header_message_id", "received_at")


class CheckOutcome(Protocol):
    """What the ledger reads of the answer to a check of a signal."""

    @property
    def status(self) -> str:
        """`waiting`, `found`, `expired` or `provider_error`."""
        ...

    @property
    def final(self) -> bool:
        """Whether this answer stands."""
        ...

    @property
    def signal(self) -> Any:
        """The signal, with `signal_id` and `recipient`."""
        ...

    @property
    def evidence(self) -> Any:
        """What is kept of the mail that was found, with `message_id`; else `None`."""
        ...


class Stated(NamedTuple):
    """An event, before it is appended."""

    type: EventType
    data: dict[str, Any]


def stands_for(snapshot: Snapshot, result: CheckOutcome) -> Stated | None:
    """The event that `result` stands for; `None` where the ledger has it already."""
    if result.status == "found":
        return _found(snapshot, result)
    if result.signal.recipient != snapshot.recipient:
        return None  # of an earlier mailbox
    if result.final:
        return _ended(snapshot, result)
    if snapshot.verification is Verification.REQUESTED:
        return Stated(EventType.WAIT_STARTED, {"signal_id": result.signal.signal_id})
    return None


def is_accepted(snapshot: Snapshot, message_id: str) -> bool:
    """Whether a message is the evidence already.

    Raises:
        EvidenceConflict: If it cannot become the evidence any more.
    """
    if message_id in snapshot.spent:
        raise EvidenceConflict(
            f"message {message_id!r} is spent: the app refused its code; wait for another message"
        )
    if snapshot.accepted_message_id not in {None, message_id}:
        raise EvidenceConflict(
            f"run {snapshot.run_id!r} has evidence already, message "
            f"{snapshot.accepted_message_id!r}; {message_id!r} cannot take its place"
        )
    return snapshot.accepted_message_id is not None


def _found(snapshot: Snapshot, result: CheckOutcome) -> Stated | None:
    evidence = result.evidence
    if evidence.message_id in snapshot.spent:
        return None
    told = {name: getattr(evidence, name, None) for name in TOLD_OF_EVIDENCE}
    known = {name: value for name, value in told.items() if value is not None}
    who = {"message_id": evidence.message_id, "signal_id": result.signal.signal_id}
    return Stated(EventType.MESSAGE_RECEIVED, {**who, **known})


def _ended(snapshot: Snapshot, result: CheckOutcome) -> Stated | None:
    signal_id = result.signal.signal_id
    if snapshot.verification is Verification.EXPIRED:
        return None
    if snapshot.signal_id not in {None, signal_id}:
        return None  # the run waits for another signal by now
    # A provider's failure is kept as one, never as a deadline.
    cause = str(getattr(result, "cause", None) or "deadline")
    if result.status != "expired":
        cause = str(result.status)
    return Stated(EventType.LEASE_EXPIRED, {"cause": cause, "signal_id": signal_id})
