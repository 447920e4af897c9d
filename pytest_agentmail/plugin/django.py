"""Django's mail settings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pytest_agentmail.mail.sink import Sink

__all__ = ["locmem_hint", "mail_to"]

_SMTP = "django.core.mail.backends.smtp.EmailBackend"


def mail_to(sink: Sink) -> AbstractContextManager[None]:
    """While it is open, Django sends its mail through `sink`; pytest-django keeps it otherwise."""
    from django.test.utils import override_settings

    settings: AbstractContextManager[None] = override_settings(
        EMAIL_BACKEND=_SMTP,
        EMAIL_HOST=sink.host,
        EMAIL_PORT=sink.port,
        EMAIL_HOST_USER="",
        EMAIL_HOST_PASSWORD="",
        EMAIL_USE_TLS=False,
        EMAIL_USE_SSL=False,
    )
    return settings


def locmem_hint() -> str | None:
    """A sentence where Django keeps mail to itself, which pytest-django makes it do."""
    if "django.core.mail" not in sys.modules:
        return None
    from django.conf import settings

    if not settings.configured or not settings.EMAIL_BACKEND.endswith("locmem.EmailBackend"):
        return None
    kept = len(getattr(sys.modules["django.core.mail"], "outbox", ()))
    return (
        f"Django keeps its mail in memory ({kept} in django.core.mail.outbox): "
        f"request the fixture agentmail_django to have it sent"
    )
