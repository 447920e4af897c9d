"""Django's mail settings."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_agentmail.mail.smtp.sink import Sink

__all__ = ["locmem_hint", "mail_to", "overrides"]

_SMTP = "django.core.mail.backends.smtp.EmailBackend"
_SETTINGS = {
    "host": "EMAIL_HOST",
    "port": "EMAIL_PORT",
    "username": "EMAIL_HOST_USER",
    "password": "EMAIL_HOST_PASSWORD",
    "use_tls": "EMAIL_USE_TLS",
    "use_ssl": "EMAIL_USE_SSL",
}
"""The setting for each option of the SMTP backend in a project without `MAILERS`."""
_LOCMEM = "django.core.mail.backends.locmem.EmailBackend"


@contextmanager
def mail_to(sink: Sink) -> Iterator[None]:
    """While it is open, Django sends its mail through `sink`; pytest-django keeps it otherwise."""
    from django.test.utils import override_settings

    smtp = {
        "host": sink.host,
        "port": sink.port,
        "username": sink.username or "",
        "password": sink.password or "",
        "use_tls": sink.tls == "starttls",
        "use_ssl": sink.tls == "implicit",
    }
    overriding = override_settings(**overrides(smtp, _mailers()))
    with warnings.catch_warnings():
        # Django 6.1 deprecates the settings of a project without MAILERS; the project is told so.
        warnings.simplefilter("ignore", _deprecation())
        overriding.enable()
    try:
        yield
    finally:
        overriding.disable()


def overrides(smtp: Mapping[str, Any], aliases: Iterable[str] | None) -> dict[str, Any]:
    """The settings with which Django sends mail as `smtp` says.

    Args:
        smtp: Options of Django's SMTP backend.
        aliases: The mailers of a project that has `MAILERS`; None for one without.
    """
    if aliases is not None:
        mailer = {"BACKEND": _SMTP, "OPTIONS": smtp}
        return {"MAILERS": dict.fromkeys(aliases, mailer)}
    return {"EMAIL_BACKEND": _SMTP, **{_SETTINGS[name]: value for name, value in smtp.items()}}


def _deprecation() -> type[Warning]:
    """The category of what Django deprecates, whose name changes with each release."""
    from django.utils import deprecation

    category: type[Warning] = deprecation.RemovedInNextVersionWarning
    return category


def locmem_hint() -> str | None:
    """A sentence where Django keeps mail to itself, which pytest-django makes it do."""
    if "django.core.mail" not in sys.modules:
        return None
    from django.conf import settings

    if not settings.configured or _LOCMEM not in _backends(_mailers()):
        return None
    kept = len(getattr(sys.modules["django.core.mail"], "outbox", ()))
    return (
        f"Django keeps its mail in memory ({kept} in django.core.mail.outbox): "
        f"request the fixture agentmail_django to have it sent"
    )


def _mailers() -> Mapping[str, Mapping[str, Any]] | None:
    """The project's `MAILERS`, which Django knows since 6.1."""
    from django.conf import settings
    from django.core import mail

    return getattr(settings, "MAILERS", None) if hasattr(mail, "mailers") else None


def _backends(mailers: Mapping[str, Mapping[str, Any]] | None) -> list[str]:
    from django.conf import settings

    return [
        *(mailer.get("BACKEND", _SMTP) for mailer in (mailers or {}).values()),
        *([settings.EMAIL_BACKEND] if mailers is None else []),
    ]
