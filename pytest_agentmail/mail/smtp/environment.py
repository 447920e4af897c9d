"""The environment variables from which apps read where to send mail."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_agentmail.mail.smtp.engine import Credentials

__all__ = ["Spelling", "environment"]


class Spelling(NamedTuple):
    """How the kinds of app say one way of using TLS."""

    scheme: str
    """In the URLs of nodemailer, NextAuth, Meteor, Symfony: `smtps` is TLS from the start."""
    django_scheme: str
    """In the URLs of django-environ and dj-email-url: `smtps` would be STARTTLS."""
    starttls: bool
    """Whether STARTTLS is to be used."""
    implicit: bool
    """Whether TLS comes first."""


SPELLINGS = {
    "off": Spelling("smtp", "smtp", starttls=False, implicit=False),
    "starttls": Spelling("smtp", "smtp+tls", starttls=True, implicit=False),
    "implicit": Spelling("smtps", "smtp+ssl", starttls=False, implicit=True),
}
"""By the value of the setting `tls`."""


def environment(
    host: str, port: int, *, tls: str, credentials: Credentials | None, ca_file: Path | None
) -> dict[str, str]:
    """The variables for a server there.

    `EMAIL_*` as Django projects name Django's settings, `SMTP_*` as Rails and Node projects do,
    `MAIL_*` as Laravel and Flask-Mail do, and the URL forms of django-environ, NextAuth, Meteor
    and Symfony. `NODE_EXTRA_CA_CERTS` adds to what Node trusts; other apps have to be told of
    `SMTP_CA_FILE`, since no variable adds to what they trust.
    """
    spelling = SPELLINGS[tls]
    starttls, implicit = (str(on).lower() for on in (spelling.starttls, spelling.implicit))
    username, password = (credentials.username, credentials.password) if credentials else ("", "")
    user = f"{username}:{password}@" if credentials else ""
    place = f"{user}[{host}]:{port}" if ":" in host else f"{user}{host}:{port}"
    url = f"{spelling.scheme}://{place}"
    variables = {
        "EMAIL_HOST": host,
        "EMAIL_PORT": str(port),
        "EMAIL_USE_TLS": starttls,
        "EMAIL_USE_SSL": implicit,
        "EMAIL_HOST_USER": username,
        "EMAIL_HOST_PASSWORD": password,
        "EMAIL_URL": f"{spelling.django_scheme}://{place}",
        "EMAIL_SERVER": url,
        "SMTP_HOST": host,
        "SMTP_ADDRESS": host,
        "SMTP_PORT": str(port),
        "SMTP_SECURE": implicit,
        "SMTP_STARTTLS": starttls,
        "SMTP_URL": url,
        "MAIL_MAILER": "smtp",
        "MAIL_HOST": host,
        "MAIL_SERVER": host,
        "MAIL_PORT": str(port),
        "MAIL_USE_TLS": starttls,
        "MAIL_USE_SSL": implicit,
        "MAIL_URL": url,
        "MAILER_DSN": url,
    }
    if credentials:
        variables |= {
            "SMTP_USER": username,
            "SMTP_USERNAME": username,
            "SMTP_PASSWORD": password,
            "MAIL_USERNAME": username,
            "MAIL_PASSWORD": password,
        }
    if ca_file:
        variables |= {"SMTP_CA_FILE": str(ca_file), "NODE_EXTRA_CA_CERTS": str(ca_file)}
    return variables
