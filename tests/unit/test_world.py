"""The words for what the world can do: values that print as their code, and refuse nonsense."""

from __future__ import annotations

import re

import pytest

from pytest_agentmail import world
from pytest_agentmail.errors import SettingsError

SAID = [
    "world.mail_arrives()",
    "world.mail_arrives(after=45, code='118273', run='other')",
    "world.mail_arrives(code=None, link='https://app.example/confirm?t=1')",
    "world.mail_delayed(5)",
    "world.mail_delayed(5, nth=2)",
    "world.mail_duplicated()",
    "world.mail_duplicated(copies=3, apart=1.5)",
    "world.mail_dropped()",
    "world.mail_dropped(n=2)",
    "world.mail_reordered()",
    "world.mail_misdelivered(nth=4)",
    "world.mail_adversarial('hidden_text')",
    "world.smtp_refuses(451)",
    "world.smtp_refuses(550, at='DATA', times=3)",
    "world.smtp_slow(2, at='MAIL')",
    "world.smtp_drops_connection(at='before_reply')",
    "world.provider_fails('503', times=2)",
    "world.provider_fails('503', for_=30)",
    "world.provider_rate_limits(2, times=3)",
    "world.provider_lags(5)",
    "world.provider_times_out(seconds=3)",
    "world.provider_is_stale()",
    "world.provider_omits_bodies(times=2)",
    "world.provider_breaks()",
]


@pytest.mark.parametrize("said", SAID)
def test_a_value_prints_as_the_code_that_makes_it(said):
    value = eval(said)
    assert repr(value) == said
    assert value == eval(repr(value))


def test_every_word_is_tried_here():
    words = {name for name in world.__all__ if name.islower()}
    assert {said.partition(".")[2].partition("(")[0] for said in SAID} == words


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("mail_arrives(after=-1)", "mail_arrives(after=-1): expected seconds, 0 or more"),
        (
            "mail_arrives(run='mine')",
            "mail_arrives(run='mine'): expected one of this, other, earlier",
        ),
        ("mail_arrives(code='12 34')", "mail_arrives(code='12 34'): expected letters and digits"),
        ("mail_delayed(-1)", "mail_delayed(seconds=-1): expected seconds, 0 or more"),
        ("mail_delayed('5')", "mail_delayed(seconds='5'): expected seconds, 0 or more"),
        ("mail_delayed(5, nth=0)", "mail_delayed(nth=0): expected a whole number, 1 or more"),
        ("mail_reordered(nth=1.5)", "mail_reordered(nth=1.5): expected a whole number, 1 or more"),
        ("mail_duplicated(1)", "mail_duplicated(copies=1): expected a whole number, 2 or more"),
        ("mail_dropped(True)", "mail_dropped(n=True): expected a whole number, 1 or more"),
        (
            "mail_adversarial('rude')",
            "mail_adversarial(kind='rude'): expected one of instructions, display_name, "
            "hidden_text, decoy_code, expired_code, lookalike_link",
        ),
        ("smtp_refuses(250)", "smtp_refuses(code=250): expected a reply code from 400 to 599"),
        (
            "smtp_refuses(451, at='before_reply')",
            "smtp_refuses(at='before_reply'): expected one of EHLO, MAIL, RCPT, DATA",
        ),
        (
            "smtp_drops_connection(at='QUIT')",
            "smtp_drops_connection(at='QUIT'): expected one of CONNECT, EHLO, MAIL, RCPT, DATA, "
            "before_reply",
        ),
        (
            "provider_fails('503')",
            "provider_fails(times=None): expected either times= or for_=, and not both",
        ),
        (
            "provider_fails('503', times=1, for_=1)",
            "provider_fails(times=1): expected either times= or for_=, and not both",
        ),
        ("provider_fails('', times=1)", "provider_fails(code=''): expected a short text"),
    ],
)
def test_nonsense_is_refused_with_what_is_allowed(said, text):
    with pytest.raises(SettingsError, match=f"^{re.escape('world.' + text)}$"):
        eval(f"world.{said}")


def test_every_word_is_called_as_it_prints():
    words = {name: getattr(world, name) for name in world.__all__ if name.islower()}
    assert {name: made.word for name, made in words.items()} == {name: name for name in words}
