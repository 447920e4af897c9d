"""An agent that signs up on the app and confirms its account."""

from collections.abc import Callable
from operator import attrgetter

import httpx

from pytest_agentmail import AgentRun, Message

SUBJECT = "Confirm your account"
ATTEMPTS = 2


class SignUpError(Exception):
    """The account could not be confirmed; the text says what to do."""


def agent(
    run: AgentRun, app_url: str, read_code: Callable[[Message], str] = attrgetter("code")
) -> int:
    """Sign up with the run's address and return the id of the confirmed account.

    `read_code` may be a model. When the app refuses what it read, the agent asks for a new mail.
    """
    with httpx.Client(base_url=app_url) as app:
        request_mail = run.tools.wrap(app.post, name="request_mail", effect=True)
        expected = run.signals.expect("verification_email", subject=SUBJECT)
        reply = request_mail("/accounts", json={"email": run.mailbox.address})
        account = reply.raise_for_status().json()["id"]

        for attempts_left in reversed(range(ATTEMPTS)):
            answer = run.signals.wait(expected)
            if answer.message is None:
                raise SignUpError(answer.advice)
            code = read_code(answer.message)
            reply = app.post(f"/accounts/{account}/confirm", json={"code": code})
            if reply.is_success:
                return account
            if attempts_left:
                expected = run.signals.expect(
                    "verification_email", subject=SUBJECT, newer_than=answer.evidence
                )
                request_mail(f"/accounts/{account}/resend").raise_for_status()
        raise SignUpError("the app refused every code")
