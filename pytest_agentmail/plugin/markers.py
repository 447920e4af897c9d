"""Our markers: each is one function, whose signature says what the marker takes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentmail.settings import SETTINGS, run_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["MARKERS", "declare", "faults_of", "settings_of", "validate", "without_run"]


def agentmail(**settings: Any) -> dict[str, Any]:
    """Settings for this test; before those of the command line and the ini file."""
    return run_settings(settings, place="@pytest.mark.agentmail")


def mail_fault(*faults: Any) -> Sequence[Any]:
    """What goes wrong with the mail of this test; made by pytest_agentmail.world."""
    from pytest_agentmail.world import MailFault, SmtpFault

    return _all_of(faults, (MailFault, SmtpFault), "world.mail_… or world.smtp_…")


def provider_fault(*faults: Any) -> Sequence[Any]:
    """What goes wrong with the answers of the mail provider; made by pytest_agentmail.world."""
    from pytest_agentmail.world import ProviderFault

    return _all_of(faults, (ProviderFault,), "world.provider_…")


def _all_of(faults: Sequence[Any], kinds: tuple[type, ...], allowed: str) -> Sequence[Any]:
    from pytest_agentmail.errors import MarkerError

    for fault in faults:
        if not isinstance(fault, kinds):
            raise MarkerError(f"{fault!r} is not allowed: expected {allowed}")
    if not faults:
        raise MarkerError(f"nothing was given: expected {allowed}")
    return faults


MARKERS: dict[str, Callable[..., Any]] = {
    marker.__name__: marker for marker in (agentmail, mail_fault, provider_fault)
}

_FAULTS = (mail_fault.__name__, provider_fault.__name__)

_SHOWN = {
    "agentmail": "agentmail({})".format(
        ", ".join(
            f"{setting.name}={setting.default!r}"
            for setting in SETTINGS.values()
            if setting.per_run
        )
    ),
    "mail_fault": "mail_fault(*faults)",
    "provider_fault": "provider_fault(*faults)",
}


def declare(config: pytest.Config) -> None:
    """Register every marker, with its signature and its first line as help."""
    for name, marker in MARKERS.items():
        config.addinivalue_line("markers", f"{_SHOWN[name]}: {inspect.getdoc(marker)}")


def validate(item: pytest.Item) -> None:
    """Fail where one of the item's markers was given what is not allowed."""
    marks = [mark for name in MARKERS for mark in item.iter_markers(name)]
    if marks:
        _fail_on_bad(marks)


def _fail_on_bad(marks: Sequence[pytest.Mark]) -> None:
    text = next(filter(None, map(_wrong_with, marks)), None)
    if text:
        pytest.fail(text, pytrace=False)


def _wrong_with(mark: pytest.Mark) -> str | None:
    """What is the matter with a marker, if anything is."""
    from pytest_agentmail.errors import AgentMailError

    try:
        read(mark)
    except AgentMailError as error:
        return str(error)
    return None


def read(mark: pytest.Mark) -> Any:
    """What a marker says.

    Raises:
        MarkerError: Its arguments do not fit.
        SettingsError: A setting is not allowed.
    """
    from pytest_agentmail.errors import MarkerError

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
    try:
        return marker(*bound.args, **bound.kwargs)
    except MarkerError as error:
        raise MarkerError(f"@pytest.mark.{mark.name}: {error}") from None


def faults_of(item: pytest.Item, name: str) -> list[Any]:
    """The faults that the item's markers of that name plan, the outermost first."""
    marks = reversed(list(item.iter_markers(name)))
    return [fault for mark in marks for fault in read(mark)]


def without_run(item: pytest.Item) -> str | None:
    """What is the matter with a test that had no run, though a mark of its own plans faults."""
    for mark in item.own_markers:
        if mark.name in _FAULTS:
            return (
                f"@pytest.mark.{mark.name}: this test has no run: request agent_run, or give the "
                f"faults to run.{mark.name}()"
            )
    return None


def settings_of(item: pytest.Item) -> dict[str, Any]:
    """The settings that the item's markers give, the nearest one first."""
    settings: dict[str, Any] = {}
    for mark in item.iter_markers("agentmail"):
        settings = {**read(mark), **settings}
    return settings
