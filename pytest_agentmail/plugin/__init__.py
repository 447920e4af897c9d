"""The pytest plugin: hooks, each a line or two that hands over to the module that knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentmail.plugin import fixtures, late, markers, neighbours, options
from pytest_agentmail.plugin.fixtures import *  # noqa: F403  (as listed there)

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = fixtures.__all__


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    options.declare(parser)
    pluginmanager.register(neighbours, "agentmail_neighbours")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    neighbours.spare_async_loop_scope(config.add_cleanup)
    options.load(config)
    markers.declare(config)


def pytest_report_header(config: pytest.Config) -> str | None:
    return options.header(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    markers.validate(metafunc.definition)


def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[fixtures.CURRENT_TEST] = item.nodeid
    markers.validate(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    yield
    fixtures.conclude(item)


@pytest.hookimpl(trylast=True)  # once the fixtures of the session are torn down
def pytest_sessionfinish(session: pytest.Session) -> None:
    late.warn(session)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    late.explain(terminalreporter)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    from pytest_agentmail.plugin.figures import figures_of

    late.take_over(node.config, node)
    figures_of(node.config).take_over(node)
