"""Agents with a waiting loop of their own, as people write them: with `time` and with asyncio."""

import asyncio
import time
from collections.abc import Callable

from pytest_agentmail import AgentRun
from pytest_agentmail.errors import ProviderError

PATIENCE, PAUSE = 120, 5


def polls(run: AgentRun, request_mail: Callable[[str], None]) -> str:
    """Request the mail, look for it every five seconds, give up after two minutes."""
    request_mail(run.mailbox.address)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        pause = PAUSE
        try:
            if found := run.provider.search(recipient=run.mailbox.address):
                return found[-1].code
        except ProviderError as error:
            pause = error.retry_after or PAUSE
        time.sleep(pause)
    raise TimeoutError("two minutes have passed")


async def polls_async(run: AgentRun, request_mail: Callable[[str], None]) -> str:
    """The same with asyncio."""
    request_mail(run.mailbox.address)
    async with asyncio.timeout(PATIENCE):
        while True:
            pause = PAUSE
            try:
                if found := run.provider.search(recipient=run.mailbox.address):
                    return found[-1].code
            except ProviderError as error:
                pause = error.retry_after or PAUSE
            await asyncio.sleep(pause)
