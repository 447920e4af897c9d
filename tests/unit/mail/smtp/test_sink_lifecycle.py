"""Starting, stopping, and what must not be left or lost in between (D8)."""

from __future__ import annotations

import asyncio
import gc
import logging
import smtplib
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import freezegun
import pytest

from pytest_agentmail.errors import SinkError
from pytest_agentmail.mail.post_office import Acceptance
from pytest_agentmail.mail.smtp.engine import Engine
from pytest_agentmail.mail.smtp.faults import BEFORE_REPLY, CONNECT, Delay, Reply
from pytest_agentmail.mail.smtp.sink import Sink

OK = "250 2.0.0 OK"


def open_sockets():
    links = []
    for number in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            links.append(str(number.readlink()))
    return sum(link.startswith(("socket:", "anon_inode:[eventpoll]")) for link in links)


@pytest.fixture
def nothing_left():
    """Nothing of a sink remains: no thread, no socket, no warning of something left open."""
    gc.collect()
    threads, sockets = set(threading.enumerate()), open_sockets()
    yield
    gc.collect()
    assert set(threading.enumerate()) == threads
    assert open_sockets() == sockets


def send(sink, mail=b"hi"):
    with smtplib.SMTP(sink.host, sink.port, local_hostname="me") as client:
        client.sendmail("a@b.c", ["x@y.z"], mail)


def test_says_where_it_is(sink):
    assert sink.host == "127.0.0.1"
    assert sink.port > 0
    assert sink.url == f"smtp://127.0.0.1:{sink.port}"
    assert repr(sink) == f"<Sink smtp://127.0.0.1:{sink.port}>"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_listens_where_it_is_told(start, taken, host):
    send(start(host=host))
    assert taken


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6")
def test_listens_on_ipv6(start, taken):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"there is no IPv6 loopback: {error}")
    sink = start(host="::1")
    assert sink.url == f"smtp://[::1]:{sink.port}"
    send(sink)
    assert taken


def test_a_port_that_is_taken(nothing_left, office):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SinkError) as caught:
            Sink(office.receive, port=port).start()
    assert str(caught.value) == (
        f"port {port} on 127.0.0.1 is taken; leave --agentmail-port at 0 for a free one "
        f"(with several workers it has to be 0), or stop what listens there"
    )


@pytest.mark.parametrize(
    "host", ["no.such.host.invalid", "192.0.2.1", "256.1.1.1", "a" * 100 + ".example", "a..b"]
)
def test_a_host_that_is_not_here(nothing_left, office, host):
    with pytest.raises(SinkError) as caught:
        Sink(office.receive, host=host, port=0).start()
    assert str(caught.value).startswith(f"cannot listen on {host} port 0: ")


def test_a_port_that_is_none(nothing_left, office):
    with pytest.raises(SinkError, match=r"^cannot listen on 127\.0\.0\.1 port 65536: "):
        Sink(office.receive, port=65536).start()


def test_it_can_be_started_again_on_the_same_port(office, taken):
    sink = Sink(office.receive)
    for _ in range(3):
        with sink:
            port = sink.port
            send(sink)
    assert sink.port == port
    assert len(taken) == 3


@pytest.mark.parametrize("broken", ["Engine", "RealTimeLoop"])
def test_a_thread_that_fails_first_is_an_error_of_the_start(
    nothing_left, office, monkeypatch, broken
):
    def fail(*args):
        raise ZeroDivisionError("broken")

    sink = Sink(office)
    with monkeypatch.context() as patch:
        patch.setattr(f"pytest_agentmail.mail.smtp.sink.{broken}", fail)
        with pytest.raises(SinkError) as caught:
            sink.start()
    assert str(caught.value) == ("the SMTP sink could not start: ZeroDivisionError('broken')")
    assert not sink.running
    with sink:
        assert sink.running


def test_a_thread_that_fails_later_does_not_fail_the_start_again(office, monkeypatch):
    seen, close_well = [], Engine.close
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(args.exc_value))

    async def close(engine):
        await close_well(engine)
        asyncio.get_running_loop().call_soon(fail)

    def fail():
        raise SystemExit

    monkeypatch.setattr("pytest_agentmail.mail.smtp.sink.Engine.close", close)
    with Sink(office):
        pass
    assert [type(error) for error in seen] == [SystemExit]


def test_starting_twice_is_an_error_and_stopping_twice_is_none(nothing_left, office):
    sink = Sink(office)
    sink.stop()
    sink.start()
    with pytest.raises(SinkError) as caught:
        sink.start()
    assert str(caught.value) == f"{sink.url} is started already; stop() it first"
    sink.stop()
    sink.stop()


@pytest.mark.parametrize("tls", ["off", "implicit"])
def test_fifty_starts_and_stops(nothing_left, office, taken, tls):
    for _ in range(50):
        with Sink(office.receive, tls=tls) as sink:
            if tls == "off":
                send(sink)
    assert len(taken) == (50 if tls == "off" else 0)


@pytest.mark.asyncio
async def test_fifty_starts_and_stops_in_a_running_loop(nothing_left, office, taken):
    loop = asyncio.get_running_loop()
    for _ in range(50):
        with Sink(office.receive) as sink:
            reader, writer = await asyncio.open_connection(sink.host, sink.port)
            assert (await reader.readline()).startswith(b"220 ")
            writer.close()
            await writer.wait_closed()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert asyncio.get_running_loop() is loop


def idle(sink, connect, trusting):
    connect(sink)


def silent_from_the_start(sink, connect, trusting):
    connect(sink, greeted=False)


def half_dead(sink, connect, trusting):
    connect(sink).socket.shutdown(socket.SHUT_WR)


def mid_command(sink, connect, trusting):
    connect(sink).say(b"MAIL FR")


def mid_data(sink, connect, trusting):
    client = connect(sink)
    client.envelope()
    client.ask("DATA")
    client.say(b"half a mail\r\n.\r")


def mid_auth(sink, connect, trusting):
    client = connect(sink)
    client.ask("EHLO me", "AUTH LOGIN")


def never_reading(sink, connect, trusting):
    client = connect(sink)
    client.socket.setblocking(False)
    try:
        while True:
            client.socket.send(b"HELP\r\n" * 10_000)
    except BlockingIOError:
        pass


def before_its_handshake(sink, connect, trusting):
    connect(sink).ask("EHLO me", "STARTTLS")


def mid_handshake(sink, connect, trusting):
    client = connect(sink)
    client.ask("EHLO me", "STARTTLS")
    hello = ssl.MemoryBIO()
    tls = trusting(sink).wrap_bio(ssl.MemoryBIO(), hello, server_hostname=sink.host)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    whole = hello.read()
    client.say(whole[: len(whole) // 2])


def in_tls(sink, connect, trusting):
    client = connect(sink)
    client.ask("EHLO me", "STARTTLS")
    client.start_tls(sink, trusting(sink))
    client.envelope()
    client.ask("DATA")
    client.say(b"half a mail")


CLIENTS = [
    idle,
    silent_from_the_start,
    half_dead,
    mid_command,
    mid_data,
    mid_auth,
    never_reading,
    before_its_handshake,
    mid_handshake,
    in_tls,
]


@pytest.mark.parametrize("behave", CLIENTS, ids=lambda behave: behave.__name__)
def test_stops_within_a_second_whatever_its_clients_do(
    nothing_left, office, connect, trusting, behave
):
    sink = Sink(office.receive, tls="starttls", auth="optional")
    sink.start()
    for _ in range(3):
        behave(sink, connect, trusting)
    began = time.monotonic()
    sink.stop()
    assert time.monotonic() - began < 1
    assert office.taken == []


def test_stops_within_a_second_while_a_handshake_is_awaited(nothing_left, office, connect):
    sink = Sink(office.receive, tls="implicit")
    sink.start()
    for _ in range(3):
        connect(sink, greeted=False)
    began = time.monotonic()
    sink.stop()
    assert time.monotonic() - began < 1


def test_stops_while_clients_come_and_go(nothing_left, office):
    """A client that has just been let in is dropped like the others."""

    def knock(place):
        for _ in range(50):
            with socket.socket() as client:
                client.setblocking(False)
                client.connect_ex(place)

    for _ in range(10):
        sink = Sink(office.receive)
        sink.start()
        with ThreadPoolExecutor(2) as clients:
            for _ in range(2):
                clients.submit(knock, (sink.host, sink.port))
            sink.stop()


def test_a_hundred_clients_at_once(sink, connect, taken):
    everyone = [connect(sink) for _ in range(100)]
    for client in everyone:
        client.say(b"EHLO me\r\nMAIL FROM:<a@b.c>\r\nRCPT TO:<x@y.z>\r\nDATA\r\n")
    for number, client in enumerate(everyone):
        client.say(b"%d\r\n.\r\n" % number)
    for client in everyone:
        while client.reply() != OK:
            pass
    assert sorted(int(mail.raw) for mail in taken) == list(range(100))


def test_a_hundred_clients_in_threads(sink, taken):
    with ThreadPoolExecutor(100) as threads:
        list(threads.map(lambda number: send(sink, b"%d" % number), range(100)))
    assert sorted(int(mail.raw) for mail in taken) == list(range(100))


# Stored, told, announced: in this order.


def test_a_mail_is_stored_before_its_sender_is_told(world, start, connect):
    mailbox = world.lease()
    client = connect(start(receive=world.post_office.accept))
    for count in range(1, 50):
        assert client.send(b"hi", mailbox.address) == OK
        assert len(mailbox.messages) == count


def test_waiters_are_woken_after_the_reply_was_written(world, start, connect):
    """GreenMail 132: a test that ends as soon as its mail is there breaks no sender."""
    mailbox = world.lease()
    client = connect(start(receive=world.post_office.accept))
    client.envelope(mailbox.address)
    client.ask("DATA")
    with mailbox.watching() as watch:
        client.say(b"hi\r\n.\r\n")
        watch.wakeup.result()
        client.socket.setblocking(False)
        assert client.socket.recv(100) == OK.encode() + b"\r\n"


class LongReply:
    """Answers a mail with more than any system buffers."""

    def at(self, command, envelope):
        return Reply(250, "x" * 50_000_000) if command == BEFORE_REPLY else None


@pytest.mark.parametrize("dies", [False, True])
def test_waiters_are_not_woken_while_the_reply_is_being_written(world, start, connect, dies):
    mailbox = world.lease()
    stored = threading.Event()

    def receive(*mail):
        accepted = world.post_office.accept(*mail)
        stored.set()
        return accepted

    sink = start(receive=receive, faults=LongReply())
    client = connect(sink)
    client.envelope(mailbox.address)
    client.ask("DATA")
    with mailbox.watching() as watch:
        client.say(b"hi\r\n.\r\n")
        stored.wait()
        connect(sink).ask("NOOP")  # the sink got on from there
        assert not watch.wakeup.done()
        if dies:
            client.close()
        else:
            client.reply()
        watch.wakeup.result()


def test_waiters_are_woken_when_the_client_is_gone(world, start, connect):
    mailbox = world.lease()
    client = connect(start(receive=world.post_office.accept))
    client.envelope(mailbox.address)
    client.ask("DATA")
    with mailbox.watching() as watch:
        client.say(b"hi\r\n.\r\n")
        client.close()
        watch.wakeup.result()
    assert len(mailbox.messages) == 1


# Errors of our own are answered, and never lost.


class Failing:
    def __init__(self, *errors):
        self.errors = list(errors)

    def __call__(self, raw, sender, recipients):
        if self.errors:
            raise self.errors.pop(0)
        return Acceptance(())


def test_a_mail_that_cannot_be_stored_is_answered_and_raised_at_the_stop(start, connect):
    broken = OSError("disk full")
    sink = start(receive=Failing(broken))
    client = connect(sink)
    assert client.send(b"hi") == "451 4.3.0 The mail could not be stored"
    assert client.send(b"hi") == OK
    with pytest.raises(SinkError) as caught:
        sink.stop()
    assert str(caught.value) == f"{sink.url} had 1 errors of its own, first: OSError('disk full')"
    assert caught.value.__cause__ is broken
    sink.start()


def test_none_of_several_errors_is_lost(start, connect):
    first, second = KeyError("one"), KeyError("two")
    sink = start(receive=Failing(first, second))
    client = connect(sink)
    client.send(b"hi")
    client.send(b"hi")
    with pytest.raises(SinkError, match="had 2 errors of its own, first: KeyError") as caught:
        sink.stop()
    assert caught.value.__cause__.exceptions == (first, second)
    sink.start()


class BrokenWaiters(Acceptance):
    def announce(self):
        raise RuntimeError("cannot wake")


def test_a_failure_to_wake_is_raised_at_the_stop_and_harms_no_sender(start, connect):
    sink = start(receive=lambda *mail: BrokenWaiters(()))
    client = connect(sink)
    assert client.send(b"hi") == OK
    assert client.ask("NOOP") == "250 OK"
    with pytest.raises(SinkError, match="cannot wake"):
        sink.stop()
    sink.start()


def test_an_error_in_the_loop_is_raised_at_the_stop(start):
    sink = start()
    failure = RuntimeError("in a callback")
    sink._note_unless_hung_up(None, {"message": "Exception in callback", "exception": failure})
    sink._note_unless_hung_up(
        None, {"message": "Connection lost", "exception": ConnectionResetError()}
    )
    with pytest.raises(
        SinkError, match=r"had 1 errors of its own, first: RuntimeError\('Exception in"
    ) as caught:
        sink.stop()
    assert caught.value.__cause__.__cause__ is failure
    sink.start()


def test_a_sink_that_does_not_stop_says_so(office, connect, monkeypatch):
    let_go, busy = threading.Event(), threading.Event()

    def receive(*mail):
        busy.set()
        let_go.wait()
        return Acceptance(())

    monkeypatch.setattr("pytest_agentmail.mail.smtp.sink._STOP_TIMEOUT", 0.01)
    sink = Sink(receive)
    sink.start()
    client = connect(sink)
    client.envelope()
    client.ask("DATA")
    client.say(b"hi\r\n.\r\n")
    busy.wait()
    with pytest.raises(SinkError) as caught:
        sink.stop()
    assert str(caught.value) == f"{sink.url} did not stop within 0.01 s"
    let_go.set()
    monkeypatch.undo()
    sink.stop()


# Silence.


@pytest.mark.parametrize("level", [logging.DEBUG, 1])
def test_nothing_of_the_dialogue_reaches_the_log(caplog, start, connect, level):
    """Mails hold codes and addresses."""
    caplog.set_level(level)
    for name in ("mail.log", "asyncio"):
        caplog.set_level(level, name)
    sinks = [start(auth="optional"), start(auth="optional")]
    for sink in sinks:
        client = connect(sink)
        client.ask("EHLO me", "AUTH PLAIN AGEAYg==", "NOPE", "VRFY x@y.z")
        client.send(b"secret 493817", "x@y.z")
        client.say(b"x\r\n" * 20)
        client.rest()
        gone = connect(sink)
        gone.envelope()
        gone.close()
    sinks[0].stop()
    connect(sinks[1]).send(b"secret 493817")
    sinks[1].stop()
    assert caplog.records == []
    for sink in sinks:
        sink.start()


def test_the_logs_of_others_are_left_alone(caplog, office):
    loggers = [logging.getLogger(name) for name in ("mail.log", "asyncio")]
    filters = [list(logger.filters) for logger in loggers]
    with Sink(office.receive), Sink(office.receive):
        for logger in loggers:
            logger.warning("from the suite")
    assert [record.message for record in caplog.records] == ["from the suite"] * 2
    assert [logger.filters for logger in loggers] == filters


class SlowGreeting:
    def at(self, command, envelope):
        return Delay(0.001) if command == CONNECT else None


def test_its_timers_run_while_the_suite_has_frozen_time(start, taken):
    with freezegun.freeze_time("2030-01-01"):
        sink = start(faults=SlowGreeting())
        send(sink)
    assert taken
