"""The pytest plugin: hooks, each a line or two that hands over to the module that knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentmail.plugin import late, markers, neighbours, options
from pytest_agentmail.plugin.fixtures import (
    RUN,
    _agentmail_run,
    _agentmail_world,
    agent_run,
    agentmail_django,
    ledger,
    mail_world,
    mailbox,
    run_id,
    signals,
    smtp_sink,
)

if TYPE_CHECKING:
    from collections.abc import Generator

pytest.register_assert_rewrite("pytest_agentmail.contracts")

__all__ = [
    "_agentmail_run",
    "_agentmail_world",
    "agent_run",
    "agentmail_django",
    "ledger",
    "mail_world",
    "mailbox",
    "run_id",
    "signals",
    "smtp_sink",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    options.declare(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    neighbours.spare_async_loop_scope(config)
    options.load(config)
    markers.declare(config)


def pytest_report_header(config: pytest.Config) -> str | None:
    return options.header(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    markers.validate(metafunc.definition)


def pytest_runtest_setup(item: pytest.Item) -> None:
    markers.validate(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    yield
    if RUN in item.stash:
        item.stash[RUN].conclude()


def pytest_sessionfinish(session: pytest.Session) -> None:
    late.warn(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    from pytest_agentmail.plugin.figures import figures_of

    figures_of(node.config).take_over(node)
