"""The snapshot: the least a resumed agent must know, as small JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, Field

from pytest_agentmail.runs.events import EventType, PendingEffect, Values
from pytest_agentmail.runs.masking import Identifier, Name

__all__ = ["Action", "Budget", "Context", "MailboxState", "Snapshot", "Verification"]


class Verification(StrEnum):
    """How far a run has come."""

    NONE = "none"
    LEASED = "leased"
    REQUESTED = "requested"
    WAITING = "waiting"
    RECEIVED = "received"
    VERIFIED = "verified"
    EXPIRED = "expired"


class MailboxState(StrEnum):
    """What became of the run's mailbox; its address is the snapshot's `recipient`."""

    NONE = "none"
    LEASED = "leased"
    EXPIRED = "expired"


class Action(StrEnum):
    """Everything a planner can ask for."""

    LEASE_NEW_MAILBOX = "lease_new_mailbox"
    REQUEST_VERIFICATION = "request_verification"
    RECONCILE = "reconcile"
    START_WAITING = "start_waiting"
    POLL_INBOX = "poll_inbox"
    VALIDATE_EVIDENCE = "validate_evidence"
    FINISH = "finish"


class Budget(BaseModel, frozen=True, extra="forbid"):
    """What the run has used, over all its lives; a restart gives nothing of it back (C4)."""

    checks: int = 0
    checks_limit: int | None = None
    answered: bool = False
    """A final answer stands that the ledger has not recorded; one more look costs nothing."""
    mailboxes: int = 0
    requests: int = 0


class Context(BaseModel, frozen=True, extra="forbid"):
    """What an agent must remember: no prompt, no conversation (A13)."""

    prompt_version: Name | None = None
    parameters: Values = Field(default_factory=dict)
    decisions: Values = Field(default_factory=dict)


class Snapshot(BaseModel, frozen=True, extra="forbid"):
    """Where a run stands, after `version` events; `model_dump_json()` is row A2's JSON."""

    run_id: Identifier
    mailbox: MailboxState = MailboxState.NONE
    recipient: Identifier | None = None
    verification: Verification = Verification.NONE
    attempt: int = 0
    """Checks made so far, over all lives."""
    attempts_left: int | None = None
    """Checks left; `None` where nobody set a limit."""
    last_action: EventType | None = None
    """The last event that moved the run."""
    next_action: Action = Action.LEASE_NEW_MAILBOX
    lease_expires_at: AwareDatetime | None = None
    signal_id: Identifier | None = None
    accepted_message_id: Identifier | None = None
    spent: tuple[Identifier, ...] = ()
    """Messages whose code the app refused; none of them is evidence again."""
    pending_effects: tuple[PendingEffect, ...] = ()
    version: Annotated[int, Field(ge=0)] = 0
    budget: Budget = Budget()
    context: Context = Context()

    @property
    def step(self) -> int:
        """The step an effect belongs to when none is named.

        It moves on when the app refuses a code and when the run gets a further mailbox: only
        then may the same effect be performed once more.
        """
        return len(self.spent) + max(0, self.budget.mailboxes - 1)
