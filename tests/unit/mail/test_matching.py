"""What a message must be to count (B7), and why it does not."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest

from pytest_agentmail.mail.matching import Criteria, fold, nearest_first


@pytest.fixture
def message(world):
    world.lease()
    world.deliver("ada@agentmail.example", subject="[Shop]  Confirm\tyour ACCOUNT", X_Run="seven")
    return world.deliver(
        "ada@agentmail.example", subject="[Shop]  Confirm\tyour ACCOUNT", X_Run="seven"
    )


def test_fold_takes_away_case_width_and_white_space():
    assert fold(" Ｃonfirm\n your\u00a0STRASSE ") == fold("confirm your straße")


@pytest.mark.parametrize(
    "criteria",
    [
        {},
        {"subject": "confirm YOUR account"},
        {"subject": re.compile(r"^\[Shop\]")},
        {"subject": lambda subject: "Shop" in subject},
        {"subject": ""},
        {"sender": "shop@app.example"},
        {"sender": "Shop <"},
        {"body": "code: 483920"},
        {"header": {"x-run": "seven", "To": "ada@"}},
        {"subject": "account", "sender": "shop", "body": re.compile(r"\d{6}")},
    ],
)
def test_counts(message, criteria):
    assert Criteria(**criteria).met_by(message)


@pytest.mark.parametrize(
    ("criteria", "name", "why"),
    [
        ({"subject": "Welcome"}, "subject", "its subject does not contain 'Welcome'"),
        (
            {"subject": re.compile("^Confirm")},
            "subject",
            "its subject does not match /^Confirm/",
        ),
        ({"sender": "bank"}, "sender", "its sender does not contain 'bank'"),
        ({"body": "1234"}, "body", "its body does not contain '1234'"),
        (
            {"header": {"X-Run": "eight"}},
            "header",
            "its header X-Run does not contain 'eight'",
        ),
        (
            {"header": {"X-None": "x"}},
            "header",
            "its header X-None does not contain 'x'",
        ),
    ],
)
def test_says_why_not(message, criteria, name, why):
    (miss,) = Criteria(**criteria).failures(message)
    assert (miss.message, miss.criterion, miss.why) == (message, name, why)


def test_after_a_message_is_by_order_of_acceptance(message):
    assert Criteria(after=message).failures(message)[0].why == (
        f"it came no later than message {message.id}"
    )


def test_after_a_moment_is_by_visibility(message):
    assert Criteria(after=message.visible_at - timedelta(microseconds=1)).met_by(message)
    assert not Criteria(after=message.visible_at).met_by(message)


@pytest.mark.parametrize(
    ("criteria", "text"),
    [
        ({"after": datetime(2026, 1, 1)}, "expected a message or an aware datetime"),
        ({"after": 12}, "after=12: expected a message or an aware datetime"),
        (
            {"subject": 12},
            "subject=12: expected a text, a compiled pattern, a function of a text, or None",
        ),
    ],
)
def test_refuses_what_cannot_be_compared(criteria, text):
    with pytest.raises(TypeError, match=re.escape(text)):
        Criteria(**criteria)


def test_reads_as_words():
    def is_new(text):
        return bool(text)

    assert str(Criteria()) == "any mail"
    assert str(Criteria(subject="Confirm", body=re.compile("a+"), header={"X": None})) == (
        "subject contains 'Confirm', header X is anything, body matches /a+/"
    )
    assert "subject satisfies" in str(Criteria(subject=is_new))
    assert "is_new" in str(Criteria(subject=is_new))


def test_nearest_is_fewest_failures_then_likest_subject_then_newest(world):
    world.lease()
    address = "ada@agentmail.example"
    wanted = Criteria(subject="Confirm your account", sender="shop@")
    far = world.deliver(address, subject="News", sender="news@x.example")
    unlike = world.deliver(address, subject="Welcome")
    like = world.deliver(address, subject="Confirm your order")
    unlike_newer = world.deliver(address, subject="Welcome")
    counted = world.deliver(address)

    misses = nearest_first(
        map(wanted.failures, [far, unlike, like, unlike_newer, counted]), wanted.subject
    )

    assert [miss.message for miss in misses] == [like, unlike_newer, unlike, far]
