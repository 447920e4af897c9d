"""Histories: in time order, printable as code, and playable."""

from __future__ import annotations

import pytest

from pytest_agentmail import world
from pytest_agentmail.errors import SettingsError
from pytest_agentmail.scenarios.history import MailHistory


def test_it_prints_as_the_code_that_makes_it():
    history = MailHistory(
        world.mail_dropped(),
        world.mail_arrives(after=9),
        world.provider_fails("503", times=1),
        world.mail_arrives(after=3, run="other"),
        world.smtp_refuses(451),
    )
    said = (
        "MailHistory(world.mail_arrives(after=3, run='other'), world.mail_arrives(after=9), "
        "world.mail_dropped(), world.smtp_refuses(451), world.provider_fails('503', times=1))"
    )
    assert repr(history) == said
    assert eval(said) == history
    assert len({history, eval(said)}) == 1
    assert history != MailHistory()
    assert history != said


def test_mail_at_one_time_keeps_its_order():
    first, second = world.mail_arrives(code="1111"), world.mail_arrives(code="2222")
    assert MailHistory(first, second).arrivals == (first, second)


@pytest.mark.parametrize("thing", ["mail", world, None])
def test_only_what_the_world_does_belongs_there(thing):
    with pytest.raises(SettingsError, match=r"is nothing the world does: expected world\.…"):
        MailHistory(thing)
