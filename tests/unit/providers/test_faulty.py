"""A provider that fails as told (B5, B20): deterministic, and it never lies about mail."""

from __future__ import annotations

import pytest

from pytest_agentmail import world as words
from pytest_agentmail.errors import ProviderError
from pytest_agentmail.providers.faulty import FaultyProvider, WakingFaultyProvider
from pytest_agentmail.providers.protocol import WakingProvider
from pytest_agentmail.providers.scripted import ScriptedProvider
from pytest_agentmail.providers.sink import SinkProvider
from pytest_agentmail.signals.queue import SignalQueue
from pytest_agentmail.stores.memory import MemoryStore

ADA = "ada@agentmail.example"


@pytest.fixture
def provider(world, clock):
    world.lease()
    return WakingFaultyProvider(SinkProvider(world.post_office, "run-one"), clock)


@pytest.fixture
def queue(provider, clock):
    return SignalQueue(provider, MemoryStore(), clock, run_id="run-one", mailbox=ADA)


def outcome(provider):
    try:
        return len(provider.search(recipient=ADA))
    except ProviderError as error:
        return error.code


def outcomes(provider, count=4):
    return [outcome(provider) for _ in range(count)]


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ([words.provider_fails("503", times=2)], ["503", "503", 1, 1]),
        ([words.provider_times_out()], ["timeout", 1, 1, 1]),
        ([words.provider_breaks(times=3)], ["malformed_answer"] * 3 + [1]),
        ([words.provider_rate_limits(2)], ["429", 1, 1, 1]),
        ([words.provider_is_stale()], [0, 1, 1, 1]),
        (
            [words.provider_fails("502", times=1), words.provider_breaks()],
            ["502", "malformed_answer", 1, 1],
        ),
    ],
)
def test_so_many_times_and_then_well_again(world, provider, faults, expected):
    world.deliver(ADA)
    provider.add(faults)
    assert outcomes(provider) == expected
    assert provider.pending() == []


def test_for_some_time_from_the_first_search_on(world, clock, provider):
    world.deliver(ADA)
    clock.sleep(100)
    provider.add([words.provider_fails("503", for_=10)])
    assert outcomes(provider, 2) == ["503", "503"]
    clock.sleep(9.9)
    assert outcomes(provider, 1) == ["503"]
    clock.sleep(0.1)
    assert outcomes(provider, 1) == [1]


def test_a_rate_limit_says_when_to_come_again(provider):
    provider.add([words.provider_rate_limits(2.5)])
    with pytest.raises(ProviderError) as caught:
        provider.search(recipient=ADA)
    assert caught.value.retry_after == 2.5


def test_a_timeout_takes_its_time(clock, provider):
    provider.add([words.provider_times_out(3)])
    assert outcome(provider) == "timeout"
    assert clock.seconds == 3


def test_an_answer_without_bodies_can_be_fetched_whole(world, provider):
    whole = world.deliver(ADA)
    provider.add([words.provider_omits_bodies()])
    (bare,) = provider.search(recipient=ADA)
    assert (bare.id, bare.subject, bare.text) == (whole.id, whole.subject, "")
    assert provider.fetch(bare.id) is whole


def test_a_lag_hides_mail_for_a_while_and_a_wait_finds_it(world, clock, provider, queue):
    provider.add([words.provider_lags(5)])
    clock.at(10, lambda: world.deliver(ADA))
    result = queue.wait(queue.expect("verification"))
    assert (result.status, clock.seconds, result.signal.checks) == ("found", 15, 2)
    assert provider.pending() == []


def test_what_never_struck_can_be_told(provider):
    faults = [words.provider_lags(5), words.provider_fails("503", times=1)]
    provider.add(faults)
    assert provider.pending() == faults


def test_a_provider_that_tells_nothing_tells_nothing_when_it_is_disturbed(clock):
    provider = FaultyProvider(ScriptedProvider([]), clock)
    assert not isinstance(provider, WakingProvider)
    assert provider.search(recipient=ADA) == []
    assert provider.foreign(None) is None


def test_hb_48_endless_refusal_is_a_provider_error(world, provider, queue):
    """HB-48; I3."""
    provider.add([words.provider_rate_limits(2, times=1000)])
    world.deliver(ADA)
    result = queue.wait(queue.expect("verification"))
    assert (result.status, result.signal.last_error) == ("provider_error", "429")


def test_a_script_needs_an_answer_and_notes_what_it_was_asked():
    with pytest.raises(ValueError, match="at least one answer"):
        ScriptedProvider()
    script = ScriptedProvider([], ProviderError("503"))
    script.search(recipient=ADA, subject="x")
    assert script.asked[0] == (ADA, "x", None)
    with pytest.raises(ProviderError, match="no answer holds a message m-1"):
        script.fetch("m-1")
