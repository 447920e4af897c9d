"""The closing checklists of rows A16 and B18, answered for one run, with the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_agentmail.runs import judging
from pytest_agentmail.runs.judging import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_agentmail.runs.judging import Found
    from pytest_agentmail.runs.record import RunRecord

__all__ = ["Answer", "Checklist", "ChecklistItem", "answered"]


@dataclass(frozen=True)
class ChecklistItem:
    """One item, answered."""

    key: str
    """The row and the place in its list, such as "A16.3"."""
    claim: str
    """What is to hold."""
    answer: Answer
    evidence: str

    def __str__(self) -> str:
        return f"{self.answer.value:<9}  {self.key}  {self.claim}: {self.evidence}"


@dataclass(frozen=True)
class Checklist:
    """All items, answered for one run; `str()` tells them one per line."""

    run_id: str
    items: tuple[ChecklistItem, ...]

    def those(self, answer: Answer) -> tuple[ChecklistItem, ...]:
        """The items with that answer."""
        return tuple(item for item in self.items if item.answer is answer)

    @property
    def passed(self) -> bool:
        """Whether no item is answered with no, and at least one with yes."""
        return not self.those(Answer.NO) and bool(self.those(Answer.YES))

    def __str__(self) -> str:
        counted = ", ".join(f"{len(self.those(answer))} {answer.value}" for answer in Answer)
        return "\n".join([f"checklist of {self.run_id}: {counted}", *map(str, self.items)])


_ITEMS: tuple[tuple[str, str, Callable[[RunRecord], Found]], ...] = (
    ("A16.1", "the run has an id, and a lease that ends", judging.leased),
    ("A16.2", "the snapshot names one next action", judging.one_next_action),
    ("A16.3", "transitions are versioned and idempotent", judging.versioned),
    ("A16.4", "whose mail it is was looked at before it was accepted", judging.own_mail),
    ("A16.5", "after a restart it goes on without asking again", judging.goes_on),
    ("A16.6", "nothing of a mail's content is kept", judging.no_content),
    ("B18.1", "each signal has an id, a run, an expiry and a condition", judging.whole_signals),
    ("B18.2", "queries are idempotent, and filtered by run", judging.idempotent_queries),
    ("B18.3", "waiting, provider_error and expired are told apart", judging.distinct_answers),
    ("B18.4", "time and calls have a budget", judging.budgets),
    ("B18.5", "what is logged is the least evidence", judging.least_evidence),
    ("B18.6", "a restart goes on with the same signal", judging.same_signal),
    ("B18.7", "late mail, doubled mail and a failing provider are met", judging.hard_cases),
)


def answered(run: RunRecord) -> Checklist:
    """The checklists, item by item, for one run."""
    items = (ChecklistItem(key, claim, *judge(run)) for key, claim, judge in _ITEMS)
    return Checklist(run.run_id, tuple(items))
