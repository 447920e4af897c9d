"""A sink with the mails it took, and a client that says exactly what a test wants."""

from __future__ import annotations

import socket
import ssl
from typing import NamedTuple

import pytest

from pytest_agentmail.mail.post_office import Acceptance
from pytest_agentmail.mail.smtp.sink import Sink


class Taken(NamedTuple):
    raw: bytes
    sender: str
    recipients: tuple[str, ...]


class Client:
    """Speaks raw SMTP, so that it can also speak it badly."""

    def __init__(self, sink, *, greeted=True, context=None):
        self.socket = socket.create_connection((sink.host, sink.port))
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname=sink.host)
        self._replies = self.socket.makefile("rb")
        self.greeting = self.reply() if greeted else ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._replies.close()
        self.socket.close()

    def start_tls(self, sink, context):
        self._replies.close()
        self.socket = context.wrap_socket(self.socket, server_hostname=sink.host)
        self._replies = self.socket.makefile("rb")

    def say(self, words):
        self.socket.sendall(words)

    def reply(self):
        """The next reply, all its lines; empty once the server has hung up."""
        lines = []
        while True:
            lines.append(self._replies.readline().decode())
            if lines[-1][3:4] != "-":
                return "".join(lines).rstrip("\r\n")

    def ask(self, *commands):
        """The reply to the last of them."""
        for command in commands:
            self.say(command.encode() + b"\r\n")
            reply = self.reply()
        return reply

    def envelope(self, *recipients, sender="app@app.example"):
        """As far as it goes without a mail."""
        return self.ask(
            "EHLO me",
            f"MAIL FROM:<{sender}>",
            *(f"RCPT TO:<{to}>" for to in recipients or ["a@b.c"]),
        )

    def send(self, mail, *recipients, sender="app@app.example"):
        """A whole mail, as it goes over the wire but for the final dot."""
        self.envelope(*recipients, sender=sender)
        assert self.ask("DATA").startswith("354 ")
        self.say(mail + b"\r\n.\r\n")
        return self.reply()

    def rest(self):
        """All that still comes before the server hangs up."""
        try:
            return self._replies.read().decode()
        except ConnectionError:
            return ""


class Office:
    """Takes every mail."""

    def __init__(self):
        self.taken = []

    def receive(self, raw, sender, recipients):
        self.taken.append(Taken(raw, sender, tuple(recipients)))
        return Acceptance(())


@pytest.fixture
def office():
    return Office()


@pytest.fixture
def taken(office):
    return office.taken


@pytest.fixture
def start(office):
    """Starts a sink on other terms; it is stopped at the end, and that has to go well."""
    started = []

    def start(**terms):
        sink = Sink(terms.pop("receive", office.receive), **terms)
        sink.start()
        started.append(sink)
        return sink

    yield start
    for sink in started:
        sink.stop()


@pytest.fixture
def sink(start):
    return start()


@pytest.fixture
def connect():
    """Connects a client; it is closed at the end."""
    clients = []

    def connect(sink, **how):
        clients.append(Client(sink, **how))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def client(connect, sink):
    return connect(sink)


@pytest.fixture
def trusting():
    """A TLS context that trusts a sink's authority and nobody else."""
    return lambda sink: ssl.create_default_context(cafile=sink.ca_file)
