"""What the runs of a session came to: a line in the summary, where a ledger was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter

from pytest_agentmail.runs.metrics import Metrics, total

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Figures", "figures_of"]

_KEY = "agentmail_figures"


class Figures:
    """A plugin of its own, registered in sessions that have runs, and in xdist's controller."""

    def __init__(self) -> None:
        self._runs: list[Metrics] = []

    def add(self, runs: Iterable[Metrics]) -> None:
        """Take the figures of runs that have ended."""
        self._runs += runs

    def take_over(self, worker: Any) -> None:
        """Take what a worker of xdist handed over; one that crashed handed over nothing."""
        given = getattr(worker, "workeroutput", {}).get(_KEY)
        if given is not None:
            self._runs.append(TypeAdapter(Metrics).validate_json(given))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In a worker of xdist, hand over; once the session's fixtures are torn down."""
        if self._runs and hasattr(session.config, "workeroutput"):
            told = TypeAdapter(Metrics).dump_json(total(self._runs))
            session.config.workeroutput[_KEY] = told.decode()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell them."""
        if self._runs:
            for line in str(total(self._runs)).splitlines():
                terminalreporter.write_line(f"agentmail: {line}")


def figures_of(config: pytest.Config) -> Figures:
    """The session's figures."""
    known = config.pluginmanager.get_plugin(_KEY)
    if known is None:
        known = Figures()
        config.pluginmanager.register(known, _KEY)
    assert isinstance(known, Figures)
    return known
