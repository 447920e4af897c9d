"""Everything `pytest_agentmail` raises.

```
Exception
├── AgentMailError                 a wrong use, a conflict, or a breakdown outside
│   ├── SettingsError              an option, ini value or argument is not allowed
│   ├── MarkerError                a marker has arguments that are not allowed
│   ├── LeaseExpired               a mailbox was used after its lease ended
│   ├── LifeSuperseded             another life of this run took over
│   ├── StaleVersion               the record is not at the version the writer expected
│   ├── IllegalTransition          this event cannot follow this state
│   ├── EvidenceConflict           that step or that message is already spoken for
│   ├── ContractConflict           the same signal was expected with other criteria
│   ├── EffectConflict             the same effect was asked for with other arguments
│   ├── EffectUnknown              nobody can tell whether an effect happened
│   ├── BudgetExceeded             more calls than were allowed
│   ├── AmbiguousMail              several codes or links are equally good
│   ├── ProviderError              a mail provider's answer cannot be trusted
│   ├── SinkError                  the SMTP sink cannot be started or reached
│   ├── StoreCorrupt               stored state cannot be read
│   ├── StoreUnavailable           the store cannot be reached
│   └── ClockError                 time cannot do what was asked of it
└── AssertionError
    └── AgentFailure               the agent under test did not do what it should
        ├── NoMatchingMail         nothing that was waited for arrived
        ├── UnexpectedMail         something arrived that must not
        ├── Resent                 the effect was performed more than once
        ├── EvidenceReused         a signal has two pieces of evidence, or a message serves two
        ├── OverBudget             a step was called more often than allowed
        └── NotFinished            the agent did not end within its lives
BaseException
└── AgentKilled                    the simulated death of an in-process life
Warning
└── AgentMailWarning
    └── LateMail                   mail arrived after the test it was for
```

Every error survives `pickle`, so that it can cross from one process to another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AgentFailure",
    "AgentKilled",
    "AgentMailError",
    "AgentMailWarning",
    "AmbiguousMail",
    "BudgetExceeded",
    "ClockError",
    "ContractConflict",
    "EffectConflict",
    "EffectUnknown",
    "EvidenceConflict",
    "EvidenceReused",
    "IllegalTransition",
    "LateMail",
    "LeaseExpired",
    "LifeSuperseded",
    "MarkerError",
    "NoMatchingMail",
    "NotFinished",
    "OverBudget",
    "ProviderError",
    "Resent",
    "SettingsError",
    "SinkError",
    "StaleVersion",
    "StoreCorrupt",
    "StoreUnavailable",
    "UnexpectedMail",
]


class AgentMailError(Exception):
    """The base of every error that is not a failure of the agent under test."""


class SettingsError(AgentMailError, ValueError):
    """An option, ini value or argument is not allowed; the text names it and what is."""


class MarkerError(AgentMailError, ValueError):
    """A marker was given arguments that are not allowed; the text names them and what is."""


class LeaseExpired(AgentMailError):
    """A mailbox was used after its lease ended; lease another one."""


class LifeSuperseded(AgentMailError):
    """Another life of this run took over; this one may not write any more."""


class StaleVersion(AgentMailError):
    """The record is at version `actual`, not at the `expected` one; nothing was written."""

    def __init__(self, expected: int, actual: int) -> None:
        super().__init__(expected, actual)
        self.expected = expected
        self.actual = actual

    def __str__(self) -> str:
        return (
            f"expected version {self.expected}, but the current one is {self.actual}; "
            f"read the state again and decide anew"
        )


class IllegalTransition(AgentMailError):
    """`event` cannot happen in `state`; `allowed` lists the events that can."""

    def __init__(self, state: str, event: str, allowed: Iterable[str] = ()) -> None:
        self.state = state
        self.event = event
        self.allowed: tuple[str, ...] = tuple(sorted(allowed))
        super().__init__(state, event, self.allowed)

    def __str__(self) -> str:
        possible = ", ".join(self.allowed) or "nothing more"
        return f"{self.event!r} cannot happen in state {self.state!r}; allowed: {possible}"


class EvidenceConflict(AgentMailError):
    """That step has other evidence already, or that message already serves another one."""


class ContractConflict(AgentMailError):
    """The same signal was expected again with other criteria."""


class EffectConflict(AgentMailError):
    """The same effect was asked for with other arguments; the text names both fingerprints."""


class EffectUnknown(AgentMailError):
    """Nobody can tell whether an effect happened, so it is not performed again.

    Wait for what it would have caused, until the lease ends; then the run expires, which is an
    honest end.
    """


class BudgetExceeded(AgentMailError):
    """A step was asked for more often than its budget allows."""


class AmbiguousMail(AgentMailError):
    """Several `candidates` for `what` ("code", "link") are equally good."""

    def __init__(self, what: str, candidates: Iterable[str]) -> None:
        self.what = what
        self.candidates: tuple[str, ...] = tuple(candidates)
        super().__init__(what, self.candidates)

    def __str__(self) -> str:
        listed = ", ".join(repr(candidate) for candidate in self.candidates)
        return (
            f"the mail holds {len(self.candidates)} equally good {self.what}s: {listed}; "
            f"`message.{self.what}s` gives them all, best first"
        )


class ProviderError(AgentMailError):
    """A mail provider failed, so nothing can be said about the mail.

    Args:
        code: The short error code, such as "503" or "timeout"; kept, never interpreted.
        retry_after: Seconds before which the provider asks not to be called again.
        detail: The provider's own words, kept for diagnosis.
    """

    def __init__(self, code: str, retry_after: float | None = None, detail: str = "") -> None:
        super().__init__(code, retry_after, detail)
        self.code = code
        self.retry_after = retry_after
        self.detail = detail

    def __str__(self) -> str:
        parts = [f"the mail provider failed with {self.code}"]
        if self.retry_after is not None:
            parts.append(f"asks to wait {self.retry_after:g} s")
        if self.detail:
            parts.append(f"says {self.detail!r}")
        return ", ".join(parts)


class SinkError(AgentMailError):
    """The SMTP sink cannot be started; the text names the host and port."""


class StoreCorrupt(AgentMailError):
    """Stored state cannot be read; it is never taken for a first run."""


class StoreUnavailable(AgentMailError):
    """The store cannot be reached; the text says whether something may have been written."""


class ClockError(AgentMailError):
    """Time cannot do what was asked: it would go backwards, or nothing would ever happen."""


class AgentFailure(AssertionError):
    """The base of every failure of the agent under test."""


class NoMatchingMail(AgentFailure):
    """Nothing that was waited for arrived; the text lists what did, nearest miss first."""


class UnexpectedMail(AgentFailure):
    """Mail arrived that must not."""


class Resent(AgentFailure):
    """The effect was performed more than once (effect exactly-once)."""


class EvidenceReused(AgentFailure):
    """A signal has two pieces of evidence, or a message serves two (consume-once)."""


class OverBudget(AgentFailure):
    """A step was called more often than its budget allows, over all lives."""


class NotFinished(AgentFailure):
    """The agent did not end within its lives."""


class AgentKilled(BaseException):
    """The simulated death of an in-process life; `except Exception` does not catch it."""


class AgentMailWarning(UserWarning):
    """The base of our warnings."""


class LateMail(AgentMailWarning):
    """Mail arrived after the test it was for had ended."""
