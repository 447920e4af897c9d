"""Prove in pytest that an agent waiting for a verification mail still ends right.

The names here are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_agentmail.agents.mail_world import MailWorld
    from pytest_agentmail.agents.report import RunReport
    from pytest_agentmail.agents.run import AgentRun
    from pytest_agentmail.mail.mailbox import Mailbox
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.signals.queue import SignalQueue
    from pytest_agentmail.signals.result import CheckResult
    from pytest_agentmail.signals.signal import Evidence, Signal, SignalStatus

__all__ = [
    "AgentRun",
    "CheckResult",
    "Evidence",
    "MailWorld",
    "Mailbox",
    "Message",
    "RunReport",
    "Signal",
    "SignalQueue",
    "SignalStatus",
]

_HOMES = {
    "AgentRun": "agents.run",
    "CheckResult": "signals.result",
    "Evidence": "signals.signal",
    "MailWorld": "agents.mail_world",
    "Mailbox": "mail.mailbox",
    "Message": "mail.message",
    "RunReport": "agents.report",
    "Signal": "signals.signal",
    "SignalQueue": "signals.queue",
    "SignalStatus": "signals.signal",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
