"""What apps are told of the sink."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentmail.mail.smtp.engine import Credentials
from pytest_agentmail.mail.smtp.environment import environment

PLAIN = {
    "EMAIL_HOST": "127.0.0.1",
    "EMAIL_PORT": "2525",
    "EMAIL_USE_TLS": "false",
    "EMAIL_USE_SSL": "false",
    "EMAIL_HOST_USER": "",
    "EMAIL_HOST_PASSWORD": "",
    "EMAIL_URL": "smtp://127.0.0.1:2525",
    "EMAIL_SERVER": "smtp://127.0.0.1:2525",
    "SMTP_HOST": "127.0.0.1",
    "SMTP_ADDRESS": "127.0.0.1",
    "SMTP_PORT": "2525",
    "SMTP_SECURE": "false",
    "SMTP_STARTTLS": "false",
    "SMTP_URL": "smtp://127.0.0.1:2525",
    "MAIL_MAILER": "smtp",
    "MAIL_HOST": "127.0.0.1",
    "MAIL_SERVER": "127.0.0.1",
    "MAIL_PORT": "2525",
    "MAIL_USE_TLS": "false",
    "MAIL_USE_SSL": "false",
    "MAIL_URL": "smtp://127.0.0.1:2525",
    "MAILER_DSN": "smtp://127.0.0.1:2525",
}


def changed(**terms):
    given = {"tls": "off", "credentials": None, "ca_file": None, **terms}
    variables = environment(given.pop("host", "127.0.0.1"), 2525, **given)
    assert set(variables) >= set(PLAIN)
    return {name: value for name, value in variables.items() if PLAIN.get(name) != value}


def test_plain():
    assert changed() == {}


def urls(url, django=None):
    names = ["EMAIL_SERVER", "SMTP_URL", "MAIL_URL", "MAILER_DSN"]
    return {**dict.fromkeys(names, url), "EMAIL_URL": django or url}


def test_starttls():
    assert changed(tls="starttls", ca_file=Path("/tmp/ca.pem")) == {
        "EMAIL_USE_TLS": "true",
        "SMTP_STARTTLS": "true",
        "MAIL_USE_TLS": "true",
        "EMAIL_URL": "smtp+tls://127.0.0.1:2525",
        "SMTP_CA_FILE": "/tmp/ca.pem",
        "NODE_EXTRA_CA_CERTS": "/tmp/ca.pem",
    }


def test_implicit_tls():
    assert changed(tls="implicit") == {
        "EMAIL_USE_SSL": "true",
        "SMTP_SECURE": "true",
        "MAIL_USE_SSL": "true",
        **urls("smtps://127.0.0.1:2525", django="smtp+ssl://127.0.0.1:2525"),
    }


def test_credentials():
    assert changed(credentials=Credentials("me", "secret")) == {
        "EMAIL_HOST_USER": "me",
        "EMAIL_HOST_PASSWORD": "secret",
        "SMTP_USER": "me",
        "SMTP_USERNAME": "me",
        "SMTP_PASSWORD": "secret",
        "MAIL_USERNAME": "me",
        "MAIL_PASSWORD": "secret",
        **urls("smtp://me:secret@127.0.0.1:2525"),
    }


@pytest.mark.parametrize("name", ["EMAIL_URL", "SMTP_URL"])
def test_ipv6(name):
    assert changed(host="::1")[name] == "smtp://[::1]:2525"


def test_a_sink_tells_how_to_log_in_and_whom_to_trust(start):
    sink = start(tls="implicit", auth="required")
    variables = sink.env()
    assert variables["SMTP_URL"] == f"smtps://agentmail:agentmail@127.0.0.1:{sink.port}"
    assert variables["SMTP_CA_FILE"] == str(sink.ca_file)
    assert (sink.username, sink.password) == ("agentmail", "agentmail")
    assert sink.url == f"smtps://127.0.0.1:{sink.port}"
