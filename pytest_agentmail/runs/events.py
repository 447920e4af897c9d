"""The events of a run: each says one thing that happened, and nothing of what a mail said."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AwareDatetime,
    BaseModel,
    Field,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
    ValidationError,
    model_validator,
)

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.runs.masking import Identifier, Name, ShortText

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = [
    "Event",
    "EventType",
    "Facts",
    "PendingEffect",
    "Spending",
    "Standing",
    "new_event",
]


class EventType(StrEnum):
    """Everything that can happen to a run."""

    MAILBOX_LEASED = "mailbox_leased"
    VERIFICATION_REQUESTED = "verification_requested"
    WAIT_STARTED = "wait_started"
    MESSAGE_RECEIVED = "message_received"
    CODE_REJECTED = "code_rejected"
    RESEND_REQUESTED = "resend_requested"
    CODE_VERIFIED = "code_verified"
    LEASE_EXPIRED = "lease_expired"
    DECISION_CONFIRMED = "decision_confirmed"


class Facts(BaseModel, frozen=True, extra="forbid"):
    """What an event says. Each type has fields of its own; others are refused."""


ProviderNames = Annotated[dict[Name, ShortText], Field(max_length=16)]


class MailboxLeased(Facts):
    """A lease exists."""

    recipient: Identifier
    lease_expires_at: AwareDatetime
    provider: ProviderNames = Field(default_factory=dict)
    """The provider's own words, for diagnosis; nothing is ever decided by them (A4)."""


class VerificationRequested(Facts):
    """The app accepted the request; no mail need exist."""

    provider: ProviderNames = Field(default_factory=dict)


class WaitStarted(Facts):
    """A signal exists."""

    signal_id: Identifier


class MessageReceived(Facts):
    """A message matches run, recipient and kind. What is kept of it finds it again (A3)."""

    message_id: Identifier
    signal_id: Identifier | None = None
    header_message_id: Identifier | None = None
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    received_at: AwareDatetime | None = None


class CodeRejected(Facts):
    """The app refused the code; the message it came from is spent."""

    reason: ShortText = ""


class ResendRequested(Facts):
    """A new mail was asked for."""

    reason: ShortText = ""


class CodeVerified(Facts):
    """The app accepted the code."""


class LeaseExpired(Facts):
    """The absolute time passed, or the checks are used up."""

    cause: Name = "deadline"
    signal_id: Identifier | None = None


Scalar = (
    StrictBool
    | StrictInt
    | StrictFloat
    | Annotated[str, StringConstraints(strict=True, max_length=200)]
    | None
)
Values = Annotated[dict[Name, Scalar], Field(max_length=64)]


class DecisionConfirmed(Facts):
    """A decision or a parameter that changes behaviour; never text of the conversation (A13)."""

    prompt_version: Name | None = None
    parameters: Values = Field(default_factory=dict)
    decisions: Values = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_something(self) -> DecisionConfirmed:
        if self.prompt_version is None and not self.parameters and not self.decisions:
            raise ValueError("needs one of prompt_version, parameters, decisions")
        return self


FACTS: Mapping[EventType, type[Facts]] = MappingProxyType(
    {
        EventType.MAILBOX_LEASED: MailboxLeased,
        EventType.VERIFICATION_REQUESTED: VerificationRequested,
        EventType.WAIT_STARTED: WaitStarted,
        EventType.MESSAGE_RECEIVED: MessageReceived,
        EventType.CODE_REJECTED: CodeRejected,
        EventType.RESEND_REQUESTED: ResendRequested,
        EventType.CODE_VERIFIED: CodeVerified,
        EventType.LEASE_EXPIRED: LeaseExpired,
        EventType.DECISION_CONFIRMED: DecisionConfirmed,
    }
)


class Spending(BaseModel, frozen=True, extra="forbid"):
    """What the checks of a run have come to, over all its lives."""

    checks: Annotated[int, Field(ge=0)] = 0
    """Checks reserved so far, settled or not: a dead life's check stays spent."""
    limit: Annotated[int, Field(ge=0)] | None = None
    """The most checks this run may make; `None` where nobody set a limit."""
    answered: bool = False
    """A final answer stands that the ledger has not recorded; asking again costs nothing."""

    @property
    def left(self) -> int | None:
        """Checks left, never below 0; `None` without a limit."""
        return None if self.limit is None else max(0, self.limit - self.checks)


class PendingEffect(BaseModel, frozen=True, extra="forbid"):
    """An effect that was begun and not settled: it may have happened."""

    name: Name
    step: str
    unknown: bool = False
    """A probe was asked and could not tell."""


class Standing(BaseModel, frozen=True, extra="forbid"):
    """How a run stands besides its events: checks and effects are rows of their own."""

    spending: Spending = Spending()
    pending: tuple[PendingEffect, ...] = ()


class Event(BaseModel, frozen=True, extra="forbid"):
    """One thing that happened to a run, at one version."""

    run_id: Identifier
    version: Annotated[int, Field(ge=1)]
    type: EventType
    at: AwareDatetime
    life: Annotated[int, Field(ge=0)]
    data: dict[str, JsonValue] = Field(default_factory=dict)
    why: ShortText = ""
    standing: Standing = Standing()
    """How the run stood when this was written, so that a replay sees what the writer saw."""

    @property
    def facts(self) -> Facts:
        """`data`, in the form that belongs to the type."""
        return FACTS[self.type].model_validate(self.data)


def new_event(  # noqa: PLR0913 - an event has that many parts
    type: str,
    data: Mapping[str, Any],
    *,
    run_id: str,
    version: int,
    at: datetime,
    life: int,
    why: str = "",
    standing: Standing | None = None,
) -> Event:
    """An event with facts that are allowed for its type.

    Raises:
        SettingsError: For an unknown type or field, or a value that is not allowed.
    """
    known = _known(type)
    try:
        facts = FACTS[known].model_validate(dict(data))
        return Event(
            run_id=run_id,
            version=version,
            type=known,
            at=at,
            life=life,
            data=facts.model_dump(mode="json", exclude_unset=True),
            why=why,
            standing=standing or Standing(),
        )
    except ValidationError as error:
        raise SettingsError(_explained(known, error)) from error


def _known(type: str) -> EventType:
    try:
        return EventType(type)
    except ValueError:
        raise SettingsError(
            f"there is no event {type!r}; allowed: {', '.join(sorted(EventType))}"
        ) from None


def _explained(type: EventType, error: ValidationError) -> str:
    """The first thing that is wrong, by name, with the value and what is allowed."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        allowed = ", ".join(FACTS[type].model_fields) or "none"
        return f"{type} has no field {field!r}; allowed: {allowed}"
    if first["type"] == "missing":
        return f"{type} needs {field!r}"
    shown = repr(first["input"])
    if len(shown) > 60:  # noqa: PLR2004 - enough to know the value by, never a whole body
        shown = f"{shown[:50]}… ({len(shown)} characters)"
    return f"{type}: {field or 'the event'} cannot be {shown}: {first['msg']}"
