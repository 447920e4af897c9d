"""A queue over the small world, and one over a provider that gives answers one by one."""

from __future__ import annotations

import pytest

from pytest_agentmail.errors import ProviderError
from pytest_agentmail.providers.sink import SinkProvider
from pytest_agentmail.signals.queue import SignalQueue
from pytest_agentmail.stores.memory import MemoryStore


class Answers:
    """Gives the next answer at each search: messages, or an error to raise."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def search(self, **query):
        self.asked.append(query)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def fetch(self, message_id):
        for answer in self.answers:
            for message in [] if isinstance(answer, Exception) else answer:
                if message.id == message_id:
                    return message
        raise ProviderError("not_found")


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
            Answers(*answers), store, clock, run_id="run-one", mailbox=mailbox, **kwargs
        )

    return make
