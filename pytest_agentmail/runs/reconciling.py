"""Whether an effect happened: what a probe can answer, and how the mail itself answers it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from pytest_agentmail.runs.effects import EffectState
from pytest_agentmail.runs.masking import one_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from pytest_agentmail.runs.effects import EffectKey, EffectRecord

    Probe = Callable[[EffectKey], "Happened"]
    AsyncProbe = Callable[[EffectKey], Awaitable["Happened"]]

__all__ = [
    "AcceptedMail",
    "Happened",
    "MailAcceptanceLog",
    "MailProbe",
    "Refusal",
    "RewindReport",
    "described",
    "rewound",
]


@dataclass(frozen=True)
class Happened:
    """A probe's answer: `Happened.yes(result)`, `Happened.no` or `Happened.unknown`."""

    answer: Literal["yes", "no", "unknown"]
    result: Any = None
    """What the effect would have returned; with `yes` only."""
    why: str = ""

    no: ClassVar[Happened]
    unknown: ClassVar[Happened]

    @classmethod
    def yes(cls, result: Any = None, why: str = "") -> Happened:
        """It happened, and this is what it returned."""
        return cls("yes", result, why)

    def __str__(self) -> str:
        return f"{self.answer} ({self.why})" if self.why else self.answer


Happened.no = Happened("no")
Happened.unknown = Happened("unknown")


class AcceptedMail(Protocol):
    """One mail that was accepted for a run, whatever became of it afterwards."""

    @property
    def content(self) -> str:
        """What makes it the same mail: a digest of its content without trace headers."""
        ...

    @property
    def accepted_at(self) -> datetime:
        """When it was accepted (aware)."""
        ...


class Refusal(Protocol):
    """One transaction that was refused."""

    @property
    def code(self) -> int:
        """The SMTP reply code."""
        ...

    @property
    def at(self) -> datetime:
        """When (aware)."""
        ...


class MailAcceptanceLog(Protocol):
    """What a mail server saw of one run: the truth about sends, outside the agent's own store."""

    def accepted(self, run_id: str, criteria: Mapping[str, Any]) -> Sequence[AcceptedMail]:
        """What was accepted for the run and meets `criteria`, in order of acceptance."""
        ...

    def open_connections(self, run_id: str) -> int:
        """How many connections may still bring mail for the run."""
        ...

    def refusals(self, run_id: str) -> Sequence[Refusal]:
        """What was refused for the run."""
        ...


@dataclass(frozen=True)
class MailProbe:
    """Asks the mail server's log whether an effect sent its mail.

    | the log shows | answer |
    |---|---|
    | a mail that no other effect accounts for | yes |
    | an open connection, or a 4xx reply since the effect was begun | unknown |
    | nothing | unknown, or no with `absent_means_no` |

    `yes` carries no result: the mail shows that it was sent, not what the function returned.
    """

    log: MailAcceptanceLog
    criteria: Mapping[str, Any]
    absent_means_no: bool = False

    def ask(self, key: EffectKey, effects: Sequence[EffectRecord]) -> Happened:
        """The answer for one effect, given a list of all effects of its run."""
        own = [e for e in effects if (e.name, e.step) == key[1:]]
        kind = described(self.criteria)
        accounted = [
            e
            for e in effects
            if e not in own and e.sends_mail == kind and e.state is EffectState.SUCCESS
        ]
        if len(distinct(self.log.accepted(key.run_id, self.criteria))) > len(accounted):
            return Happened.yes(why="the mail was accepted")
        return self._without_mail(key, [e.begun_at for e in own])

    def _without_mail(self, key: EffectKey, begun: Sequence[datetime]) -> Happened:
        if self.log.open_connections(key.run_id):
            return Happened("unknown", why="a connection that may bring the mail is open")
        for refusal in self.log.refusals(key.run_id):
            temporary = 400 <= refusal.code < 500  # noqa: PLR2004 - RFC 5321 section 4.2.1
            if temporary and all(refusal.at >= at for at in begun):
                return Happened(
                    "unknown", why=f"the mail was put off with {refusal.code} and may come again"
                )
        if self.absent_means_no:
            return Happened("no", why="no such mail was accepted")
        return Happened("unknown", why="no such mail was accepted yet")


def distinct(mails: Iterable[AcceptedMail]) -> set[str]:
    """The contents of `mails`; the same content counts once."""
    return {mail.content for mail in mails}


@dataclass(frozen=True)
class RewindReport:
    """What the ledger meant to send, beside what the mail server accepted.

    Fewer intents than sends mean that the ledger lost something it had promised to keep: a file
    was restored, cut or removed. Nothing may be sent before that is reconciled.
    """

    run_id: str
    intents: int
    """Effects that send mail, pending or successful."""
    sends: int
    """Distinct mails accepted for the run."""

    @property
    def rewound(self) -> bool:
        """Whether the ledger knows of fewer sends than there were."""
        return self.intents < self.sends

    def __str__(self) -> str:
        if not self.rewound:
            return (
                f"run {self.run_id!r}: {self.sends} mails were accepted, and the ledger knows of "
                f"{self.intents} that were meant to be sent"
            )
        return (
            f"the ledger of run {self.run_id!r} was set back: the mail server accepted "
            f"{self.sends} of its mails, the ledger knows of {self.intents}; "
            f"effects it does not know are reconciled before anything is sent"
        )


def described(criteria: Mapping[str, Any]) -> str:
    """`criteria` in words that are the same in every process."""
    return one_line(
        ", ".join(f"{key}={_named(criteria[key])}" for key in sorted(criteria)) or "any"
    )


def _named(criterion: Any) -> str:
    if isinstance(criterion, re.Pattern):
        return f"/{criterion.pattern}/"
    return getattr(criterion, "__qualname__", None) or str(criterion)


def rewound(
    run_id: str, effects: Iterable[EffectRecord], mails: Iterable[AcceptedMail], kind: str
) -> RewindReport:
    """Compare what the ledger says was sent with what was, for the mail described by `kind`."""
    known = (EffectState.PENDING, EffectState.SUCCESS)
    intents = sum(1 for effect in effects if effect.sends_mail == kind and effect.state in known)
    return RewindReport(run_id, intents, len(distinct(mails)))
