"""What the sink costs, each figure as a ratio to something timed in the same run.

Run it with `python -m tests.benchmarks.bench_sink`, or by its path.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from statistics import median

from aiosmtpd.smtp import SMTP

from pytest_agentmail.agents.mail_world import MailWorld

ROUNDS = 7
KEPT, NEW, PARALLEL = 600, 200, 100

MAIL = (
    b"From: Shop <no-reply@shop.example>\r\nTo: %s\r\nSubject: Confirm your account\r\n"
    b"Message-ID: <1@shop.example>\r\nDate: Mon, 02 Nov 2026 10:00:00 +0000\r\n"
    b"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    b"Hello,\r\n\r\nyour code is 493817. It is valid for ten minutes.\r\n\r\n"
    b"Or open https://shop.example/confirm?token=c2lnbmVkLXVwLTQ5MzgxNw\r\n\r\nThe shop\r\n"
)

# A client that costs as little as possible, in a process of its own.
CLIENT = """
import socket, sys
port, to, kept, count = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3] == "kept", int(sys.argv[4])
mail = {mail!r} % to + b".\\r\\n"
def connect():
    client = socket.create_connection(("127.0.0.1", port))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.recv(4096)
    ask(client, b"EHLO client\\r\\n")
    return client
def ask(client, said):
    client.sendall(said)
    answer = client.recv(4096)
    while not answer[answer.rfind(b"\\n", 0, -1) + 1:][3:4] == b" ":
        answer += client.recv(4096)
    assert answer[:1] in b"23", answer
def send(client):
    ask(client, b"MAIL FROM:<app@shop.example> BODY=8BITMIME SIZE=%d\\r\\n" % len(mail))
    ask(client, b"RCPT TO:<" + to + b">\\r\\n")
    ask(client, b"DATA\\r\\n")
    ask(client, mail)
client = connect()
send(client)
sys.stdout.write("ready\\n"); sys.stdout.flush(); sys.stdin.readline()
for _ in range(count):
    if not kept:
        ask(client, b"QUIT\\r\\n"); client.close(); client = connect()
    send(client)
sys.stdout.write("done\\n"); sys.stdout.flush(); sys.stdin.readline()
"""


class BareAiosmtpd:
    """aiosmtpd as it is, with a handler that does nothing."""

    class Handler:
        async def handle_DATA(self, server, session, envelope):  # noqa: N802
            return "250 OK"

    def __enter__(self):
        started = threading.Event()
        self.thread = threading.Thread(target=asyncio.run, args=[self.serve(started)])
        self.thread.start()
        started.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join()

    async def serve(self, started):
        self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
        server = await self.loop.create_server(
            lambda: SMTP(self.Handler(), hostname="bare", enable_SMTPUTF8=True, loop=self.loop),
            "127.0.0.1",
        )
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await self.stopping.wait()
        server.close()
        await asyncio.sleep(0.05)


def cpu_per_message(port, thread, to, how, count):
    """Seconds of CPU that the server's thread spends on one mail."""
    clock = time.pthread_getcpuclockid(thread.ident)
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT.format(mail=MAIL), str(port), to, how, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as client:
        assert client.stdout.readline() == b"ready\n"
        before = time.clock_gettime(clock)
        client.stdin.write(b"\n")
        client.stdin.flush()
        assert client.stdout.readline() == b"done\n"
        return (time.clock_gettime(clock) - before) / count


def server_cpu():
    with MailWorld() as world, world.open_run() as run, BareAiosmtpd() as bare:
        ours, theirs = (
            (world.sink.port, world.sink._thread, run.mailbox.address),
            (bare.port, bare.thread, run.mailbox.address),
        )
        for how, count in (("kept", KEPT), ("new", NEW)):
            pairs = [
                (cpu_per_message(*ours, how, count), cpu_per_message(*theirs, how, count))
                for _ in range(ROUNDS)
            ]
            ratio = median(a / b for a, b in pairs)
            sink, plain = (1000 * median(times) for times in zip(*pairs, strict=True))
            report(
                f"server CPU per message, {how} connection",
                ratio,
                0.6,
                f"of bare aiosmtpd ({sink:.3f} / {plain:.3f} ms)",
            )


def report(what, value, reach, unit):
    print(f"{what}: {value:.2f} {unit}; reach ≤ {reach}")


if __name__ == "__main__":
    server_cpu()
