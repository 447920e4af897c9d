"""A queue over the small world, and one over a provider that gives answers one by one."""

from __future__ import annotations

import pytest

from pytest_agentmail.providers.scripted import ScriptedProvider
from pytest_agentmail.providers.sink import SinkProvider
from pytest_agentmail.signals.queue import SignalQueue
from pytest_agentmail.stores.memory import MemoryStore


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def mailbox(world):
    return world.lease()


@pytest.fixture
def queue(world, clock, store, mailbox):
    provider = SinkProvider(world.post_office, "run-one")
    return SignalQueue(provider, store, clock, run_id="run-one", mailbox=mailbox)


@pytest.fixture
def asking(clock, store, mailbox):
    """Makes a queue whose provider gives these answers."""

    def make(*answers, **kwargs):
        return SignalQueue(
            ScriptedProvider(*answers), store, clock, run_id="run-one", mailbox=mailbox, **kwargs
        )

    return make
