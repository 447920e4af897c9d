"""What a store promises about signals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_agentmail.contracts.examples import RUN, a_signal, signals_of
from pytest_agentmail.errors import EvidenceConflict, StaleVersion

if TYPE_CHECKING:
    from pytest_agentmail.stores.protocol import Store

__all__ = ["SignalClauses"]


class SignalClauses:
    """For stores that keep signals; others skip them."""

    def test_a_signal_is_added_once(self, store: Store) -> None:
        """The same identity again gives the signal that is kept, first budget and all."""
        signals = signals_of(store)
        first = a_signal("s1")
        assert signals.add(first) == first
        again = replace(first, signal_id="s2", body='"other"')
        assert signals.add(again) == first
        signals.add(a_signal("s0"))
        assert [record.signal_id for record in signals.signals(RUN)] == ["s1", "s0"]
        assert signals.signals("run-2") == ()

    def test_a_signal_is_replaced_by_its_next_revision(self, store: Store) -> None:
        """Of two that saw the same revision one replaces it, the other is refused."""
        signals = signals_of(store)
        kept = signals.add(a_signal("s1"))
        changed = replace(kept, body='"changed"')
        placed = signals.replace(changed, expected=1)
        assert placed == replace(changed, revision=2)
        with pytest.raises(StaleVersion):
            signals.replace(changed, expected=1)
        with pytest.raises(StaleVersion):
            signals.replace(a_signal("unknown"), expected=1)
        assert signals.signals(RUN) == (placed,)

    def test_a_message_serves_one_signal(self, store: Store) -> None:
        """What one signal claims, no other signal of the run can claim; another run's can."""
        signals = signals_of(store)
        first, second = signals.add(a_signal("s1")), signals.add(a_signal("s2"))
        elsewhere = signals.add(replace(a_signal("s1"), run_id="run-2"))
        signals.replace(replace(first, claim="m-1"), expected=1)
        with pytest.raises(EvidenceConflict, match=r"m-1.*s1"):
            signals.replace(replace(second, claim="m-1"), expected=1)
        signals.replace(replace(elsewhere, claim="m-1"), expected=1)
        assert [record.claim for record in signals.signals(RUN)] == ["m-1", None]
