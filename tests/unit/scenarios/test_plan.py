"""Plans count what struck, each fault apart from its equals."""

from __future__ import annotations

from pytest_agentmail.scenarios.plan import Plan


def test_equal_faults_are_counted_apart():
    plan = Plan(["a"])
    plan.add(["a", "b"])
    once = [plan.strike_first(lambda planned: planned.struck < 1) for _ in range(4)]
    assert once == ["a", "a", "b", None]
    assert list(plan) == ["a", "a", "b"]


def test_all_that_are_due_strike_together():
    plan = Plan("aba")
    assert plan.strike_all(lambda planned: planned.fault == "a") == ["a", "a"]
    assert plan.pending() == ["b"]
    plan.strike_first(lambda planned: planned.fault == "a")
    assert plan.told(lambda fault, count: f"{fault} {count}") == ["a 2", "a 1"]
