"""The answer to one question about a signal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from pytest_agentmail.mail.matching import NearMiss
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.signals.signal import Cause, Evidence, Signal, SignalStatus

__all__ = ["CheckResult"]


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What is known of a signal after one bounded question."""

    status: SignalStatus
    """`waiting`, `found`, `expired` or `provider_error`."""
    final: bool
    """Whether this is the last word; then asking again costs nothing and changes nothing."""
    signal: Signal
    """The signal as it is now."""
    message: Message | None = None
    """The message found, from the provider; it is never kept with the signal."""
    also_matched: tuple[Message, ...] = ()
    """Other messages that would have counted; the newest of all is the evidence."""
    next_action: str
    """The one thing to do now."""
    retry_at: datetime | None = None
    """When to ask again (UTC)."""
    cause: Cause | None = None
    """What used up the budget: `deadline` or `checks`."""
    advice: str
    """What to do next, for a person or a model."""
    near_misses: tuple[NearMiss, ...] = ()
    """Messages that did not count, nearest first, each with the one criterion that failed."""
    discarded: int = 0
    """How many of them belong to another run."""

    @property
    def evidence(self) -> Evidence | None:
        """What is kept of the message found."""
        return self.signal.evidence

    @property
    def checks_left(self) -> int:
        """How many more questions may be asked."""
        return self.signal.checks_left
