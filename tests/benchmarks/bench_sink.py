"""What the sink costs, each figure as a ratio to something timed in the same run.

Run it with `python -m tests.benchmarks.bench_sink`, or by its path.
"""

from __future__ import annotations

import asyncio
import gc
import smtplib
import socket
import ssl
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from statistics import median, quantiles

from aiosmtpd.smtp import SMTP

from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.clock.real import RealClock
from pytest_agentmail.mail.mailbox import Mailbox
from pytest_agentmail.mail.post_office import PostOffice
from pytest_agentmail.settings import Settings

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


def latency():
    """From just before the final dot is sent, to the waiting thread going on."""
    with MailWorld() as world, world.open_run() as run:
        box, times, floors = run.mailbox, [], []
        with connected(world.sink.port) as client:
            for _ in range(500):
                envelope(client, box.address)
                with ThreadPoolExecutor(1) as pool:
                    waiter = pool.submit(lambda: (box.wait(), time.perf_counter())[1])
                    time.sleep(0.001)  # it waits by now
                    before = time.perf_counter()
                    client.sendall(MAIL % box.address.encode() + b".\r\n")
                    times.append(waiter.result() - before)
                client.recv(4096)
                floors.append(thread_wakeup())
    ratio = median(times) / median(floors)
    p95 = 1000 * quantiles(times, n=20)[-1]
    report(
        "end of DATA to the waiting test (client and sink share the process)",
        1000 * median(times),
        0.3,
        f"ms median, p95 {p95:.2f} ms, {ratio:.1f} times a bare thread wakeup",
    )


def thread_wakeup():
    """How long it takes a thread to go on that waits for another."""
    asked, woken = Future(), []
    thread = threading.Thread(target=lambda: (asked.result(), woken.append(time.perf_counter())))
    thread.start()
    time.sleep(0.001)
    before = time.perf_counter()
    asked.set_result(None)
    thread.join()
    return woken[0] - before


def parallel():
    with MailWorld() as world, world.open_run() as run, BareAiosmtpd() as bare:
        to = run.mailbox.address
        pairs = [(crowd(world.sink.port, to), crowd(bare.port, to)) for _ in range(ROUNDS)]
        assert len(run.mailbox.messages) == ROUNDS * PARALLEL
    ratio = median(a / b for a, b in pairs)
    sink, plain = (1000 * median(times) for times in zip(*pairs, strict=True))
    report(
        f"{PARALLEL} clients at once, one mail each",
        ratio,
        1.0,
        f"of bare aiosmtpd's time ({sink:.0f} / {plain:.0f} ms)",
    )


def crowd(port, to):
    with ExitStack() as open_clients:
        began = time.perf_counter()
        clients = [open_clients.enter_context(connected(port)) for _ in range(PARALLEL)]
        for client in clients:
            envelope(client, to)
        for client in clients:
            client.sendall(MAIL % to.encode() + b".\r\n")
        for client in clients:
            assert client.recv(4096).startswith(b"250")
        return time.perf_counter() - began


def memory():
    with MailWorld() as world, world.open_run() as run, connected(world.sink.port) as client:
        count, raw = 1000, (b"x" * 78 + b"\r\n") * 128
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(count):
            envelope(client, run.mailbox.address)
            client.sendall(raw + b".\r\n")
            client.recv(4096)
        gc.collect()
        kept = (tracemalloc.get_traced_memory()[0] - before) / count
        tracemalloc.stop()
    report(f"memory per stored message of {len(raw)} bytes", kept / len(raw), 1.3, "of its size")


def search():
    """Mailboxes of 100 messages each, 10 of them or 1,000."""
    small, large = (filled(leases) for leases in (10, 1000))
    pairs = [(searched(large), searched(small)) for _ in range(5 * ROUNDS)]
    report(
        "search in 100,000 messages of 1,000 leases",
        median(a / b for a, b in pairs),
        1.5,
        "of the same in 1,000 messages",
    )


def filled(leases):
    clock = RealClock()
    office = PostOffice(clock, "agentmail.example")
    boxes = [
        Mailbox(
            f"box{number}@agentmail.example",
            run_id=f"run-{number}",
            clock=clock,
            lease=timedelta(hours=1),
        )
        for number in range(leases)
    ]
    for box in boxes:
        office.lease(box)
    for _ in range(100):
        for box in boxes:
            office.accept(MAIL % box.address.encode(), "app@shop.example", [box.address])
    return boxes[:10]


def searched(boxes):
    began = time.perf_counter()
    for box in boxes:
        assert len(box.search(subject="Confirm", sender="no-reply@shop.example")) == 100
    return time.perf_counter() - began


def tls():
    """What a test with a mail in TLS takes once the session's sink is up, lease and client included."""
    for how in ("starttls", "implicit"):
        with MailWorld(Settings(tls=how)) as world, MailWorld() as clear:
            pairs = [(whole_test(world), whole_test(clear)) for _ in range(20 * ROUNDS)]
        own, plain = (1000 * median(times) for times in zip(*pairs, strict=True))
        report(
            f"a test with a mail in TLS, {how}",
            own,
            5,
            f"ms, {own / plain:.1f} times one in the clear",
        )


def whole_test(world):
    began = time.perf_counter()
    with world.open_run() as run:
        sink = world.sink
        context = ssl.create_default_context(cafile=sink.ca_file) if sink.ca_file else None
        client = (
            smtplib.SMTP_SSL(sink.host, sink.port, local_hostname="me", context=context)
            if sink.tls == "implicit"
            else smtplib.SMTP(sink.host, sink.port, local_hostname="me")
        )
        with client:
            if sink.tls == "starttls":
                client.starttls(context=context)
            client.sendmail("app@shop.example", run.mailbox.address, MAIL % b"x")
        run.mailbox.wait(subject="Confirm")
    return time.perf_counter() - began


@contextmanager
def connected(port):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.recv(4096)
        ask(client, b"EHLO client\r\n")
        yield client


def envelope(client, to):
    for said in (b"MAIL FROM:<app@shop.example>", b"RCPT TO:<" + to.encode() + b">", b"DATA"):
        ask(client, said + b"\r\n")


def ask(client, said):
    client.sendall(said)
    answer = client.recv(4096)
    while answer[answer.rfind(b"\n", 0, -1) + 1 :][3:4] != b" ":
        answer += client.recv(4096)
    assert answer[:1] in b"23", answer


def report(what, value, reach, unit):
    print(f"{what}: {value:.2f} {unit}; reach ≤ {reach}", flush=True)


if __name__ == "__main__":
    for measure in (server_cpu, latency, parallel, memory, search, tls):
        measure()
