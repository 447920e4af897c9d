"""Faults at every point of the dialogue, exactly where and as often as planned."""

from __future__ import annotations

import asyncio
import threading
from typing import NamedTuple

import pytest

from pytest_agentmail.errors import SinkError
from pytest_agentmail.mail.smtp.faults import (
    BEFORE_REPLY,
    CONNECT,
    CONTENT,
    Delay,
    Drop,
    Envelope,
    Reply,
)

OK = "250 2.0.0 OK"
BUSY = Reply(451, "4.3.2 Come back later")
MAIL = ["MAIL FROM:<a@b.c>", "RCPT TO:<x@y.z>", "RCPT TO:<v@w.x>"]


class Asked(NamedTuple):
    command: str
    envelope: Envelope


class Script:
    """What goes wrong at each point: the first time the first of its faults, and so on."""

    def __init__(self, **plan):
        self.plan = {point: list(faults) for point, faults in plan.items()}
        self.asked = []

    def at(self, command, envelope):
        self.asked.append(Asked(command, envelope))
        faults = self.plan.get(command)
        return faults.pop(0) if faults else None


@pytest.fixture
def talk(start, connect):
    """A client of a sink in which this goes wrong."""

    def talk(script, **terms):
        return connect(start(faults=script, **terms))

    return talk


def say_all(client):
    """The codes of the replies to a whole mail."""
    replies = [client.ask(command)[:3] for command in ["EHLO me", *MAIL, "DATA"]]
    client.say(b"hi\r\n.\r\n")
    return [*replies, client.reply()[:3]]


def test_every_point_is_asked_once_with_the_mail_as_far_as_it_is_known(talk, taken):
    script = Script()
    client = talk(script)
    client.ask("HELO me", "NOOP", "RSET", "VRFY x")
    say_all(client)
    client.ask("QUIT")
    nothing, sender = Envelope(None, ()), Envelope("a@b.c", ())
    whole = Envelope("a@b.c", ("x@y.z", "v@w.x"))
    assert script.asked == [
        (CONNECT, nothing),
        ("HELO", nothing),
        ("NOOP", nothing),
        ("RSET", nothing),
        ("VRFY", nothing),
        ("EHLO", nothing),
        ("MAIL", sender),
        ("RCPT", Envelope("a@b.c", ("x@y.z",))),
        ("RCPT", whole),
        ("DATA", whole),
        (CONTENT, whole),
        (BEFORE_REPLY, whole),
        ("QUIT", nothing),
    ]
    assert len(taken) == 1


def test_a_bounce_has_an_empty_sender(talk):
    script = Script()
    talk(script).ask("EHLO me", "MAIL FROM:<>")
    assert script.asked[-1] == ("MAIL", Envelope("", ()))


def test_a_command_that_is_refused_anyway_is_not_asked_about(talk):
    script = Script()
    client = talk(script)
    client.ask("EHLO me", "RCPT TO:<x@y.z>", "DATA", "MAIL FROM:<")
    assert [asked.command for asked in script.asked] == [CONNECT, "EHLO"]


@pytest.mark.parametrize(
    ("point", "codes"),
    [
        ("EHLO", ["451", "503", "503", "503", "503"]),
        ("MAIL", ["250", "451", "503", "503", "503"]),
        ("DATA", ["250", "250", "250", "250", "451"]),
    ],
)
def test_a_refused_command_has_no_effect(talk, taken, point, codes):
    client = talk(Script(**{point: [BUSY]}))
    assert [client.ask(command)[:3] for command in ["EHLO me", *MAIL, "DATA"]] == codes
    assert taken == []
    assert say_all(client) == ["250", "250", "250", "250", "354", "250"]
    assert len(taken) == 1


def test_a_refused_recipient_alone_gets_nothing(talk, taken):
    client = talk(Script(RCPT=[BUSY]))
    assert say_all(client) == ["250", "250", "451", "250", "354", "250"]
    assert taken[0].recipients == ("v@w.x",)


def test_a_refused_content_is_not_stored(talk, taken):
    client = talk(Script(content=[Reply(550, "5.7.1 Spam"), Reply(451, "4.0.0 Later")]))
    assert say_all(client)[-1] == "550"
    assert say_all(client)[-1] == "451"
    assert taken == []
    assert say_all(client)[-1] == "250"
    assert len(taken) == 1


def test_a_wrong_reply_after_storing_misleads_the_sender(talk, taken):
    client = talk(Script(before_reply=[BUSY]))
    assert say_all(client)[-1] == "451"
    assert len(taken) == 1


@pytest.mark.parametrize("point", ["connect", "EHLO", "MAIL", "RCPT", "DATA", "content"])
def test_a_connection_dropped_before_storing(talk, taken, point):
    client = talk(Script(**{point: [Drop()]}))
    codes = [client.greeting[:3]]
    for command in ["EHLO me", *MAIL[:2], "DATA", "hi\r\n."]:
        if not codes[-1]:
            break
        codes.append(client.ask(command)[:3])
    whole = ["220", "250", "250", "250", "354"]
    assert codes == [
        *whole[: ["connect", "EHLO", "MAIL", "RCPT", "DATA", "content"].index(point)],
        "",
    ]
    assert taken == []


def test_a_connection_dropped_before_the_reply_leaves_the_mail(world, start, connect):
    """The classic reason for a mail that comes twice; and it is announced all the same."""
    mailbox = world.lease()
    sink = start(receive=world.post_office.accept, faults=Script(before_reply=[Drop()]))
    with mailbox.watching() as watch:
        client = connect(sink)
        client.envelope(mailbox.address)
        client.ask("DATA")
        client.say(b"hi\r\n.\r\n")
        assert client.reply() == ""
        watch.wakeup.result()
    assert connect(sink).send(b"hi", mailbox.address) == OK
    assert [message.raw for message in mailbox.messages] == [b"hi\r\n", b"hi\r\n"]


def test_421_ends_the_session(talk):
    client = talk(Script(RCPT=[Reply(421, "4.3.2 Shutting down")]))
    assert client.envelope()[:3] == "421"
    assert client.rest() == ""


def test_a_greeting_can_be_unfriendly(talk):
    assert talk(Script(connect=[Reply(554, "5.3.2 No service here")])).greeting[:3] == "554"


def test_starttls_and_auth_can_be_refused(talk, trusting, start, connect):
    sink = start(tls="starttls", auth="required", faults=Script(STARTTLS=[BUSY], AUTH=[BUSY]))
    client = connect(sink)
    assert client.ask("EHLO me", "STARTTLS")[:3] == "451"
    assert client.ask("AUTH PLAIN AGFnZW50bWFpbABhZ2VudG1haWw=")[:3] == "451"
    assert client.ask("MAIL FROM:<a@b.c>")[:3] == "530"
    assert client.ask("STARTTLS")[:3] == "220"
    client.start_tls(sink, trusting(sink))
    assert client.ask("EHLO me", "AUTH PLAIN AGFnZW50bWFpbABhZ2VudG1haWw=")[:3] == "235"


class Pace:
    """A delay that lasts until it is let go on."""

    def __init__(self):
        self.begun = threading.Event()
        self.seconds = []
        self._loop = self._end = None

    async def sleep(self, seconds):
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self.seconds.append(seconds)
        self.begun.set()
        await self._end.wait()

    def go_on(self):
        self._loop.call_soon_threadsafe(self._end.set)


@pytest.fixture
def pace():
    return Pace()


@pytest.mark.parametrize(
    ("then", "code", "count"), [(None, "250", 1), (BUSY, "451", 0), (Drop(), "", 0)]
)
def test_a_delay_and_what_follows_it(talk, taken, pace, then, code, count):
    client = talk(Script(content=[Delay(7.5, then)]), sleep=pace.sleep)
    client.envelope()
    client.ask("DATA")
    client.say(b"hi\r\n.\r\n")
    pace.begun.wait()
    assert pace.seconds == [7.5]
    assert taken == []
    pace.go_on()
    assert client.reply()[:3] == code
    assert len(taken) == count


def test_a_delay_holds_up_one_session_only(connect, start, taken, pace):
    sink = start(faults=Script(MAIL=[Delay(60)]), sleep=pace.sleep)
    slow = connect(sink)
    slow.ask("EHLO me")
    slow.say(b"MAIL FROM:<a@b.c>\r\n")
    pace.begun.wait()
    assert connect(sink).send(b"hi") == OK
    pace.go_on()
    assert slow.reply() == "250 OK"


def test_a_delay_in_real_seconds(talk):
    assert talk(Script(connect=[Delay(0.001)])).greeting[:3] == "220"


@pytest.mark.parametrize(("point", "count"), [("content", 0), ("before_reply", 1)])
def test_a_sink_stopped_in_a_delay(start, connect, taken, pace, point, count):
    sink = start(faults=Script(**{point: [Delay(3600)]}), sleep=pace.sleep)
    client = connect(sink)
    client.envelope()
    client.ask("DATA")
    client.say(b"hi\r\n.\r\n")
    pace.begun.wait()
    sink.stop()
    assert client.rest() == ""
    assert len(taken) == count
    sink.start()


class Broken:
    def at(self, command, envelope):
        if command in {"RCPT", BEFORE_REPLY}:
            raise LookupError(command)


def test_a_plan_that_breaks_is_our_error(office, connect, start):
    sink = start(faults=Broken())
    client = connect(sink)
    assert client.envelope() == "451 4.3.0 Something broke in the sink"
    with pytest.raises(SinkError) as caught:
        sink.stop()
    assert str(caught.value) == f"{sink.url} had 1 errors of its own, first: LookupError('RCPT')"
    sink.start()
