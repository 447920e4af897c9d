"""Mail through real sockets under the virtual clock, on a busy machine: no false time-out."""

from __future__ import annotations

import asyncio
import os
import queue
import socket
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import closing

import pytest

from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.virtual import VirtualClock
from pytest_agentmail.testing import run_virtual

SIZES = [pytest.param(100, id="short"), pytest.param(3_000, id="long", marks=pytest.mark.long)]


@pytest.fixture(scope="module", autouse=True)
def busy_cores():
    burners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())
    ]
    yield
    for burner in burners:
        burner.kill()
        burner.wait()


def send(address, number):
    """Deliver one mail as a blocking client does."""
    with socket.create_connection(address) as connection, connection.makefile("rwb") as stream:
        assert stream.readline() == b"220 sink\r\n"
        for line in (b"MAIL", b"RCPT", b"DATA", b"%d" % number):
            stream.write(line + b"\r\n")
            stream.flush()
            assert stream.readline() == b"250 OK\r\n"


class LoopSink:
    """A server on the virtual loop itself, with a session timer armed, as SMTP servers have."""

    def __init__(self):
        self.stored = []

    async def serve(self, reader, writer):
        with closing(writer):
            writer.write(b"220 sink\r\n")
            for _ in range(4):
                line = await asyncio.wait_for(reader.readline(), 300)
                await asyncio.sleep(0)
                writer.write(b"250 OK\r\n")
            self.stored.append(int(line))
            await writer.drain()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()


async def exchange(address, number):
    reader, writer = await asyncio.open_connection(*address)
    with closing(writer):
        assert await reader.readline() == b"220 sink\r\n"
        for line in (b"MAIL", b"RCPT", b"DATA", b"%d" % number):
            writer.write(line + b"\r\n")
            assert await reader.readline() == b"250 OK\r\n"


@pytest.mark.parametrize("mails", SIZES)
@pytest.mark.timeout(600)
def test_a_client_and_a_sink_on_one_loop(mails):
    """No grace time is needed: what is on its way to the loop is readable at once."""
    clock = VirtualClock(settle_io=0)
    sink = LoopSink()

    async def main():
        address = await sink.start()
        for number in range(mails):
            await asyncio.wait_for(exchange(address, number), 5)
            await asyncio.sleep(1)
        sink.server.close()

    run_virtual(main(), clock)
    assert sink.stored == list(range(mails))
    assert clock.monotonic() == mails


@pytest.mark.parametrize("mails", SIZES)
@pytest.mark.timeout(600)
def test_a_blocking_client_in_an_executor(mails):
    clock = VirtualClock(settle_io=0)
    sink = LoopSink()

    async def main():
        address = await sink.start()
        for number in range(mails):
            await asyncio.wait_for(asyncio.to_thread(send, address, number), 5)
            await asyncio.sleep(1)
        sink.server.close()

    run_virtual(main(), clock)
    assert sink.stored == list(range(mails))
    assert clock.monotonic() == mails


class ThreadedSink:
    """A server in a thread that the clock knows nothing of, but for the holds it takes."""

    def __init__(self, clock):
        self.clock = clock
        self.stored = []
        self.wakeup = self.effect = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            hold = self.clock.hold("SMTP connection")
            with connection, connection.makefile("rwb") as stream:
                stream.write(b"220 sink\r\n")
                stream.flush()
                for _ in range(4):
                    line = stream.readline()
                    stream.write(b"250 OK\r\n")
                    stream.flush()
                if (number := int(line)) >= 0:
                    self.stored.append(number)
                    ring(self.wakeup)
                    self.effect.release()
            hold.release()
            if number < 0:
                return


@pytest.mark.parametrize("mails", SIZES)
@pytest.mark.timeout(600)
def test_an_app_that_mails_a_while_after_its_answer(mails):
    """Agent, app and sink in three threads; the agent waits 10 s, the mail takes real time."""
    clock = VirtualClock()
    orders, sink = queue.SimpleQueue(), ThreadedSink(clock)
    address = sink.listener.getsockname()

    def app():
        while (number := orders.get()) is not None:
            send(address, number)

    worker = threading.Thread(target=app)
    worker.start()
    found = []
    with clock.participate("the agent"):
        for number in range(mails):
            sink.wakeup = wakeup = Future()
            sink.effect = clock.hold("request_verification was performed", at_most=30)
            orders.put(number)
            found.append(clock.wait(wakeup, 10))
            clock.sleep(1)
    orders.put(None)
    worker.join()
    send(address, -1)
    sink.thread.join()
    sink.listener.close()
    assert found == [True] * mails
    assert sink.stored == list(range(mails))
    assert clock.monotonic() == mails
