"""Settings from the command line and ini files, made from the table in `settings`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_agentmail.settings import SETTINGS, Settings, parse

if TYPE_CHECKING:
    from typing import Any

__all__ = ["SESSION_SETTINGS", "declare", "header", "load"]

SESSION_SETTINGS = pytest.StashKey[Settings]()
"""Where the session's settings are kept on the config."""


def declare(parser: pytest.Parser) -> None:
    """Add an ini value for every setting, and an option for those that have one."""
    group = parser.getgroup("agentmail", "email-verification agents (pytest_agentmail)")
    for setting in SETTINGS.values():
        text = f"{setting.help} Default: {setting.default}."
        parser.addini(_ini(setting.name), text, type=setting.type, default=None)
        if setting.option:
            group.addoption(
                _option(setting.name), dest=_ini(setting.name), metavar="VALUE", help=text
            )


def load(config: pytest.Config) -> None:
    """Read all settings, once: command line before ini file before default.

    Raises:
        pytest.UsageError: One of them is not allowed.
    """
    try:
        given = {
            name: parse(name, value, place=place)
            for name in SETTINGS
            for value, place in [_given(config, name)]
            if value is not None
        }
    except ValueError as error:  # a SettingsError, which need not be imported for that
        raise pytest.UsageError(str(error)) from error
    config.stash[SESSION_SETTINGS] = Settings(**given)


def header(config: pytest.Config) -> str | None:
    """One line with what is not at its default, or nothing."""
    settings, default = config.stash[SESSION_SETTINGS], Settings()
    changed = [
        f"{name}={setting.show(getattr(settings, name))}"
        for name, setting in SETTINGS.items()
        if getattr(settings, name) != getattr(default, name)
    ]
    return f"agentmail: {', '.join(changed)}" if changed else None


def _given(config: pytest.Config, name: str) -> tuple[Any, str]:
    if SETTINGS[name].option:
        value = config.getoption(_ini(name))
        if value is not None:
            return value, _option(name)
    return _written(config, _ini(name)), f"{_ini(name)} in {config.inipath or 'the ini file'}"


def _written(config: pytest.Config, ini: str) -> Any:
    """The ini value as pytest reads it; as it is written where pytest cannot, for our error."""
    try:
        return config.getini(ini)
    except (TypeError, ValueError, pytest.UsageError):
        overrides = dict(given.split("=", 1) for given in config.getoption("override_ini") or ())
        return overrides.get(ini, config.inicfg.get(ini))


def _ini(name: str) -> str:
    return f"agentmail_{name}"


def _option(name: str) -> str:
    return f"--agentmail-{name.replace('_', '-')}"
