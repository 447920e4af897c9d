"""The pytest plugin: hooks, each a line or two that hands over to the module that knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentmail.plugin import late, markers, options
from pytest_agentmail.plugin.fixtures import (
    _agentmail_run,
    _agentmail_world,
    agent_run,
    agentmail_django,
    mail_world,
    mailbox,
    run_id,
    signals,
    smtp_sink,
)

if TYPE_CHECKING:
    import pytest

__all__ = [
    "_agentmail_run",
    "_agentmail_world",
    "agent_run",
    "agentmail_django",
    "mail_world",
    "mailbox",
    "run_id",
    "signals",
    "smtp_sink",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    options.declare(parser)


def pytest_configure(config: pytest.Config) -> None:
    options.load(config)
    markers.declare(config)


def pytest_report_header(config: pytest.Config) -> str | None:
    return options.header(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    markers.validate(metafunc.definition)


def pytest_runtest_setup(item: pytest.Item) -> None:
    markers.validate(item)


def pytest_sessionfinish(session: pytest.Session) -> None:
    late.warn(session.config)
