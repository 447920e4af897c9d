"""The planner: what to do next, and when to stop. It decides, and does nothing."""

from collections.abc import Callable, Sequence

from pytest_agentmail import Ledger
from pytest_agentmail.runs.snapshot import Action

CODES = 2
"""As many codes are tried before the run is given up."""


def the_first(allowed: Sequence[Action]) -> Action:
    """What needs no model: the snapshot's `next_action`."""
    return allowed[0]


def plan(ledger: Ledger, choose: Callable[[Sequence[Action]], Action] = the_first) -> Action:
    """The next action. `choose` may be a model: it picks from what is allowed, and no more."""
    if len(ledger.snapshot.spent) >= CODES:
        return Action.FINISH
    allowed = ledger.allowed_actions()
    chosen = choose(allowed)
    if chosen not in allowed:
        raise ValueError(f"{chosen!r} was chosen, and only {', '.join(allowed)} is allowed")
    return chosen
