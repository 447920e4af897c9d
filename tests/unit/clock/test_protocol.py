"""Both clocks are clocks."""

from __future__ import annotations

import inspect

import pytest

from pytest_agentmail.clock.protocol import Clock
from pytest_agentmail.clock.real import RealClock
from pytest_agentmail.clock.virtual import VirtualClock

MEMBERS = sorted(name for name in vars(Clock) if not name.startswith("_"))


@pytest.mark.parametrize("clock", [RealClock, VirtualClock])
@pytest.mark.parametrize("name", MEMBERS)
def test_they_take_what_the_protocol_says(clock, name):
    asked, offered = getattr(Clock, name), getattr(clock, name)
    assert list(inspect.signature(offered).parameters) == list(inspect.signature(asked).parameters)
    assert inspect.iscoroutinefunction(offered) == inspect.iscoroutinefunction(asked)
