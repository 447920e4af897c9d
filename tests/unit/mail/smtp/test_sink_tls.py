"""TLS and AUTH: off unless asked for (HB-47), and then as clients expect them."""

from __future__ import annotations

import base64
import smtplib
import socket
import ssl
import sys
from contextlib import suppress

import freezegun
import pytest

from pytest_agentmail.errors import SinkError
from pytest_agentmail.mail.smtp.tls import identity

OK = "250 2.0.0 OK"
ENVELOPE = ("a@b.c", ["x@y.z"], b"hi\r\n")


def b64(text):
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
def starttls(start):
    return start(tls="starttls")


@pytest.fixture
def implicit(start):
    return start(tls="implicit")


def test_hb47_off_by_default_so_a_verifying_client_gets_its_mail_through(sink, taken):
    with smtplib.SMTP(sink.host, sink.port) as client:
        client.ehlo()
        assert not client.has_extn("starttls")
        client.sendmail(*ENVELOPE)
    assert taken
    assert sink.ca_file is None


def test_hb47_with_the_authority_a_verifying_client_gets_its_mail_through(
    starttls, taken, trusting
):
    with smtplib.SMTP(starttls.host, starttls.port) as client:
        client.starttls(context=trusting(starttls))
        client.sendmail(*ENVELOPE)
    assert taken


def test_hb47_without_the_authority_it_does_not(starttls, taken):
    with (
        smtplib.SMTP(starttls.host, starttls.port) as client,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        client.starttls(context=ssl.create_default_context())
    assert not taken


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_implicit_tls(implicit, taken, trusting, name):
    with smtplib.SMTP_SSL(name, implicit.port, context=trusting(implicit)) as client:
        client.ehlo()
        assert not client.has_extn("starttls")
        assert client.docmd("STARTTLS")[0] == 500
        client.sendmail(*ENVELOPE)
    assert taken


def test_the_plain_way_stays_open_beside_starttls(connect, starttls, taken):
    assert connect(starttls).send(b"plain") == OK
    assert taken


def test_starttls_forgets_what_was_said_in_the_clear(connect, starttls, trusting):
    """RFC 3207 §4.2: even what came in the same segment."""
    client = connect(starttls)
    client.envelope()
    assert client.ask("STARTTLS now") == "501 Syntax: STARTTLS"
    client.say(b"STARTTLS\r\nEHLO evil\r\n")
    assert client.reply()[:3] == "220"
    client.start_tls(starttls, trusting(starttls))
    assert client.ask("RCPT TO:<x@y.z>") == "503 Error: send HELO first"
    assert "STARTTLS" not in client.ask("EHLO me")
    assert client.ask("STARTTLS") == "503 TLS is in use already"


def test_pipelining_and_large_mails_in_tls(connect, implicit, taken, trusting):
    client = connect(implicit, context=trusting(implicit))
    large = b"x" * 3_000_000
    client.ask("EHLO me")
    client.say(b"MAIL FROM:<a@b.c>\r\nRCPT TO:<x@y.z>\r\nDATA\r\n" + large + b"\r\n.\r\nQUIT\r\n")
    assert client.rest().splitlines()[-2:] == [OK, "221 Bye"]
    assert taken[0].raw == large + b"\r\n"


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
@pytest.mark.parametrize("noise", [b"", b"EHLO me\r\n", b"\x16\x03\x01\x02\x00\x01", b"\0" * 5000])
def test_a_handshake_that_fails_ends_that_session_alone(
    start, connect, taken, trusting, tls, noise
):
    sink = start(tls=tls)
    bad = connect(sink, greeted=tls == "starttls")
    if tls == "starttls":
        bad.ask("STARTTLS")
    bad.say(noise)
    bad.socket.shutdown(socket.SHUT_WR)
    bad.rest()
    good = connect(sink, context=trusting(sink) if tls == "implicit" else None)
    assert good.send(b"still here") == OK


def test_the_certificate_is_made_once(start):
    first, second = start(tls="starttls"), start(tls="implicit")
    assert first.ca_file != second.ca_file
    assert first.ca_file.read_bytes() == second.ca_file.read_bytes()


def test_the_certificate_is_valid_under_a_frozen_clock():
    with freezegun.freeze_time("2999-01-01"):
        context, authority = identity("frozen.example")
    mine = ssl.create_default_context(cadata=authority.decode())
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        there.setblocking(False)
        client = mine.wrap_socket(
            here, server_hostname="frozen.example", do_handshake_on_connect=False
        )
        server = context.wrap_socket(there, server_side=True, do_handshake_on_connect=False)
        with client, server:
            for _ in range(4):
                for side in (client, server):
                    with suppress(ssl.SSLWantReadError):
                        side.do_handshake()
            assert client.getpeercert()["subjectAltName"][0] == ("DNS", "frozen.example")


def test_the_ca_file_goes_where_it_is_told_and_else_with_the_sink(start, office, tmp_path):
    kept, temporary = start(tls="starttls", directory=tmp_path), start(tls="starttls")
    assert kept.ca_file == tmp_path / "ca.pem"
    path = temporary.ca_file
    assert path.exists()
    temporary.stop()
    assert not path.exists()
    assert not path.parent.exists()
    temporary.start()


def test_tls_without_its_library(start, monkeypatch):
    monkeypatch.setitem(sys.modules, "trustme", None)
    identity.cache_clear()
    with pytest.raises(SinkError) as caught:
        start(tls="starttls")
    assert str(caught.value) == (
        "TLS needs the library trustme; install it with: pip install 'pytest-agentmail[tls]'"
    )


def test_a_host_that_no_certificate_can_be_made_for(start):
    with pytest.raises(SinkError, match=r"^no certificate can be made for host 'a_b\.\.c': "):
        start(tls="starttls", host="a_b..c")


# AUTH


def test_auth_is_off_by_default(client, sink):
    assert "AUTH" not in client.ask("EHLO me")
    assert sink.username is None
    assert sink.password is None


@pytest.mark.parametrize("how", ["PLAIN", "LOGIN", "login initial"])
@pytest.mark.parametrize(
    ("auth", "username", "password", "let_in"),
    [
        ("optional", "anyone", "anything", True),
        ("optional", "ünicode", "pässword", True),
        ("required", "agentmail", "agentmail", True),
        ("required", "agentmail", "wrong", False),
        ("required", "wrong", "agentmail", False),
    ],
)
def test_logging_in(start, connect, how, auth, username, password, let_in):
    client = connect(start(auth=auth))
    assert "250-AUTH PLAIN LOGIN" in client.ask("EHLO me").splitlines()
    match how:
        case "PLAIN":
            reply = client.ask(f"AUTH PLAIN {b64(f'{chr(0)}{username}{chr(0)}{password}')}")
        case "LOGIN":
            assert client.ask("AUTH LOGIN") == f"334 {b64('Username:')}"
            assert client.ask(b64(username)) == f"334 {b64('Password:')}"
            reply = client.ask(b64(password))
        case _:
            assert client.ask(f"AUTH login {b64(username)}") == f"334 {b64('Password:')}"
            reply = client.ask(b64(password))
    assert reply[:3] == ("235" if let_in else "535")
    assert client.envelope()[:3] == ("250" if let_in else "530")


def test_where_auth_is_required_mail_is_refused_before_it(start, taken):
    sink = start(auth="required")
    with smtplib.SMTP(sink.host, sink.port) as client:
        with pytest.raises(smtplib.SMTPSenderRefused) as caught:
            client.sendmail(*ENVELOPE)
        assert caught.value.smtp_code == 530
        client.login(sink.username, sink.password)
        client.sendmail(*ENVELOPE)
    assert len(taken) == 1


def test_where_auth_is_optional_mail_is_taken_without(start, connect, taken):
    assert connect(start(auth="optional")).send(b"hi") == OK


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        (["AUTH"], "501"),
        (["AUTH CRAM-MD5"], "504"),
        (["AUTH PLAIN !!!"], "501"),
        (["AUTH PLAIN ="], "501"),
        (["AUTH PLAIN", "*"], "501"),
        (["AUTH LOGIN", "*"], "501"),
        (["AUTH PLAIN", "x" * 20_000], "501"),
        (["AUTH PLAIN", "!"], "501"),
        ([f"AUTH PLAIN {b64('no separators')}"], "501"),
    ],
)
def test_logging_in_badly(start, connect, said, answered):
    client = connect(start(auth="optional"))
    client.ask("EHLO me")
    assert client.ask(*said)[:3] == answered
    assert client.ask("NOOP") == "250 OK"


def test_a_client_that_hangs_up_while_it_logs_in(start, connect):
    sink = start(auth="required")
    client = connect(sink)
    client.ask("EHLO me", "AUTH LOGIN")
    client.close()
    assert connect(sink).ask("NOOP") == "250 OK"
