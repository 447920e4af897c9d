"""An agent that gives a verification mail two minutes, then asks for it once more.

Twice: blocking, and as a coroutine. Neither knows that it is tested.
"""

from collections.abc import Callable

from pytest_agentmail import AgentRun, CheckResult, Signal

KIND, SUBJECT = "verification_email", "Confirm your account"
PATIENCE = 120


class GaveUpError(Exception):
    """There is no code; the text says what to do."""


def agent(run: AgentRun, request_mail: Callable[[str], None]) -> str:
    """Request the mail and return its code."""
    expected = run.signals.expect(KIND, subject=SUBJECT, within=PATIENCE)
    request_mail(run.mailbox.address)
    answer = run.signals.wait(expected)
    if answer.status == "expired":
        expected = expect_resent(run, answer.signal)
        request_mail(run.mailbox.address)
        answer = run.signals.wait(expected)
    return code_of(answer)


async def agent_async(run: AgentRun, request_mail: Callable[[str], None]) -> str:
    """The same, without blocking the event loop while it waits."""
    expected = run.signals.expect(KIND, subject=SUBJECT, within=PATIENCE)
    request_mail(run.mailbox.address)
    answer = await run.signals.wait_async(expected)
    if answer.status == "expired":
        expected = expect_resent(run, answer.signal)
        request_mail(run.mailbox.address)
        answer = await run.signals.wait_async(expected)
    return code_of(answer)


def expect_resent(run: AgentRun, ended: Signal) -> Signal:
    return run.signals.expect(KIND, subject=SUBJECT, within=PATIENCE, newer_than=ended)


def code_of(answer: CheckResult) -> str:
    if answer.message is None:
        raise GaveUpError(answer.advice)
    return answer.message.code
