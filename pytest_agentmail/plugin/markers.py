"""Our markers: each is one function, whose signature says what the marker takes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentmail.errors import AgentMailError, MarkerError
from pytest_agentmail.settings import SETTINGS, Settings, run_settings

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MARKERS", "declare", "settings_of", "validate"]


def agentmail(**settings: Any) -> dict[str, Any]:
    """Settings for this test; before those of the command line and the ini file."""
    return run_settings(settings, place="@pytest.mark.agentmail")


MARKERS: dict[str, Callable[..., Any]] = {"agentmail": agentmail}

_SHOWN = {
    "agentmail": "agentmail({})".format(
        ", ".join(
            f"{name}={getattr(Settings(), name)!r}" for name, s in SETTINGS.items() if s.per_run
        )
    )
}


def declare(config: pytest.Config) -> None:
    """Register every marker, with its signature and its first line as help."""
    for name, marker in MARKERS.items():
        config.addinivalue_line("markers", f"{_SHOWN[name]}: {inspect.getdoc(marker)}")


def validate(item: pytest.Item) -> None:
    """Fail where one of the item's markers was given what is not allowed."""
    for name in MARKERS:
        for mark in item.iter_markers(name):
            try:
                read(mark)
            except AgentMailError as error:
                pytest.fail(str(error), pytrace=False)


def read(mark: pytest.Mark) -> Any:
    """What a marker says.

    Raises:
        MarkerError: Its arguments do not fit.
        SettingsError: A setting is not allowed.
    """
    marker = MARKERS[mark.name]
    try:
        bound = inspect.signature(marker).bind(*mark.args, **mark.kwargs)
    except TypeError as error:
        given = ", ".join(
            [*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())]
        )
        raise MarkerError(
            f"@pytest.mark.{mark.name}({given}): {error}; expected {_SHOWN[mark.name]}"
        ) from error
    return marker(*bound.args, **bound.kwargs)


def settings_of(item: pytest.Item) -> dict[str, Any]:
    """The settings that the item's markers give, the nearest one first."""
    settings: dict[str, Any] = {}
    for mark in item.iter_markers("agentmail"):
        settings = {**read(mark), **settings}
    return settings
