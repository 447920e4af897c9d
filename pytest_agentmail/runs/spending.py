"""What the checks of a run have come to: a sum over its signals, which outlive every life."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentmail.runs.events import Spending
from pytest_agentmail.runs.failing import fail_closed
from pytest_agentmail.signals.signal import Signal
from pytest_agentmail.stores.protocol import SignalStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_agentmail.runs.snapshot import Snapshot

__all__ = ["spending_in", "spent_on"]


def spending_in(store: object) -> Callable[[Snapshot], Spending]:
    """What gives the spending of a run whose signals are kept in `store`, if it keeps any."""
    if not isinstance(store, SignalStore):
        return lambda _: Spending()

    def read(written: Snapshot) -> Spending:
        records = store.signals(written.run_id)
        with fail_closed(written.run_id):
            signals = [Signal.model_validate_json(record.body) for record in records]
        return spent_on(signals, written)

    return read


def spent_on(signals: Sequence[Signal], written: Snapshot) -> Spending:
    """The checks of all `signals`, oldest first; the latest one says how many are left."""
    if not signals:
        return Spending()
    checks = sum(signal.checks for signal in signals)
    latest = signals[-1]
    return Spending(
        checks=checks,
        limit=checks + latest.checks_left,
        answered=latest.final and latest.message_id not in written.spent,
    )
