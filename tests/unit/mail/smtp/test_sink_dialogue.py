"""SMTP in full, on the plain port (RFC 5321 and what it announces)."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import smtplib
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from email.policy import SMTPUTF8

import pytest

from pytest_agentmail.mail.smtp.faults import Delay, Reply

OK = "250 2.0.0 OK"


def test_says_what_it_can(client):
    assert client.greeting == "220 agentmail ESMTP pytest_agentmail"
    assert client.ask("EHLO me").splitlines() == [
        "250-agentmail",
        "250-SIZE 67108864",
        "250-8BITMIME",
        "250-SMTPUTF8",
        "250-PIPELINING",
        "250 HELP",
    ]


def test_help_names_only_what_is_offered(client):
    reply = client.ask("HELP")
    assert "AUTH" not in reply
    assert "STARTTLS" not in reply
    assert client.ask("HELP DATA") == "250 Syntax: DATA"


def test_takes_a_mail_as_it_was_sent(client, taken):
    assert client.send(b"Subject: hi\r\n\r\n..dot\r\n.. two\r\n", "x@y.z", "b@c.d") == OK
    assert taken == [
        (b"Subject: hi\r\n\r\n.dot\r\n. two\r\n\r\n", "app@app.example", ("x@y.z", "b@c.d"))
    ]


def test_takes_one_mail_after_another(client, taken):
    for number in range(5):
        assert client.send(b"%d" % number) == OK
    assert [mail.raw for mail in taken] == [b"%d\r\n" % number for number in range(5)]


def test_takes_lines_of_megabytes(client, taken):
    line = b"x" * (3 * 1024 * 1024)
    assert client.send(line) == OK
    assert taken[0].raw == line + b"\r\n"


def test_takes_all_bytes(client, taken):
    every = bytes(byte for byte in range(256) if byte not in b"\r\n.")
    assert client.ask("EHLO me", "MAIL FROM:<a@b.c> BODY=8BITMIME") == "250 OK"
    assert client.ask("RCPT TO:<x@y.z>", "DATA")[:3] == "354"
    client.say(every + b"\r\n.\r\n")
    assert client.reply() == OK
    assert taken[0].raw == every + b"\r\n"


def test_takes_addresses_and_headers_in_unicode(sink, taken):
    mail = EmailMessage(policy=SMTPUTF8)
    mail["From"], mail["To"], mail["Subject"] = (
        "jürgen@bücher.example",
        "用户@例子.example",
        "Grüße",
    )
    mail.set_content("你好")
    with smtplib.SMTP(sink.host, sink.port) as client:
        client.send_message(mail)
    assert taken[0].sender == "jürgen@bücher.example"
    assert taken[0].recipients == ("用户@例子.example",)
    assert "Subject: Grüße".encode() in taken[0].raw


@pytest.mark.parametrize(
    ("path", "recipient"),
    [
        ("<x@y.z>", "x@y.z"),
        ("x@y.z", "x@y.z"),
        (" <x@y.z>", "x@y.z"),
        ("<x+tag@y.z>", "x+tag@y.z"),
        ('<"john doe"@y.z>', '"john doe"@y.z'),
        ('<"a@b"@y.z>', '"a@b"@y.z'),
        ('<"plain"@y.z>', "plain@y.z"),
        ("<@relay.example,@two.example:x@y.z>", "x@y.z"),
        ("<x@[127.0.0.1]>", "x@[127.0.0.1]"),
        ("<x@[IPv6:::1]>", "x@[IPv6:::1]"),
        ("<Postmaster>", "Postmaster"),
        ("<a..b.@y.z>", "a..b.@y.z"),
        ("<ü@bücher.example>", "ü@bücher.example"),
        ("<x@xn--bcher-kva.example>", "x@xn--bcher-kva.example"),
        ("<!#$%&'*+-/=?^_`{|}~@y.z>", "!#$%&'*+-/=?^_`{|}~@y.z"),
    ],
)
def test_takes_odd_but_legal_addresses(client, taken, path, recipient):
    assert client.ask("EHLO me", "MAIL FROM:<a@b.c>", f"RCPT TO:{path}") == "250 OK"
    assert client.ask("DATA")[:3] == "354"
    client.say(b"x\r\n.\r\n")
    assert client.reply() == OK
    assert taken[0].recipients == (recipient,)


@pytest.mark.parametrize("path", ["<", "<>", "<@>", "<x@y.z", "()", "((((", '"', "@", "," * 50])
def test_refuses_what_is_no_address_and_goes_on(client, taken, path):
    assert client.ask("EHLO me", "MAIL FROM:<a@b.c>", f"RCPT TO:{path}")[:3] in {
        "501",
        "553",
        "555",
    }
    assert client.ask("RSET") == "250 OK"
    assert client.send(b"x") == OK


def test_refuses_addresses_in_no_known_encoding(client):
    client.ask("EHLO me", "MAIL FROM:<a@b.c>")
    client.say(b"RCPT TO:<\xff\xfe@y.z>\r\n")
    assert client.reply() == "553 5.1.3 Error: malformed address"


def test_a_bounce_has_no_sender(client, taken):
    """RFC 5321 §4.5.5."""
    assert client.send(b"it came back", sender="") == OK
    assert taken[0].sender == ""


def test_knows_the_parameters_it_announced_and_no_others(client):
    client.ask("EHLO me")
    assert client.ask("MAIL FROM:<a@b.c> SIZE=100 BODY=8BITMIME SMTPUTF8 AUTH=<>") == "250 OK"
    client.ask("RSET")
    assert client.ask("MAIL FROM:<a@b.c> RET=HDRS")[:3] == "555"
    assert client.ask("MAIL FROM:<a@b.c> BODY=BINARYMIME")[:3] == "501"


@pytest.mark.parametrize("no_end", [b"\n.\r\n", b"\n.\n", b"\r.\r"])
def test_no_mail_is_smuggled_in_another(client, taken, no_end):
    inner = b"MAIL FROM:<evil@e.example>\r\nRCPT TO:<x@y.z>\r\nDATA\r\nevil\r\n"
    assert client.send(b"outer" + no_end + inner) == OK
    assert client.ask("NOOP") == "250 OK"
    assert len(taken) == 1
    assert taken[0].raw == b"outer" + no_end + inner + b"\r\n"


def test_pipelining_in_one_segment_until_the_mail(client, taken):
    client.ask("EHLO me")
    client.say(
        b"MAIL FROM:<a@b.c>\r\nRCPT TO:<x@y.z>\r\nRCPT TO:<bad\r\nRCPT TO:<v@w.x>\r\nDATA\r\n"
    )
    assert [client.reply()[:3] for _ in range(5)] == ["250", "250", "553", "250", "354"]
    # What follows the mail may come with it (RFC 2920 §3.1).
    client.say(b"one\r\n.\r\nRSET\r\nMAIL FROM:<a@b.c>\r\nRCPT TO:<x@y.z>\r\nDATA\r\n")
    assert [client.reply()[:3] for _ in range(5)] == ["250", "250", "250", "250", "354"]
    client.say(b"two\r\n.\r\nQUIT\r\n")
    assert client.reply() == OK
    assert client.rest() == "221 Bye\r\n"
    assert [mail.raw for mail in taken] == [b"one\r\n", b"two\r\n"]


def test_pipelining_all_of_it_and_hanging_up(client, taken):
    """As `nc -N` does: the answers still come."""
    client.say(b"EHLO me\r\nMAIL FROM:<a@b.c>\r\nRCPT TO:<x@y.z>\r\nDATA\r\none\r\n.\r\nQUIT\r\n")
    client.socket.shutdown(socket.SHUT_WR)
    assert client.rest().splitlines()[-2:] == [OK, "221 Bye"]
    assert len(taken) == 1


def test_nothing_is_obeyed_after_quit(client, taken):
    client.say(b"QUIT\r\nNOOP\r\n")
    assert client.rest() == "221 Bye\r\n"


def test_a_mail_that_comes_byte_by_byte(client, taken):
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.envelope()
    client.ask("DATA")
    for byte in b"..one\r\n.\r\n":
        client.say(bytes([byte]))
    assert client.reply() == OK
    assert taken[0].raw == b".one\r\n"


def test_a_mail_over_the_limit_gets_one_552(start, connect, taken):
    client = connect(start(size_limit=1000))
    assert client.send(b"x" * 100_000) == "552 5.3.4 The mail is over 1000 bytes"
    assert client.ask("NOOP") == "250 OK"
    assert taken == []
    assert client.send(b"x" * 998) == OK
    assert len(taken[0].raw) == 1000


def test_a_mail_that_says_it_is_over_the_limit_gets_one_552(start, connect, taken):
    client = connect(start(size_limit=1000))
    assert client.ask("EHLO me", "MAIL FROM:<a@b.c> SIZE=1001")[:3] == "552"
    assert client.send(b"small") == OK
    assert len(taken) == 1


def test_a_client_that_resends_after_a_lost_reply_is_taken_twice(connect, sink, taken):
    for _ in range(2):
        client = connect(sink)
        client.envelope()
        client.ask("DATA")
        client.say(b"same\r\n.\r\n")
        client.reply()
        client.close()
    assert [mail.raw for mail in taken] == [b"same\r\n", b"same\r\n"]


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        (["MAIL FROM:<a@b.c>"], "503 Error: send HELO first"),
        (["DATA"], "503 Error: send HELO first"),
        (["EHLO"], "501 Syntax: EHLO hostname"),
        (["EHLO me", "DATA"], "503 Error: need RCPT command"),
        (["EHLO me", "MAIL FROM:<a@b.c>", "DATA"], "503 Error: need RCPT command"),
        (["EHLO me", "MAIL FROM:<a@b.c>", "RCPT TO:<x@y.z>", "DATA now"], "501 Syntax: DATA"),
        (["EHLO me", "MAIL FROM:<a@b.c>", "MAIL FROM:<a@b.c>"], "503 Error: nested MAIL command"),
        (
            ["EHLO me", "MAIL FROM:<a@b.c>", "EHLO me", "RCPT TO:<x@y.z>"],
            "503 Error: need MAIL command",
        ),
        (["HELO me", "MAIL FROM:<a@b.c>", "RCPT TO:<x@y.z>"], "250 OK"),
        (["mail from:<a@b.c>"], "503 Error: send HELO first"),
        (["ehlo me", "mail from:<a@b.c>", "rcpt to:<x@y.z>", "rset", "noop"], "250 OK"),
        (["VRFY x@y.z"], "252 Cannot VRFY user, but will accept message and attempt delivery"),
        (["EXPN all"], "502 EXPN not implemented"),
        (["QUIT now"], "501 Syntax: QUIT"),
        (["STARTTLS"], "500 5.5.2 That is no command"),
        (["AUTH PLAIN"], "500 5.5.2 That is no command"),
        (["BDAT 10 LAST"], "500 5.5.2 That is no command"),
        ([""], "500 5.5.2 That is no command"),
    ],
)
def test_answers(client, said, answered):
    reply = client.ask(*said)
    assert reply == answered
    assert client.ask("NOOP") == "250 OK"


def test_an_answer_repeats_what_was_said_whatever_its_encoding(client):
    client.say(b"VRFY <\xff\r\n")
    assert client._replies.readline() == b"502 Could not VRFY <\xff\r\n"


def test_a_line_that_never_ends_is_no_command(client):
    client.say(b"x" * 1_000_000 + b"\r\n")
    assert client.reply() == "500 5.5.2 That is no command"
    assert client.ask("NOOP") == "250 OK"


def test_too_many_mistakes_end_this_session_alone(connect, sink):
    good, bad = connect(sink), connect(sink)
    bad.say(b"x\r\n" * 20)
    replies = bad.rest().splitlines()
    assert replies == ["500 5.5.2 That is no command"] * 10 + ["421 4.7.0 Too many mistakes"]
    assert good.send(b"still here") == OK


@pytest.mark.parametrize(
    "noise",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) * 2,
        os.urandom(4096) + b"\r\n",
        b"\0" * 100_000,
        b"\r\r\r\n\n\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["tls", "random", "zeros", "line ends", "http"],
)
def test_noise_on_the_plain_port_harms_nobody_else(connect, sink, taken, noise):
    good, bad = connect(sink), connect(sink)
    bad.say(noise)
    bad.socket.shutdown(socket.SHUT_WR)
    bad.rest()
    assert good.send(b"still here") == OK
    assert len(taken) == 1


WHOLE = [
    b"EHLO me\r\n",
    b"MAIL FROM:<a@b.c>\r\n",
    b"RCPT TO:<x@y.z>\r\n",
    b"DATA\r\n",
    b"half a mail\r\n.",
]


@pytest.mark.parametrize("reset", [False, True], ids=["closes", "resets"])
@pytest.mark.parametrize("steps", range(len(WHOLE) + 1))
def test_a_client_that_hangs_up_anywhere_leaves_nothing(connect, sink, taken, steps, reset):
    gone = connect(sink)
    for step in WHOLE[:steps]:
        gone.say(step)
        if not step.startswith(b"half"):
            gone.reply()
    if reset:
        linger = (1).to_bytes(4, sys.byteorder) + bytes(4)
        gone.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    gone.close()
    assert connect(sink).send(b"still here") == OK
    assert [mail.raw for mail in taken] == [b"still here\r\n"]


def test_a_client_killed_in_the_middle_of_a_mail_leaves_nothing(connect, sink, taken):
    """A real SIGKILL; the system closes the socket, in whatever state it is."""
    script = """
import smtplib, sys
client = smtplib.SMTP(sys.argv[1], int(sys.argv[2]), local_hostname="me")
client.ehlo(); client.mail("a@b.c"); client.rcpt("x@y.z"); client.docmd("DATA")
client.send(b"half a mail\\r\\n" * 1000 + b"\\r\\n.\\r")
print("sent", flush=True); sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, sink.host, str(sink.port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout.readline() == b"sent\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert connect(sink).send(b"still here") == OK
    assert [mail.raw for mail in taken] == [b"still here\r\n"]


class OneLongReply:
    """The first NOOP is answered with more than any system buffers."""

    def __init__(self):
        self.replies = [Reply(250, "x" * 30_000_000)]

    def at(self, command, envelope):
        return self.replies.pop() if command == "NOOP" and self.replies else None


def test_whoever_does_not_read_answers_has_to_wait(connect, start):
    """The sink stops reading, so that nothing piles up in it, and goes on when it can."""
    sink = start(faults=OneLongReply())
    client = connect(sink)
    client.say(b"NOOP\r\n")
    with ThreadPoolExecutor(1) as sender:
        sent = sender.submit(client.say, (b"NOOP " + b"x" * 1000 + b"\r\n") * 10_000)
        assert connect(sink).send(b"others go on") == OK
        assert len(client.reply()) == 30_000_004
        assert {client.reply() for _ in range(10_000)} == {"250 OK"}
        sent.result()


class Busy:
    """Answers the first NOOP when it is told to."""

    def __init__(self):
        self.faults = [Delay(1)]
        self.begun, self.go_on = threading.Event(), threading.Event()

    def at(self, command, envelope):
        return self.faults.pop() if command == "NOOP" and self.faults else None

    async def sleep(self, _):
        self.begun.set()
        await asyncio.get_running_loop().run_in_executor(None, self.go_on.wait)


@pytest.fixture
def busy():
    busy = Busy()
    yield busy
    busy.go_on.set()


def test_what_was_said_before_hanging_up_is_answered_however_late(start, connect, busy):
    sink = start(faults=busy, sleep=busy.sleep)
    client = connect(sink)
    client.say(b"NOOP\r\n")
    busy.begun.wait()
    client.say(b"EHLO me\r\n")
    client.socket.shutdown(socket.SHUT_WR)
    assert connect(sink).send(b"others go on") == OK
    busy.go_on.set()
    assert client.reply() == "250 OK"
    assert client.rest().startswith("250-agentmail")


def test_a_busy_sink_buffers_little(start, connect, busy):
    sink = start(faults=busy, sleep=busy.sleep)
    client, other = connect(sink), connect(sink)
    client.say(b"NOOP\r\n")
    busy.begun.wait()
    client.socket.setblocking(False)
    sent, writable = 0, True
    while writable and sent < 100_000_000:
        try:
            sent += client.socket.send(b"x" * 100_000)
        except BlockingIOError:
            for _ in range(5):  # the sink's loop has been round, and read what it wants
                other.ask("NOOP")
            _, writable, _ = select.select([], [client.socket], [], 0)
    assert sent < 100_000_000
