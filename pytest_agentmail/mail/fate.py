"""What becomes of the mail of one run after the sink accepted it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from pytest_agentmail import world
from pytest_agentmail.scenarios.plan import Plan
from pytest_agentmail.world import MailFault

if TYPE_CHECKING:
    from pytest_agentmail.world import Adversary

__all__ = ["UNDISTURBED", "Fate", "MailFaults"]


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one accepted mail; undisturbed unless said otherwise."""

    delays: tuple[float, ...] = (0.0,)
    """For each copy, after how many seconds it can be found."""
    held: bool = False
    """Whether it can be found only after the next mail."""
    lost: bool = False
    """Whether it never can be found."""
    misled: bool = False
    """Whether it goes to somebody else."""
    rewritten: tuple[Adversary, ...] = ()
    """How it was rewritten."""


UNDISTURBED = Fate()
"""What becomes of mail where nothing is planned."""


class MailFaults(Plan[MailFault]):
    """The mail faults of one run; counts the run's mail, from its first, and notes what struck."""

    def __init__(self) -> None:
        super().__init__()
        self._seen = 0

    def next_fate(self) -> Fate:
        """The fate of the mail that was accepted now."""
        self._seen += 1
        struck = self.strike_all(lambda planned: planned.fault.strikes(self._seen))
        return reduce(_changed, struck, UNDISTURBED)

    def notes(self) -> list[str]:
        """What struck, a sentence each."""
        return self.told(_note)


def _note(fault: MailFault, count: int) -> str:
    return f"the world did {fault!r} to {count} mail{'s' if count > 1 else ''} of this run"


def _changed(fate: Fate, fault: MailFault) -> Fate:
    match fault:
        case world.MailDropped():
            return replace(fate, lost=True)
        case world.MailReordered():
            return replace(fate, held=True)
        case world.MailMisdelivered():
            return replace(fate, misled=True)
        case world.MailAdversarial(kind):
            return replace(fate, rewritten=(*fate.rewritten, kind))
        case world.MailDelayed(seconds):
            return replace(fate, delays=tuple(delay + seconds for delay in fate.delays))
        case world.MailDuplicated(copies, apart):
            later = (fate.delays[-1] + number * apart for number in range(1, copies))
            return replace(fate, delays=(*fate.delays, *later))
    raise AssertionError(fault)  # pragma: no cover  (every fault of mail is above)
