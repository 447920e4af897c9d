"""The app, started once for all tests, in its own process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

APP = Path(__file__).with_name("app.py")


@pytest.fixture(scope="session")
def app_url(smtp_sink, tmp_path_factory):
    """Where the app listens; its mail goes to the sink."""
    database = tmp_path_factory.mktemp("signup") / "accounts.sqlite"
    env = {**os.environ, **smtp_sink.env(), "DATABASE": str(database)}
    with subprocess.Popen([sys.executable, APP], env=env, stdout=subprocess.PIPE, text=True) as app:
        url = app.stdout.readline().strip()
        assert url, f"the app ended with status {app.wait()} before it listened"
        yield url
        app.terminate()
    assert app.returncode in {0, -signal.SIGTERM}


@pytest.fixture(
    params=["real", pytest.param("virtual", marks=pytest.mark.agentmail(clock="virtual"))]
)
def both_clocks():
    """Run the test twice: in real time, and in virtual time."""


@pytest.fixture
def app(app_url):
    """A client of the app."""
    with httpx.Client(base_url=app_url) as client:
        yield client


@pytest.fixture
def outbox(app_url):
    """The app's outgoing mail: `close()` makes it wait, `open()` lets it go."""
    # A client of its own: uvicorn takes a connection's next request when its background task ended.
    with httpx.Client(base_url=app_url) as operator:
        outbox = Outbox(operator)
        yield outbox
        outbox.open()


class Outbox:
    def __init__(self, operator):
        self._operator = operator

    def close(self):
        self._operator.delete("/outbox").raise_for_status()

    def open(self):
        self._operator.put("/outbox").raise_for_status()
