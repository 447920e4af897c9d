"""Wrapped tools keep their face, are counted, and give their mail time to come."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re

import pytest

from pytest_agentmail.agents.tools import CallCount, Tools
from pytest_agentmail.clock.real import RealClock
from pytest_agentmail.errors import SettingsError
from pytest_agentmail.mail.run_mail import RunMail


class Hold:
    def __init__(self, log, reason, at_most):
        self.log, self.reason = log, reason
        log.append(("hold", reason, at_most))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()

    def release(self):
        self.log.append(("release", self.reason))


class NotingClock(RealClock):
    """Notes what it is held for."""

    def __init__(self):
        self.log = []

    def hold(self, reason, at_most=float("inf")):
        return Hold(self.log, reason, at_most)


@pytest.fixture
def mail():
    return RunMail("run-one")


@pytest.fixture
def clock():
    return NotingClock()


@pytest.fixture
def tools(clock, mail):
    return Tools(clock, mail, settle=0.5)


def accept(mail):
    for tell in mail.add_sent("a mail"):
        tell()


class App:
    def request(self, address: str, *, urgent: bool = False) -> str:
        """Ask for a code."""
        return f"{address} {urgent}"

    async def request_async(self, address: str) -> str:
        """Ask for a code, later."""
        await asyncio.sleep(0)
        return address

    async def __call__(self, address: str) -> str:
        return address


@pytest.mark.parametrize("tool", [App().request, App().request_async], ids=["sync", "async"])
def test_a_tool_keeps_its_face(tools, tool):
    wrapped = tools.wrap(tool)
    for face in ("__name__", "__qualname__", "__doc__", "__annotations__", "__module__"):
        assert getattr(wrapped, face) == getattr(tool, face)
    assert inspect.signature(wrapped) == inspect.signature(tool)
    assert inspect.iscoroutinefunction(wrapped) == inspect.iscoroutinefunction(tool)


def test_sync_tools_give_what_they_give(tools):
    assert tools.wrap(App().request)("ada", urgent=True) == "ada True"
    assert tools.calls == {"request": (1, 1)}


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (App().request_async, "request_async"),
        (functools.partial(App().request_async), "partial"),
        (App(), "App"),
    ],
    ids=["method", "partial", "object"],
)
def test_async_tools_are_steps_until_they_are_done(tools, tool, name):
    assert asyncio.run(tools.wrap(tool)("ada")) == "ada"
    assert tools.calls == {name: (1, 1)}


def test_a_sync_tool_that_gives_a_coroutine_is_a_step_until_that_is_done(tools, clock):
    gate = []

    async def later(address):
        gate.append(dict(tools.calls))
        clock.log.append("runs")
        return address

    coroutine = tools.wrap(lambda address: later(address), name="request")("ada")
    assert tools.calls == {"request": (1, 0)}
    assert clock.log == [("hold", STEP, float("inf")), ("release", STEP)]
    assert asyncio.run(coroutine) == "ada"
    assert gate == [{"request": (1, 0)}]
    assert tools.calls == {"request": (1, 1)}
    assert clock.log[2:] == [("hold", STEP, float("inf")), "runs", ("release", STEP)]


def test_a_task_stays_a_task(tools):
    async def agent():
        loop = asyncio.get_running_loop()
        task = tools.wrap(lambda: loop.create_task(asyncio.sleep(0, "done")), name="request")()
        assert tools.calls == {"request": (1, 0)}
        (done,), _ = await asyncio.wait([task])
        return done.result()

    assert asyncio.run(agent()) == "done"
    assert tools.calls == {"request": (1, 1)}


def test_a_coroutine_that_fails_was_attempted(tools):
    async def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(tools.wrap(lambda: fail(), name="request")())
    assert tools.calls == {"request": (1, 0)}


def test_what_is_for_async_with_is_handed_on_as_it_is(tools):
    class Response:
        def __await__(self):
            raise NotImplementedError  # pragma: no cover

        async def __aenter__(self):
            raise NotImplementedError  # pragma: no cover

    response = Response()
    assert tools.wrap(lambda: response, name="request")() is response


@pytest.mark.parametrize("name", ["check", "ledger", "lease", "sleep", "smtp.data"])
def test_the_steps_of_a_run_are_no_names_of_tools(tools, name):
    with pytest.raises(SettingsError) as caught:
        tools.wrap(App().request, name=name)
    assert str(caught.value) == (
        f"a tool cannot be called {name!r}, which is a step of the run itself: give it another "
        f"name= (not check, lease, ledger, sleep, smtp.data)"
    )


def test_as_a_decorator(tools):
    @tools.wrap(name="send-mail")
    def send():
        """Send it."""
        return "sent"

    assert (send(), send.__doc__) == ("sent", "Send it.")
    assert tools.calls == {"send-mail": CallCount(1, 1)}


def test_a_tool_that_raises_was_attempted(tools):
    @tools.wrap
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert tools.calls == {"fail": CallCount(attempted=1, completed=0)}


@pytest.mark.parametrize("name", ["", "two words", "send:it", "a/b"])
def test_a_name_is_a_word(tools, name):
    if name:
        with pytest.raises(SettingsError, match=re.escape(f"{name!r} is no name of a step")):
            tools.wrap(App().request, name=name)


def test_what_cannot_be_called_is_no_tool(tools):
    with pytest.raises(SettingsError, match="'x' is no tool: expected something that can be"):
        tools.wrap("x")


def test_time_stands_still_in_a_step_and_no_longer(tools, clock):
    tools.wrap(App().request)("ada")
    assert clock.log == [
        ("hold", "step request is in progress", float("inf")),
        ("release", "step request is in progress"),
    ]


STEP = "step request is in progress"
AWAITED = "the mail that request causes is awaited"


@pytest.mark.parametrize("fails", [False, True])
def test_after_an_effect_its_mail_is_awaited(tools, clock, mail, fails):
    def request():
        if fails:
            raise TimeoutError

    wrapped = tools.wrap(request, effect=True)
    if fails:
        with pytest.raises(TimeoutError):
            wrapped()
    else:
        wrapped()
    assert clock.log[2:] == [("hold", AWAITED, 0.5)]
    accept(mail)
    assert clock.log[3:] == [("release", AWAITED)]


def test_mail_that_came_during_the_step_is_not_awaited(tools, clock, mail):
    tools.wrap(lambda: accept(mail), name="request", effect=True)()
    assert clock.log[2:] == [("hold", AWAITED, 0.5), ("release", AWAITED)]


def test_each_effect_awaits_a_mail_of_its_own(tools, clock, mail):
    request = tools.wrap(lambda: None, name="request", effect=True)
    request()
    accept(mail)
    request()
    assert clock.log[-1] == ("hold", AWAITED, 0.5)


def test_an_effect_without_mail_awaits_none(tools, clock):
    tools.wrap(App().request, effect=True, sends_mail=False)("ada")
    assert len(clock.log) == 2
