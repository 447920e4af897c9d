"""What we owe suites because we bring other plugins along."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["spare_async_loop_scope"]


def spare_async_loop_scope(config: pytest.Config) -> None:
    """Spare a suite the warning of pytest-asyncio that an ini value of its is unset.

    It comes with us into suites that have nothing asynchronous, and where warnings are errors it
    would end the session. It warns while plugins are configured; the filter ends with that.
    """
    if config.pluginmanager.has_plugin("asyncio"):
        warnings.filterwarnings(
            "ignore", r"The configuration option \"asyncio_default_fixture_loop_scope\" is unset"
        )
