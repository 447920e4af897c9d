"""The app and a mail server, each in its own process, so that they outlive the agent."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

HERE = Path(__file__).parent
APP = HERE.parent / "signup" / "app.py"


@contextmanager
def running(*command, **env):
    """A process, and the first line it prints."""
    with subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        line = process.stdout.readline().strip()
        assert line, f"{command} ended with status {process.wait()} before it was ready"
        yield line
        process.terminate()
    assert process.returncode in {0, -signal.SIGTERM}


@pytest.fixture(scope="session")
def app_url(smtp_sink, tmp_path_factory):
    """The app, for runs in this process: its mail goes to the sink."""
    database = tmp_path_factory.mktemp("app") / "accounts.sqlite"
    with running(APP, DATABASE=str(database), **smtp_sink.env()) as url:
        yield url


@pytest.fixture(scope="session")
def mail_folder(tmp_path_factory):
    """Where the mail server keeps what comes."""
    return tmp_path_factory.mktemp("mail")


@pytest.fixture(scope="session")
def far_app_url(mail_folder, tmp_path_factory):
    """The app, for a script of its own: its mail goes to the mail server."""
    database = tmp_path_factory.mktemp("far_app") / "accounts.sqlite"
    with (
        running(HERE / "mail_server.py", mail_folder) as port,
        running(APP, DATABASE=str(database), SMTP_HOST="127.0.0.1", SMTP_PORT=port) as url,
    ):
        yield url


@pytest.fixture
def outbox(far_app_url):
    """The far app's outgoing mail: DELETE /outbox makes it wait, PUT lets it go."""
    with httpx.Client(base_url=far_app_url) as outbox:
        yield outbox
        outbox.put("/outbox").raise_for_status()
