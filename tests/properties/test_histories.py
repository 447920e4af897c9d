"""Histories under the virtual clock: a plain model predicts them, and playing again changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentmail import world
from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.scenarios.history import MailHistory

WITHIN = 60
times = st.sampled_from([0, 0.5, 5, 5, 30, WITHIN, WITHIN + 0.000001, 90])
arrivals = st.builds(
    world.mail_arrives,
    after=times,
    subject=st.sampled_from(["Confirm your account", "Welcome"]),
    run=st.sampled_from(["this", "this", "other", "earlier"]),
)
faults = st.one_of(
    st.builds(world.mail_delayed, st.sampled_from([1, 20]), nth=st.integers(1, 3)),
    st.builds(world.mail_duplicated, st.integers(2, 3), apart=st.sampled_from([0, 7])),
    st.builds(world.mail_dropped, st.integers(1, 2)),
    st.builds(world.mail_reordered, nth=st.integers(1, 2)),
    st.builds(world.provider_fails, st.just("503"), times=st.integers(1, 3)),
    st.builds(world.provider_fails, st.just("502"), for_=st.sampled_from([3, 200])),
    st.builds(world.provider_rate_limits, st.sampled_from([2, 100])),
    st.builds(world.provider_lags, st.sampled_from([1, 40])),
    st.builds(world.provider_is_stale, times=st.integers(1, 2)),
)
undisturbed = st.lists(arrivals, max_size=5).map(lambda each: MailHistory(*each))
histories = st.lists(st.one_of(arrivals, faults), max_size=7).map(lambda each: MailHistory(*each))


@pytest.fixture(scope="module")
def mail_world():
    with MailWorld() as mail_world:
        yield mail_world


def expecting(run):
    return run.signals.expect("verification", subject="Confirm", within=WITHIN)


def waiting(run):
    return run.signals.wait(expecting(run))


async def waiting_in_a_task(run):
    return await run.signals.wait_async(expecting(run))


agents = st.sampled_from([waiting, waiting_in_a_task])


def play(mail_world, history, agent):
    """What came of it, in terms that are the same for every run."""
    with mail_world.new_run(clock="virtual", datetime=False, checks=6) as run:
        run.play(history)
        start = run.clock.now()
        result = run.drive(agent).result
        return {
            "status": result.status,
            "cause": result.cause,
            "message": result.message and result.message.name,
            "also": [message.name for message in result.also_matched],
            "missed": [(miss.message.name, miss.criterion) for miss in result.near_misses],
            "queries": [
                ((query.at - start).total_seconds(), query.reason, query.outcome, query.code)
                for query in result.signal.history
            ],
            "took": (run.clock.now() - start).total_seconds(),
        }


def predicted(history):
    """The model: when the answer comes, and which of the arrivals it names."""
    counting = [
        (arrival.after, f"m{number}")
        for number, arrival in enumerate(history.arrivals, start=1)
        if arrival.run == "this" and "Confirm" in arrival.subject and arrival.after <= WITHIN
    ]
    if not counting:
        return "expired", None, WITHIN
    first = min(after for after, _ in counting)
    return "found", [name for after, name in counting if after == first][-1], first


@given(history=undisturbed, agent=agents)
def test_a_plain_model_predicts_the_answer(mail_world, history, agent):
    """B4, B11, B20; I1 to I4."""
    came = play(mail_world, history, agent)
    status, message, took = predicted(history)
    assert (came["status"], came["message"]) == (status, message)
    assert came["took"] == pytest.approx(took, abs=1e-4)
    assert len(came["queries"]) <= 2


@given(history=histories, agent=agents)
def test_the_same_history_gives_the_same_course(mail_world, history, agent):
    """I11."""
    assert play(mail_world, history, agent) == play(mail_world, history, agent)


@given(history=histories)
def test_a_thread_and_a_task_see_the_same_course(mail_world, history):
    assert play(mail_world, history, waiting) == play(mail_world, history, waiting_in_a_task)


@given(history=histories)
def test_a_history_is_the_code_it_prints(history):
    assert eval(repr(history), {"world": world, "MailHistory": MailHistory}) == history


@given(history=histories)
def test_everything_ends_by_its_deadline_within_its_budget(mail_world, history):
    """I3, I4."""
    came = play(mail_world, history, waiting)
    assert came["took"] <= WITHIN + 0.001
    assert len(came["queries"]) <= 6
    assert (came["status"] == "provider_error") == (came["queries"][-1][2] == "error")
