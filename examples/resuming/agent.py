"""The agent: planner, executor and store, put together. It holds no state of its own."""

from collections.abc import Callable

from pytest_agentmail import CheckResult, Ledger, Snapshot
from pytest_agentmail.runs.snapshot import Action

from .executor import Executor, Fact
from .planner import plan


def work(
    ledger: Ledger,
    executor: Executor,
    next_action: Callable[[Ledger], Action] = plan,
    tell: Callable[[str], object] = lambda _: None,
) -> Snapshot:
    """Go on from wherever the ledger stands, until there is nothing more to do."""
    while (action := next_action(ledger)) is not Action.FINISH:
        tell(action)
        version = ledger.version
        match executor.do(action):
            case CheckResult() as answer:
                ledger.record(answer)
            case Fact(event, data):
                ledger.append(event, version, **data)
    return ledger.snapshot
