"""Where lines and mails end."""

from __future__ import annotations

import pytest

from pytest_agentmail.mail.smtp.framing import Framing, Oversized

TOO_MUCH = Oversized.OVERSIZED


@pytest.fixture
def framing():
    return Framing(mail_limit=100)


def mail_of(framing, wire):
    framing.feed(wire)
    return framing.mail()


def test_lines_end_with_lf_with_or_without_cr(framing):
    framing.feed(b"EHLO me\r\nNOOP\nQU")
    assert [framing.line() for _ in range(3)] == [b"EHLO me", b"NOOP", None]
    framing.feed(b"IT\r\n")
    assert framing.line() == b"QUIT"
    assert len(framing) == 0


@pytest.mark.parametrize(
    ("wire", "mail"),
    [
        (b".\r\n", b""),
        (b"\r\n.\r\n", b"\r\n"),
        (b"one\r\n.\r\n", b"one\r\n"),
        (b"..\r\n.\r\n", b".\r\n"),
        (b"..one\r\n...two\r\n.\r\n", b".one\r\n..two\r\n"),
        (b".one\r\n.\r\n", b"one\r\n"),
        (b"a.b\r\n.\r\n", b"a.b\r\n"),
    ],
)
def test_dot_stuffing_is_undone(framing, wire, mail):
    assert mail_of(framing, wire) == mail


@pytest.mark.parametrize(
    "no_end",
    [
        b"\n.\r\n",
        b"\n.\n",
        b"\r.\r",
        b"\r.\r\n",
        b"\r\n.\n",
        b"\r\n.\r",
        b"\r\n\0.\r\n",
        b"\r\n. \r\n",
    ],
)
def test_no_other_line_ends_end_a_mail(framing, no_end):
    """Whoever takes one of these for an end can be sent a mail inside a mail."""
    smuggled = b"MAIL FROM:<b@b.example>\r\n"
    mail = mail_of(framing, b"one" + no_end + smuggled + b".\r\n")
    # A line that begins with a dot has lost it; everything else is as it was sent.
    assert mail == (b"one" + no_end + smuggled).replace(b"\r\n.", b"\r\n")


def test_what_follows_a_mail_is_read_as_lines(framing):
    assert mail_of(framing, b"one\r\n.\r\nMAIL FROM:<>\r\nQUIT\r\n") == b"one\r\n"
    assert [framing.line(), framing.line(), framing.line()] == [b"MAIL FROM:<>", b"QUIT", None]


def test_a_second_mail_is_a_mail_of_its_own(framing):
    assert mail_of(framing, b"one\r\n.\r\n") == b"one\r\n"
    assert mail_of(framing, b".\r\n") == b""


@pytest.mark.parametrize("size", [100, 101, 300, 5000])
def test_a_mail_may_be_as_large_as_the_limit_and_no_larger(framing, size):
    mail = b"x" * (size - 2) + b"\r\n"
    assert mail_of(framing, mail + b".\r\nNOOP\r\n") == (mail if size <= 100 else TOO_MUCH)
    assert framing.line() == b"NOOP"


def test_the_limit_does_not_count_the_stuffing(framing):
    framing.feed(b"")
    dots = b".\r\n" * 33
    for byte in dots.replace(b".", b"..") + b".\r":
        assert mail_of(framing, bytes([byte])) is None
    assert mail_of(framing, b"\n") == dots


def test_a_mail_over_the_limit_is_thrown_away_as_it_comes(framing):
    for _ in range(1000):
        assert mail_of(framing, b"x" * 1000) is None
        assert len(framing) < 1200
    for byte in b"\r\n.\r":
        assert mail_of(framing, bytes([byte])) is None
    assert mail_of(framing, b"\n") is TOO_MUCH
    assert mail_of(framing, b"small again\r\n.\r\n") == b"small again\r\n"


def test_a_line_over_the_limit_is_thrown_away_as_it_comes(framing):
    for _ in range(100):
        framing.feed(b"x" * 1000)
        assert framing.line() is None
        assert len(framing) < 14_000
    framing.feed(b"x\r\nNOOP\r\n")
    assert framing.line() is TOO_MUCH
    assert framing.line() == b"NOOP"


def test_a_line_over_the_limit_in_one_piece(framing):
    framing.feed(b"x" * 13_000 + b"\r\nNOOP\r\n")
    assert framing.line() is TOO_MUCH
    assert framing.line() == b"NOOP"


def test_what_was_not_asked_for_can_be_forgotten(framing):
    framing.feed(b"NOOP\r\nQU")
    assert framing.line() == b"NOOP"
    assert framing.line() is None
    framing.clear()
    framing.feed(b"NOOP\r\n")
    assert framing.line() == b"NOOP"
