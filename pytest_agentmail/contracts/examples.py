"""The runs, events, effects and signals that the contract of a store is tried with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentmail.stores.protocol import (
    EffectRow,
    EventRow,
    SignalRecord,
    SignalStore,
    Store,
    Write,
)

if TYPE_CHECKING:
    from pytest_agentmail.runs.ledger import Ledger

RUN = "run-1"
AT = "2026-01-01T00:00:00+00:00"


def an_event(version: int) -> EventRow:
    """An event."""
    return EventRow(version, f'{{"n": {version}}}')


def a_snapshot(version: int) -> str:
    """The snapshot after that version."""
    return f'{{"version": {version}}}'


def an_append(life: int, expected: int) -> Write:
    """One more event, from one who expects that version."""
    version = expected + 1
    return Write(life, AT, expected, (an_event(version),), a_snapshot(version))


def an_effect(name: str = "send") -> EffectRow:
    """An effect that was begun."""
    return EffectRow(name, "0", 1, "pending", "{}")


def a_signal(signal_id: str) -> SignalRecord:
    """A new signal."""
    return SignalRecord(RUN, signal_id, f"identity of {signal_id}", 1, None, "{}")


def signals_of(store: Store) -> SignalStore:
    """The store as one of signals; skips the clause if it keeps none."""
    if not isinstance(store, SignalStore):
        pytest.skip("the store keeps no signals")
    return store


def begun(store: Store, *, events: int) -> int:
    """Begin the run, with that many events; gives its life."""
    life = store.take_over(RUN)
    for version in range(events):
        store.commit(RUN, an_append(life, version))
    return life


def sign_up(ledger: Ledger) -> list[object]:
    """A run from its lease to its end, over all events."""
    later = datetime.now(UTC) + timedelta(hours=1)
    steps: list[tuple[str, dict[str, Any]]] = [
        ("mailbox_leased", {"recipient": "a@mail.test", "lease_expires_at": later}),
        ("decision_confirmed", {"decisions": {"plan": "free"}}),
        ("verification_requested", {}),
        ("wait_started", {"signal_id": "s1"}),
        ("message_received", {"message_id": "m-1"}),
        ("code_rejected", {}),
        ("resend_requested", {}),
        ("wait_started", {"signal_id": "s2"}),
        ("lease_expired", {}),
        ("mailbox_leased", {"recipient": "b@mail.test", "lease_expires_at": later}),
        ("verification_requested", {}),
        ("message_received", {"message_id": "m-2"}),
        ("code_verified", {}),
    ]
    return [ledger.append(event, **data) for event, data in steps]
