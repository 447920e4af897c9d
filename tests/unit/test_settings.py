"""Settings: one table, and errors that name the value, the place and what is allowed."""

from __future__ import annotations

import pytest

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.settings import SETTINGS, Settings, parse, run_settings


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("host", "::1", "::1"),
        ("port", "2525", 2525),
        ("port", 0, 0),
        ("tls", "starttls", "starttls"),
        ("auth", "required", "required"),
        ("size_limit", "1000", 1000),
        ("domain", "Münze.Example", "xn--mnze-0ra.example"),
        ("address", "stable", "stable"),
        ("lease", "2.5", 2.5),
        ("checks", "3", 3),
        ("within", 90, 90.0),
        ("raises", "No", False),
        ("raises", True, True),
        ("store", "sqlite", "sqlite"),
        ("store", "sqlite:///runs.db", "sqlite:///runs.db"),
        ("store", "postgresql://ada:s3cret@host/app", "postgresql://ada:s3cret@host/app"),
        ("resume_minimum", "2", 2),
    ],
)
def test_reads(name, given, value):
    assert parse(name, given, place="here") == value


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("host", ""),
        ("host", "a b"),
        ("host", 7),
        ("port", "smtp"),
        ("port", -1),
        ("port", 65536),
        ("port", True),
        ("port", 2.5),
        ("tls", "on"),
        ("tls", True),
        ("auth", "yes"),
        ("size_limit", 0),
        ("size_limit", "1MB"),
        ("domain", "no domain"),
        ("domain", "-a.example"),
        ("domain", ""),
        ("domain", "[127.0.0.1]"),
        ("domain", "a..b"),
        ("address", "fixed"),
        ("lease", -5),
        ("lease", 0),
        ("lease", "nan"),
        ("lease", "inf"),
        ("lease", "soon"),
        ("checks", 0),
        ("checks", "ten"),
        ("within", True),
        ("within", None),
        ("raises", "maybe"),
        ("raises", 1),
        ("store", "redis://host"),
        ("store", "sqlite:///"),
        ("store", 7),
        ("resume_minimum", -1),
    ],
)
def test_refuses_and_names_value_place_and_what_is_allowed(name, given):
    with pytest.raises(SettingsError) as caught:
        parse(name, given, place=f"--agentmail-{name}")

    assert str(caught.value) == (
        f"--agentmail-{name}: {given!r} is not allowed: expected {SETTINGS[name].allowed}"
    )


def test_a_store_is_named_without_its_password():
    with pytest.raises(SettingsError) as caught:
        parse("store", "mysql://ada:s3cret@host/app", place="--agentmail-store")

    assert str(caught.value) == (
        "--agentmail-store: 'mysql://ada@host/app' is not allowed: expected 'memory', 'sqlite' "
        "(a file in pytest's temporary folder), 'sqlite:///path' or "
        "'postgresql://user@host/database'"
    )
    assert "s3cret" not in str(caught.value.__cause__)


def test_every_row_has_its_field_and_every_field_its_row():
    assert list(SETTINGS) == list(Settings._fields)
    assert Settings()._asdict() == {row.name: row.default for row in SETTINGS.values()}


@pytest.mark.parametrize("row", SETTINGS.values(), ids=lambda row: row.name)
def test_every_default_is_allowed_and_of_its_type(row):
    assert parse(row.name, row.default, place="default") == row.default
    types = {"string": str, "int": int, "float": float, "bool": bool}
    assert type(row.default) is types[row.type]


def test_a_run_has_no_settings_of_the_session():
    with pytest.raises(SettingsError) as caught:
        run_settings({"port": 25}, place="open_run")

    assert str(caught.value) == (
        "open_run: there is no setting 'port': "
        "expected one of domain, address, lease, checks, within, clock, datetime, settle, own_sink, raises, store, resume_minimum"
    )
