"""The app that sends the mail, and event loops that follow virtual time."""

import smtplib
from email.message import EmailMessage

import pytest

from pytest_agentmail.testing import virtual_loop_factory


def pytest_asyncio_loop_factories():
    """Make the `async def` tests of this folder virtual as a whole."""
    return {"virtual": virtual_loop_factory}


@pytest.fixture
def request_mail(agent_run, smtp_sink):
    """Ask the app for its mail. The world of a test may delay or lose what it sends."""
    codes = iter(["100001", "100002"])

    def request_mail(address):
        mail = EmailMessage()
        mail["From"] = "no-reply@shop.example"
        mail["To"] = address
        mail["Subject"] = "Confirm your account"
        mail.set_content(f"Your code is {next(codes)}.")
        with smtplib.SMTP(smtp_sink.host, smtp_sink.port) as smtp:
            smtp.send_message(mail)

    return agent_run.tools.wrap(request_mail, effect=True)
