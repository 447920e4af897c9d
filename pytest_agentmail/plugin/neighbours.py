"""What we owe suites because we bring other plugins along."""

from __future__ import annotations

import re
import sys
import warnings
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["pytest_configure", "spare_async_loop_scope"]

_UNSET = r"The configuration option \"asyncio_default_fixture_loop_scope\" is unset"
_OURS = ("ignore", re.compile(_UNSET, re.IGNORECASE), Warning, None, 0)


def spare_async_loop_scope(add_cleanup: Callable[[Callable[[], None]], object]) -> None:
    """Spare a suite the warning of pytest-asyncio that an ini value of its is unset.

    It comes with us into suites that have nothing asynchronous, and where warnings are errors it
    would end the session. It warns while plugins are configured; see `pytest_configure`.
    """
    if "pytest_asyncio" in sys.modules:
        warnings.filterwarnings("ignore", _UNSET)
        add_cleanup(_take_filter_back)


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Take the filter back when all plugins are configured.

    This hook takes no wrappers, and `catch_warnings` around it would undo the filters of others.
    """
    _take_filter_back()


def _take_filter_back() -> None:
    filters = cast("list[Any]", warnings.filters)
    if _OURS in filters:
        filters.remove(_OURS)
