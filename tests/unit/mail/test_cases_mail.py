"""The mails of real failures (`tests/corpus/cases`): each kind of trouble by its case id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_agentmail.mail.content import Content

CASES = Path(__file__).parents[2] / "corpus" / "cases"
MAILS = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))["mails"]


def content_of(name: str) -> Content:
    return Content((CASES / name).read_bytes().replace(b"\n", b"\r\n"))


@pytest.mark.parametrize(
    "mail", MAILS, ids=lambda mail: f"{'+'.join(mail['cases'])}-{mail['file'][:3]}"
)
def test_the_case_is_read_right(mail):
    content = content_of(mail["file"])
    assert content.subject == mail["subject"]
    assert content.sender == mail["from"]
    assert content.recipients == ((mail["to"],) if mail["to"] else ())
    assert bool(content.text) == mail["has_text"]
    assert bool(content.html) == mail["has_html"]
    assert content.code == mail["code"]
    assert content.link == mail["link"]
    if mail["code"]:
        best = content.code_candidates[0]
        assert best.as_written == mail["code_as_written"]
        assert set(mail["code_where"]) <= set(best.where.split(", "))
    assert not set(mail["decoys"]["codes"] + mail["wrong_results"]) & set(content.codes)
    assert not set(mail["decoys"]["links"] + mail["wrong_results"]) & set(content.links)


def test_hb_01_colours_are_not_displayed():
    assert "#202123" not in content_of("01-css-colours-html-only.eml").visible_text


def test_hb_08_one_digit_per_cell_is_displayed_as_one_number():
    assert "360175" in content_of("08-digit-per-cell.eml").visible_text


def test_hb_23_a_stub_is_not_what_a_person_sees():
    content = content_of("22-ru-stub-text-part.eml")
    assert "550123" in content.text
    assert "550123" not in content.visible_text


def test_hb_29_missing_fields_are_said():
    content = content_of("28-no-date-no-message-id.eml")
    assert content.date is None
    assert content.message_id is None
    assert content.defects == ("there is no Date", "there is no Message-ID")


def test_hb_32_two_mails_with_one_message_id_are_two():
    first, second = content_of("30a-resend-first.eml"), content_of("30b-resend-second.eml")
    assert first.message_id == second.message_id
    assert first.date == second.date
    assert first.fingerprint != second.fingerprint


def test_hb_35_a_blind_copy_names_nobody():
    content = content_of("33-bcc-only-recipient.eml")
    assert content.recipients == ()
    assert content.headers["to"] == "undisclosed-recipients:;"
