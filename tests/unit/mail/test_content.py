"""What one mail says, whole or damaged."""

from __future__ import annotations

import datetime as dt
import hashlib

import pytest

from pytest_agentmail.mail.content import Content

MULTI = b"""Subject: Hi
Content-Type: multipart/mixed; boundary=cut

--cut
Content-Type: text/plain

Your code is 123456
--cut
Content-Type: text/plain; name=notes.txt
Content-Disposition: inline; filename=notes.txt

not the body
--cut
Content-Type: text/calendar

BEGIN
--cut
Content-Type: application/pdf; name*=utf-8''caf%C3%A9.pdf
Content-Transfer-Encoding: base64

JVBERg==
--cut
Content-Type: message/rfc822

Subject: old
Content-Type: multipart/mixed; boundary=inner

--inner

Your code is 999999
--inner--
--cut--
"""


def mail(head: str, body: bytes | str = b"", charset: str = "utf-8") -> Content:
    octets = body.encode(charset) if isinstance(body, str) else body
    return Content(f"{head}\n\n".replace("\n", "\r\n").encode() + octets)


def test_identity():
    content = mail("Subject: a", "b")
    assert content.sha256 == hashlib.sha256(content.raw).hexdigest()


def test_the_fingerprint_knows_no_trace():
    plain = mail("Subject: a\nX-B: c\n d", "Received: body")
    traced = mail(
        "Return-Path: <x@y>\nReceived: from\n\tsomewhere\nSubject: a\nX-B: c\n d", "Received: body"
    )
    assert plain.fingerprint == traced.fingerprint
    assert plain.fingerprint != mail("Subject: b\nX-B: c\n d", "Received: body").fingerprint


def test_header_fields():
    content = mail(
        "From: =?utf-8?Q?J=C3=B6rg?= <a@b.example>\nTo: c@d.example, E <e@f.example>\n"
        "Cc: c@d.example\nSubject: \nSubject: second\nMessage-ID: <1@b.example>\n"
        "Date: Tue, 13 Oct 2026 09:02:44 +0200"
    )
    assert (content.sender, content.sender_name) == ("a@b.example", "Jörg")
    assert content.recipients == ("c@d.example", "e@f.example")
    assert content.subject == "second"
    assert content.message_id == "<1@b.example>"
    assert content.date == dt.datetime(2026, 10, 13, 7, 2, 44, tzinfo=dt.UTC)
    assert content.defects == ("the header has 2 Subject fields; the first counts",)


@pytest.mark.parametrize(
    "date", ["nonsense", "Tue, 99 Oct 2026 09:02:44", "", "31 Dec 9999 23:59:59 -2359"]
)
def test_an_unreadable_date_is_none(date):
    content = mail(f"Date: {date}")
    assert content.date is None
    assert f"the Date {date!r} cannot be read" in content.defects


def test_a_date_without_a_zone_is_utc():
    assert mail("Date: 13 Oct 2026 09:02:44 -0000").date == dt.datetime(
        2026, 10, 13, 9, 2, 44, tzinfo=dt.UTC
    )


def test_missing_fields():
    content = mail("X-A: b")
    assert (content.subject, content.sender, content.sender_name) == ("", "", "")
    assert content.defects == (
        "there is no Date",
        "there is no Message-ID",
        "there is no sender address",
    )
    assert "the Message-ID 'abc' is malformed" in mail("Message-ID: abc").defects
    assert mail("Sender: a@b.example").sender == "a@b.example"
    assert mail("From: Only Name").sender_name == "Only Name"


def test_attachments_are_no_body():
    content = Content(MULTI)
    assert content.code == "123456"
    assert "not the body" not in content.text
    assert [(a.filename, a.content_type) for a in content.attachments] == [
        ("notes.txt", "text/plain"),
        ("café.pdf", "application/pdf"),
        (None, "message/rfc822"),
    ]
    assert content.attachments[1].content == b"%PDF"
    assert b"999999" in content.attachments[2].content
    assert content.html is None
    assert content.visible_text.strip() == "Your code is 123456"


def test_an_attached_message_speaks_for_a_mail_without_a_body():
    content = mail("Content-Type: message/rfc822", "Subject: inner\r\n\r\nYour code is 123456")
    assert content.code == "123456"
    assert (
        "the mail has no body of its own; that of the attached message was read" in content.defects
    )


@pytest.mark.parametrize(
    ("head", "body", "text", "defect"),
    [
        ("Content-Type: multipart/alternative", "--cut\r\nContent-Type: text/plain\r\n\r\nhello\r\n--cut--", "hello", "the boundary in the header fits nothing; the one in the body was used"),
        ("Content-Type: multipart/mixed; boundary=other", "--cut\r\nContent-Type: text/plain\r\n\r\nhello\r\n--cut--", "hello", "a multipart's boundary never occurs"),
        ("Content-Type: multipart/mixed", "just text", "just text", "a multipart names no boundary"),
        ("Content-Type: multipart/mixed; boundary=cut", "--cut\r\n\r\nhello\r\n", "hello", "a multipart is cut short: its last boundary is missing"),
        ("Content-Type: text", "hello", "hello", "the content type 'text' was taken for text"),
        ("Content-Type: html", "<p>hello</p>", "", "the content type 'html' was taken for text"),
        ("Content-Type: text/plain", "<!DOCTYPE html><p>hello", "", "a body labelled text/plain holds HTML and was read as such"),
        ("Content-Type: text/plain; format=flowed", "one \r\ntwo\r\n> three\r\n-- \r\nme", "one two\n> three\n--\nme", None),
        ("Content-Type: text/plain; format=flowed; delsp=yes", "https://a.example/ \r\nb", "https://a.example/b", None),
        ("Content-Type: text/plain; format=fixed", "one \r\ntwo", "one \ntwo", None),
        ("Subject: x", "a\rb\r\nc", "a\nb\nc", None),
    ],
)  # fmt: skip
def test_bodies(head, body, text, defect):
    content = mail(head, body)
    assert content.text == text
    if defect:
        assert defect in content.defects


def test_the_charset_inside_the_html_counts_where_there_is_no_other():
    content = mail(
        "Content-Type: text/html",
        '<meta charset="windows-1251"><p>Код подтверждения',
        "windows-1251",
    )
    assert content.visible_text == "Код подтверждения"
    assert content.defects[-3:] == (
        "there is no Date",
        "there is no Message-ID",
        "there is no sender address",
    )


def test_blank_lines_before_the_header():
    content = Content(b"\r\n\r\nSubject: hi\r\n\r\nbody")
    assert content.subject == "hi"
    assert "blank lines before the header were skipped" in content.defects


def test_a_structure_beyond_repair_is_read_as_one_text():
    head = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(1500))
    content = Content(f"Subject: hi\n{head}\nYour code is 123456\n".encode())
    assert content.subject == "hi"
    assert "123456" in content.codes
    assert "the structure is beyond repair (RecursionError); read as one text" in content.defects


def test_parts_nested_too_deep_are_left():
    head = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(70))
    content = Content(f"Subject: hi\n{head}\nYour code is 123456\n".encode())
    assert content.code is None
    assert "parts nested too deep were not read" in content.defects


def test_a_part_that_holds_parts_and_says_it_does_not():
    content = mail(
        "Content-Type: message/delivery-status", "Reporting-MTA: dns; a\r\n\r\nAction: failed\r\n"
    )
    (attachment,) = content.attachments
    assert b"Action: failed" in attachment.content
