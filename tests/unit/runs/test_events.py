"""What can be said of a run, and what is refused (A3, A4, A13, I9)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.runs.events import new_event
from pytest_agentmail.runs.masking import masked, one_line

START = datetime(2026, 10, 21, 15, tzinfo=UTC)


def event(type, **data):
    return new_event(type, data, run_id="run-1", version=1, at=START, life=1)


@pytest.mark.parametrize(
    ("type", "data", "text"),
    [
        (
            "mail_came",
            {},
            (
                "there is no event 'mail_came'; allowed: code_rejected, code_verified, decision_confirmed, "
                "lease_expired, mailbox_leased, message_received, resend_requested, verification_requested, wait_started"
            ),
        ),
        (
            "message_received",
            {"message_id": "m-1", "body": "Your code is 483920"},
            (
                "message_received has no field 'body'; allowed: "
                "message_id, signal_id, header_message_id, sha256, received_at"
            ),
        ),
        ("code_verified", {"code": "483920"}, "code_verified has no field 'code'; allowed: none"),
        ("wait_started", {}, "wait_started needs 'signal_id'"),
        (
            "message_received",
            {"message_id": "two\nlines"},
            r"message_received: message_id cannot be 'two\nlines': Value error, must be one line of printable text",
        ),
        (
            "mailbox_leased",
            {"recipient": "a@mail.test", "lease_expires_at": "2026-10-21T16:00:00"},
            "mailbox_leased: lease_expires_at cannot be '2026-10-21T16:00:00': Input should have timezone info",
        ),
        (
            "message_received",
            {"message_id": "m" * 301},
            (
                f"message_received: message_id cannot be '{'m' * 49}… (303 characters): "
                "String should have at most 300 characters"
            ),
        ),
        (
            "decision_confirmed",
            {},
            "decision_confirmed: the event cannot be {}: Value error, needs one of prompt_version, parameters, decisions",
        ),
    ],
)
def test_what_is_not_allowed_is_named_with_what_is(type, data, text):
    with pytest.raises(SettingsError) as error:
        event(type, **data)
    assert str(error.value) == text


def test_a_decision_is_a_short_value_never_a_conversation():
    with pytest.raises(SettingsError, match=r"decision_confirmed: decisions\.said"):
        event("decision_confirmed", decisions={"said": "word " * 100})
    with pytest.raises(SettingsError, match=r"decision_confirmed: decisions\.said"):
        event("decision_confirmed", decisions={"said": ["a", "b"]})


def test_only_what_was_said_is_kept():
    assert event("message_received", message_id="m-1").data == {"message_id": "m-1"}


def test_remarks_hide_codes_and_links():
    said = event("code_rejected", reason="the app refused 483920 from https://shop.example/v?t=abc")
    assert said.data["reason"] == "the app refused •••••• from https://shop.example/•••"
    assert masked("version 7, life 2") == "version 7, life 2"
    assert one_line("a\nb" + "c" * 400) == "a b" + "c" * 297
