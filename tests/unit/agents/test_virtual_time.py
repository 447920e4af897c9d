"""A driven agent under the virtual clock: waiting costs nothing, and no time-out is false."""

from __future__ import annotations

import asyncio
import datetime as dt
import smtplib
import subprocess
import sys
import threading
import time

import pytest

from pytest_agentmail import world
from pytest_agentmail.agents.mail_world import MailWorld

# Answers at once, and mails 0 to 30 ms later, as a web app does from a background task.
APP = """
import smtplib, sys, time
for number, line in enumerate(sys.stdin):
    port, to = line.split()
    print(202, flush=True)
    time.sleep(number * 7 % 31 / 1000)
    with smtplib.SMTP("127.0.0.1", int(port)) as client:
        client.sendmail("shop@app.example", to, "Subject: Confirm\\r\\n\\r\\nCode: 483920\\r\\n")
"""


@pytest.fixture(scope="module")
def mail_world():
    with MailWorld() as world:
        yield world


@pytest.fixture
def run(mail_world):
    with mail_world.open_run(clock="virtual") as run:
        yield run


def send(run, subject="Confirm"):
    with smtplib.SMTP(run.sink.host, run.sink.port) as client:
        client.sendmail(
            "shop@app.example", run.mailbox.address, f"Subject: {subject}\r\n\r\n483920\r\n"
        )


class App:
    """The app in its own process."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", APP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def request_code(self, run):
        """Ask for a verification mail."""
        self.process.stdin.write(f"{run.sink.port} {run.mailbox.address}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def seconds_since(start, run):
    return (run.clock.now() - start).total_seconds()


def test_two_minutes_pass_at_once(run):
    start = run.clock.now()

    def agent(run):
        run.clock.call_later(119, lambda: send(run))
        return run.signals.wait(run.signals.expect("verification", subject="Confirm"))

    report = run.drive(agent)
    assert report.result.status == "found"
    assert seconds_since(start, run) == 119
    assert report.result.message.received_at == start + dt.timedelta(seconds=119)


def test_two_minutes_pass_at_once_in_a_task(run):
    start = run.clock.now()

    async def agent(run):
        run.clock.call_later(119, lambda: send(run))
        return await run.signals.wait_async(run.signals.expect("verification"))

    assert run.drive(agent).result.status == "found"
    assert seconds_since(start, run) == 119


def test_nothing_comes_and_the_signal_expires_at_once(run):
    result = run.drive(lambda run: run.signals.wait(run.signals.expect("verification"))).result
    assert (result.status, result.cause) == ("expired", "deadline")
    assert run.clock.now() == result.signal.expires_at


def test_an_agents_own_polling_loop_is_virtual(run):
    def agent(run):
        deadline = time.monotonic() + 100
        while time.monotonic() < deadline and not run.provider.search(
            recipient=run.mailbox.address
        ):
            time.sleep(5)
        return dt.datetime.now(dt.UTC)

    start = run.clock.now()
    run.clock.call_later(42, lambda: send(run))
    assert run.drive(agent).result == start + dt.timedelta(seconds=45)


def test_asyncio_timeouts_are_virtual(run):
    async def agent(run):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()
        await asyncio.sleep(60)
        return seconds_since(start, run)

    start = run.clock.now()
    assert run.drive(agent).result == 3660


def test_datetime_can_be_left_alone(mail_world):
    with mail_world.open_run(clock="virtual", datetime=False) as run:
        report = run.drive(lambda _: dt.datetime.now(dt.UTC))
    assert abs(report.result - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.long)])
def test_the_mail_of_an_effect_is_waited_for_in_real_time(mail_world, count):
    """The app answers 202 and mails a little later, in a process of its own."""
    with App() as app:
        for _ in range(count):
            with mail_world.open_run(clock="virtual") as run:

                def agent(run):
                    request = run.tools.wrap(app.request_code, effect=True)
                    signal = run.signals.expect("verification", subject="Confirm")
                    assert request(run) == 202
                    return run.signals.wait(signal)

                report = run.drive(agent)
                assert report.result.status == "found"
                assert report.calls["request_code"] == (1, 1)


def test_the_lease_follows_the_runs_time(mail_world):
    with mail_world.open_run(clock="virtual", lease=60) as run:
        run.clock.sleep(59)
        assert not run.mailbox.expired
        run.clock.sleep(1)
        assert run.mailbox.expired


def test_two_runs_with_two_clocks_do_not_mind_each_other(mail_world):
    with mail_world.open_run(clock="virtual") as one, mail_world.open_run(clock="virtual") as two:
        one.clock.sleep(1000)
        send(two)
        assert two.mailbox.messages[0].received_at == two.clock.now()
        assert one.clock.now() != two.clock.now()


def test_time_stands_still_while_a_client_sends_its_mail_slowly(run):
    """A sender nobody knew of is at work in another process when the agent begins to wait."""
    with smtplib.SMTP(run.sink.host, run.sink.port) as client:
        client.ehlo()
        client.mail("shop@app.example")
        begun, done = threading.Event(), threading.Event()

        def finish():
            begun.wait()
            client.rcpt(run.mailbox.address)
            client.data(b"Subject: Confirm\r\n\r\n483920\r\n")
            done.set()

        sender = threading.Thread(target=finish)
        sender.start()

        def agent(run):
            signal = run.signals.expect("verification")
            begun.set()
            return run.signals.wait(signal)

        assert run.drive(agent).result.status == "found"
        sender.join()
    assert run.sent


def test_a_silent_client_does_not_hold_time_for_long(run):
    with smtplib.SMTP(run.sink.host, run.sink.port) as client:
        client.ehlo()
        result = run.drive(lambda run: run.signals.wait(run.signals.expect("verification"))).result
    assert result.status == "expired"


def test_a_refused_mail_does_not_hold_time(run):
    run.mail_fault(world.smtp_refuses(550))
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        send(run)
    result = run.drive(lambda run: run.signals.wait(run.signals.expect("verification"))).result
    assert result.status == "expired"
