"""Hostile sessions, from a fixed seed: none harms the sink, or another client's mail (D8)."""

from __future__ import annotations

import random
import socket
import sys
from contextlib import suppress

import pytest

WORDS = [
    b"EHLO me", b"HELO me", b"MAIL FROM:<a@b.c>", b"MAIL FROM:<>", b"RCPT TO:<x@y.z>", b"DATA", b"RSET",
    b"NOOP", b"QUIT", b"HELP", b"VRFY", b"EXPN", b"STARTTLS", b"AUTH PLAIN", b"AUTH LOGIN", b"BDAT 5",
    b"MAIL FROM:", b"RCPT TO:", b"SIZE=", b"SIZE=99999999999999999999", b"BODY=8BITMIME", b"SMTPUTF8",
    b"<", b">", b"@", b'"', b"\\", b"(", b")", b"[", b"]", b":", b",", b";", b"=", b"*", b"AGEAYg==",
    b".", b"..", b"\r\n.\r\n", b"\n.\r\n", b"\r.\r", b"\0", b"\xff\xfe", b"\x16\x03\x01", b"\xc3\xbc",
    b"xn--", b"xn--a-0", b"@" * 40, b"(" * 400, b"<" * 400, b"x" * 5000, b"x" * 20_000, b'"' * 300,
]  # fmt: skip
ENDS = [b"\r\n"] * 6 + [b"\n", b"\r", b"", b" ", b"\r\n\r\n"]


def session(seed):
    """Bytes in segments: some sound, some wild, some mutated, some cut off."""
    chance = random.Random(seed)
    wire = bytearray()
    for _ in range(chance.randint(1, 40)):
        match chance.randrange(6):
            case 0:
                wire += chance.randbytes(chance.randint(0, 300))
            case 1:
                wire += b" ".join(chance.choices(WORDS, k=chance.randint(1, 5)))
            case 2:
                wire += b"EHLO me\r\nMAIL FROM:<a@b.c>\r\nRCPT TO:<x@y.z>\r\nDATA\r\nhi\r\n.\r\n"
            case 3:
                wire += (
                    b"RCPT TO:<" + bytes(chance.choices(b'ab.@"\\<>()[]:;, \xc3\xbc', k=20)) + b">"
                )
            case _:
                wire += chance.choice(WORDS)
        wire += chance.choice(ENDS)
    for _ in range(chance.choice([0, 0, 1, 10])):
        wire[chance.randrange(len(wire))] = chance.randrange(256)
    return [bytes(wire[start : start + 1400]) for start in range(0, len(wire), 1400)], chance


def attack(sink, seed):
    segments, chance = session(seed)
    with socket.create_connection((sink.host, sink.port)) as client:
        try:
            for segment in segments:
                client.sendall(segment)
                if chance.random() < 0.3:
                    with suppress(BlockingIOError):
                        client.recv(100, socket.MSG_DONTWAIT)
            match chance.randrange(3):
                case 0:
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(65536):
                        pass
                case 1:
                    linger = (1).to_bytes(4, sys.byteorder) + bytes(4)
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                case _:
                    pass
        except OSError:  # the sink was first to end it
            pass


@pytest.mark.parametrize("tls", ["off", "starttls", "implicit"])
@pytest.mark.parametrize(
    "sessions",
    [range(70), pytest.param(range(1000, 4334), marks=pytest.mark.long)],
    ids=["short", "long"],
)
def test_hostile_sessions_leave_it_serving(world, start, connect, trusting, sessions, tls):
    """The sink's stop, at the end, raises whatever went wrong on its side."""
    mailbox = world.lease()
    sink = start(receive=world.post_office.accept, tls=tls, auth="optional", size_limit=100_000)
    for count, seed in enumerate(sessions, 1):
        attack(sink, seed)
        if count % 50 == 0:
            good = connect(sink, context=trusting(sink) if tls == "implicit" else None)
            assert good.send(b"still here", mailbox.address) == "250 2.0.0 OK"
            good.close()
    assert len(mailbox.messages) == len(sessions) // 50
    assert {message.raw for message in mailbox.messages} == {b"still here\r\n"}
