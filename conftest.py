"""What every test of the project starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

pytest_plugins = ["pytester"]

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("long", parent=settings.get_profile("default"), max_examples=5000)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="Run the long campaigns in full.")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--long"):
        settings.load_profile("long")


def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    if not config.getoption("--long"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="a long campaign; --long runs it"))


@pytest.fixture(autouse=True)
def _no_addopts_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions that a test starts see none of the options of this one."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
