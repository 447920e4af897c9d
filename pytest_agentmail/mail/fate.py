"""What becomes of the mail of one run after the sink accepted it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_agentmail import world

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_agentmail.world import Adversary, MailFault

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


class MailFaults:
    """The mail faults of one run; counts the run's mail and notes what struck."""

    def __init__(self) -> None:
        self._faults: list[MailFault] = []
        self._seen = 0
        self._struck: Counter[int] = Counter()

    def add(self, faults: Iterable[MailFault]) -> None:
        """Let these happen too; mail is counted from the run's first."""
        self._faults += faults

    def next_fate(self) -> Fate:
        """The fate of the mail that was accepted now."""
        self._seen += 1
        fate = UNDISTURBED
        for index, fault in enumerate(self._faults):
            if fault.strikes(self._seen):
                self._struck[index] += 1
                fate = _changed(fate, fault)
        return fate

    def notes(self) -> list[str]:
        """What struck, a sentence each."""
        return [
            f"the world did {fault!r} to {count} mail{'s' if count > 1 else ''} of this run"
            for fault, count in ((self._faults[i], n) for i, n in sorted(self._struck.items()))
        ]

    def pending(self) -> list[MailFault]:
        """The faults that never struck."""
        return [fault for i, fault in enumerate(self._faults) if not self._struck[i]]


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
