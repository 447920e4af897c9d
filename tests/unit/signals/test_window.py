"""Where a window opens."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.signals.window import Opening

ADA = "ada@agentmail.example"


def test_nothing_given_opens_everything(clock):
    assert Opening.since(None, clock.now()) == Opening.newer_than(None) == Opening()


def test_now_and_a_moment(clock):
    earlier = clock.now() - timedelta(days=1)
    assert Opening.since("now", clock.now()) == Opening(at=clock.now())
    assert Opening.since(earlier, clock.now()) == Opening(at=earlier)


def test_a_message_is_a_place_in_the_order(world, mailbox, clock):
    message = world.deliver(ADA)
    assert Opening.since(message, clock.now()) == Opening(seq=message.seq)
    assert Opening.newer_than(message) == Opening(
        seq=message.seq, content=(message.content.fingerprint,), token=message.id
    )


def test_evidence_a_signal_that_found_it_and_its_message_are_the_same(world, queue):
    message = world.deliver(ADA)
    result = queue.check(queue.expect("verification"))
    assert (
        Opening.newer_than(result.evidence)
        == Opening.newer_than(result.signal)
        == Opening.newer_than(message)
    )


def test_a_signal_that_found_nothing_ends_where_the_next_begins(queue, clock):
    signal = queue.expect("verification", within=10)
    clock.sleep(10)
    ended = queue.check(signal).signal
    assert Opening.newer_than(ended) == Opening(at=signal.expires_at, token=signal.signal_id)


def test_an_open_signal_is_refused(queue):
    with pytest.raises(SettingsError, match="expected evidence, a message, or a signal that has"):
        Opening.newer_than(queue.expect("verification"))


@pytest.mark.parametrize("since", ["then", 12, datetime(2026, 1, 1)])
def test_other_things_are_refused(clock, since):
    text = f"since={since!r}: expected an aware datetime, a message, or the word 'now'"
    with pytest.raises(SettingsError, match=re.escape(text)):
        Opening.since(since, clock.now())


def test_both_is_the_later_in_every_respect(clock):
    one = Opening(at=clock.now(), seq=3, content=("a",), token="x")
    two = Opening(at=clock.now() + timedelta(seconds=1), seq=2)
    assert one & two == Opening(at=two.at, seq=3, content=("a",), token="x")
    assert Opening() & Opening() == Opening()
