"""Two lives, one signal: optimistic concurrency lets one of them win and loses nothing (A8)."""

from __future__ import annotations

import threading

import pytest

from pytest_agentmail.signals.queue import SignalQueue
from pytest_agentmail.stores.memory import MemoryStore

ADA = "ada@agentmail.example"


class Interrupted(MemoryStore):
    """Lets something else happen right before each planned replacement."""

    def __init__(self):
        super().__init__()
        self.before = []

    def replace(self, record, *, expected):
        if self.before:
            self.before.pop(0)()
        return super().replace(record, expected=expected)


@pytest.fixture
def store():
    return Interrupted()


@pytest.fixture
def rival(queue, store, clock, mailbox):
    return SignalQueue(queue.provider, store, clock, run_id="run-one", mailbox=mailbox)


def test_a_check_that_another_life_paid_first_is_paid_once_more(queue, rival, store):
    signal = queue.expect("verification")
    store.before = [lambda: rival.check(rival.expect("verification"))]
    result = queue.check(signal)
    assert result.signal.checks == 2
    assert [query.outcome for query in result.signal.history] == ["checked", "checked"]


def test_an_answer_that_comes_second_is_kept_beside_the_first(queue, rival, store):
    signal = queue.expect("verification")
    store.before = [lambda: None, lambda: rival.check(rival.expect("verification"))]
    result = queue.check(signal)
    assert [query.outcome for query in result.signal.history] == ["checked", "checked"]


def test_both_lives_take_the_same_evidence(world, queue, rival, store):
    """I1: the second message came between the two; the first to settle decides."""
    signal = queue.expect("verification")
    first = world.deliver(ADA)

    def overtake():
        world.deliver(ADA, body="Code: 975310")
        rival.check(rival.expect("verification"))

    store.before = [lambda: None, overtake]
    result = queue.check(signal)
    assert result.evidence == rival.check(signal).evidence
    assert result.message is None or result.message.id != first.id


def test_a_mail_that_another_signal_took_meanwhile_is_passed_over(world, queue, rival, store):
    """I1."""
    signal = queue.expect("verification")
    world.deliver(ADA)
    store.before = [lambda: None, lambda: rival.check(rival.expect("password_reset"))]
    result = queue.check(signal)
    assert (result.status, result.near_misses[0].criterion) == ("waiting", "already used")


def test_closing_gives_way_to_an_answer_that_was_faster(world, queue, rival, store):
    signal = queue.expect("verification")
    queue.check(signal)
    world.deliver(ADA)
    store.before = [lambda: rival.check(rival.expect("verification"))]
    assert queue._close(signal).status == "found"


def test_threads_of_one_life_ask_one_after_the_other(queue):
    signal = queue.expect("verification", checks=40)
    threads = [threading.Thread(target=queue.check, args=(signal,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert queue.get(signal.signal_id).checks == 20
