"""Every setting in one table: what it is called, what it may be, where it may be given.

The command line, the ini twins, the `agentmail` marker and `MailWorld.open_run` are all made from
this table; so are the errors. A new setting is one more row of it, and one field of `Settings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["SETTINGS", "Setting", "Settings", "parse", "run_settings"]


class Setting(NamedTuple):
    """One row of the table."""

    name: str
    default: Any
    type: Literal["string", "int", "float", "bool"]
    """What it is in an ini file whose values have types."""
    read: Callable[[Any], Any]
    """Turns what was given (a string, or the value itself) into the value, or raises."""
    allowed: str
    """What is allowed, for errors; starts after "expected "."""
    help: str
    per_run: bool = True
    """Whether the marker and `open_run` may set it; else it is the session's."""
    option: bool = False
    """Whether the command line may set it; an ini file always may."""
    show: Callable[[Any], Any] = lambda value: value
    """What of it people may see."""


def _host(value: Any) -> str:
    if not isinstance(value, str) or not value or any(c.isspace() or c in "/@" for c in value):
        raise ValueError
    return value


def _domain(value: Any) -> str:
    from pytest_agentmail.mail.address import canonical_domain

    if not isinstance(value, str) or value.startswith("["):
        raise ValueError
    return canonical_domain(value)


def _whole(least: int, most: float) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError
        number = int(value)
        if not least <= number <= most:
            raise ValueError
        return number

    return read


def _store(value: Any) -> str:
    from pytest_agentmail.stores.urls import checked_url

    return checked_url(value)


def _without_password(value: Any) -> Any:
    from pytest_agentmail.stores.urls import masked_url

    return masked_url(value) if isinstance(value, str) else value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    seconds = float(value)
    if not 0 < seconds < _A_CENTURY:
        raise ValueError
    return seconds


def _one_of(*choices: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return read


def _yes_or_no(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
        value.strip().lower()
    ]


_A_CENTURY = 100 * 365 * 86400.0
_HIGHEST_PORT = 65535

SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            "host",
            "127.0.0.1",
            "string",
            _host,
            "a host name or IP address without port",
            "Interface the SMTP sink listens on.",
            per_run=False,
            option=True,
        ),
        Setting(
            "port",
            0,
            "int",
            _whole(0, _HIGHEST_PORT),
            f"a whole number from 0 (any free port) to {_HIGHEST_PORT}",
            "Port the SMTP sink listens on; 0 for any free one.",
            per_run=False,
            option=True,
        ),
        Setting(
            "tls",
            "off",
            "string",
            _one_of("off", "starttls", "implicit"),
            "'off', 'starttls' (offered) or 'implicit' (spoken from the start)",
            "Whether and how the SMTP sink speaks TLS; needs the extra 'tls'.",
            per_run=False,
            option=True,
        ),
        Setting(
            "auth",
            "off",
            "string",
            _one_of("off", "optional", "required"),
            "'off', 'optional' (any username and password) or 'required' (smtp_sink's)",
            "Whether the SMTP sink lets clients log in.",
            per_run=False,
            option=True,
        ),
        Setting(
            "size_limit",
            64 * 1024 * 1024,
            "int",
            _whole(1, float("inf")),
            "a whole number of bytes, 1 or more",
            "Bytes of the largest mail the SMTP sink takes.",
            per_run=False,
            option=True,
        ),
        Setting(
            "domain",
            "agentmail.example",
            "string",
            _domain,
            "a domain name such as 'agentmail.example'",
            "Domain of the leased addresses.",
            option=True,
        ),
        Setting(
            "address",
            "unique",
            "string",
            _one_of("unique", "stable"),
            "'unique' (never the same again) or 'stable' (derived from the test's id)",
            "How the address of a run is made.",
        ),
        Setting(
            "lease",
            3600.0,
            "float",
            _seconds,
            "seconds, more than 0",
            "Seconds a mailbox is leased for.",
        ),
        Setting(
            "checks",
            10,
            "int",
            _whole(1, float("inf")),
            "a whole number, 1 or more",
            "Most questions one signal may ask.",
        ),
        Setting(
            "within",
            120.0,
            "float",
            _seconds,
            "seconds, more than 0",
            "Seconds until a signal expires.",
        ),
        Setting(
            "clock",
            "real",
            "string",
            _one_of("real", "virtual"),
            "'real' or 'virtual' (waiting takes no time)",
            "Whose time a run follows.",
            option=True,
        ),
        Setting(
            "datetime",
            True,
            "bool",
            _yes_or_no,
            "true or false",
            "Whether datetime.now() follows the virtual clock while an agent is driven.",
        ),
        Setting(
            "settle",
            0.5,
            "float",
            _seconds,
            "seconds, more than 0",
            "Real seconds to wait at most for the mail of an effect.",
            option=True,
        ),
        Setting(
            "own_sink",
            False,
            "bool",
            _yes_or_no,
            "true or false",
            "Whether a run has an SMTP sink of its own, which faults before RCPT need.",
        ),
        Setting(
            "raises",
            True,
            "bool",
            _yes_or_no,
            "true or false",
            "Whether drive() raises the agent's own exception, or keeps it in the report.",
        ),
        Setting(
            "store",
            "memory",
            "string",
            _store,
            "'memory', 'sqlite' (a file in pytest's temporary folder), 'sqlite:///path' or "
            "'postgresql://user@host/database'",
            "Where signals and ledgers are kept.",
            option=True,
            show=_without_password,
        ),
        Setting(
            "resume_minimum",
            0,
            "int",
            _whole(0, float("inf")),
            "a whole number, 0 or more",
            "Checks that must be left for a run to be resumed.",
        ),
    )
}


class Settings(NamedTuple):
    """All settings, valid and complete."""

    host: str = SETTINGS["host"].default
    port: int = SETTINGS["port"].default
    tls: str = SETTINGS["tls"].default
    auth: str = SETTINGS["auth"].default
    size_limit: int = SETTINGS["size_limit"].default
    domain: str = SETTINGS["domain"].default
    address: str = SETTINGS["address"].default
    lease: float = SETTINGS["lease"].default
    checks: int = SETTINGS["checks"].default
    within: float = SETTINGS["within"].default
    clock: str = SETTINGS["clock"].default
    datetime: bool = SETTINGS["datetime"].default
    settle: float = SETTINGS["settle"].default
    own_sink: bool = SETTINGS["own_sink"].default
    raises: bool = SETTINGS["raises"].default
    store: str = SETTINGS["store"].default
    resume_minimum: int = SETTINGS["resume_minimum"].default


def parse(name: str, value: Any, *, place: str) -> Any:
    """The value of the setting `name` that `value` stands for.

    Args:
        name: A name of `SETTINGS`.
        value: As it was given.
        place: Where it was given, for the error.

    Raises:
        SettingsError: It is not allowed; names the value, the place and what is.
    """
    from pytest_agentmail.errors import SettingsError

    setting = SETTINGS[name]
    try:
        return setting.read(value)
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError) as error:
        raise SettingsError(
            f"{place}: {setting.show(value)!r} is not allowed: expected {setting.allowed}"
        ) from error


def run_settings(given: Mapping[str, Any], *, place: str) -> dict[str, Any]:
    """The settings of one run, parsed.

    Raises:
        SettingsError: One of them is unknown or not allowed.
    """
    from pytest_agentmail.errors import SettingsError

    known = [name for name, setting in SETTINGS.items() if setting.per_run]
    for name in given:
        if name not in known:
            raise SettingsError(
                f"{place}: there is no setting {name!r}: expected one of {', '.join(known)}"
            )
    return {name: parse(name, value, place=f"{place}, {name}") for name, value in given.items()}
