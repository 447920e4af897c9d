"""The provider over the sink's mail: this run's mailboxes and no others (B5, B7)."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from pytest_agentmail.errors import ProviderError
from pytest_agentmail.providers.protocol import Knowing, WakingProvider
from pytest_agentmail.providers.sink import SinkProvider

ADA = "ada@agentmail.example"


@pytest.fixture
def provider(world):
    world.lease()
    return SinkProvider(world.post_office, "run-one")


def test_it_tells_of_arrivals_and_of_foreign_mail(provider):
    assert isinstance(provider, WakingProvider)
    assert isinstance(provider, Knowing)


def test_search_is_by_recipient_subject_and_time(world, clock, provider):
    first = world.deliver(ADA)
    clock.sleep(1)
    second = world.deliver("ada+tag@agentmail.example", subject="Welcome")
    assert provider.search(recipient=ADA) == [first, second]
    assert provider.search(recipient=ADA, subject="welcome") == [second]
    assert provider.search(recipient=ADA, after=first.visible_at) == [second]
    assert provider.search(recipient=ADA, after=first.visible_at - timedelta(seconds=1)) == [
        first,
        second,
    ]


def test_fetch_is_by_our_id(world, provider):
    world.lease("eve")
    message = world.deliver("eve@agentmail.example")
    assert provider.fetch(message.id) is message
    with pytest.raises(ProviderError, match="no message nothing in run run-one"):
        provider.fetch("nothing")


@pytest.mark.parametrize("address", ["bob@agentmail.example", "nobody@agentmail.example", "what"])
def test_other_mailboxes_are_not_searched(world, provider, address):
    world.lease("bob", run_id="run-two")
    with pytest.raises(ProviderError, match=re.escape(f"{address} is not of run-one")):
        provider.search(recipient=address)


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"header_to": "bob@agentmail.example"}, "is leased to another run"),
        ({"header_to": "gone@agentmail.example"}, "is leased to no run"),
        ({"header_to": "who@agentmail.example"}, "is leased to no run"),
        ({"header_to": "ada+run-two@agentmail.example"}, "carries the token of run run-two"),
        ({"X_Agentmail_Run": "run-two"}, "its X-Agentmail-Run header names run run-two"),
        ({"X_Agentmail_Run": "run-one"}, None),
        ({"header_to": "ada+sales@agentmail.example"}, None),
        ({"header_to": "undisclosed-recipients:;"}, None),
        ({"header_to": "alias@elsewhere.example"}, None),
    ],
)
def test_what_is_foreign(world, provider, headers, why):
    """I2; HB-35: what the headers do not say is not foreign."""
    world.lease("bob", run_id="run-two")
    gone = world.lease("gone", run_id="run-gone")
    world.post_office.release([gone], test="test_gone")
    said = provider.foreign(world.deliver(ADA, **headers))
    assert said is None if why is None else why in said


def test_hb_35_a_blind_copy_is_found_by_its_envelope(world, provider):
    """HB-35."""
    message = world.deliver(ADA, header_to="undisclosed-recipients:;")
    assert provider.search(recipient=ADA) == [message]
    assert message.recipients == ()
