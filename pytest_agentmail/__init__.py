"""Prove in pytest that an agent waiting for a verification mail still ends right.

The names here are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_agentmail import world
    from pytest_agentmail.agents.mail_world import MailWorld
    from pytest_agentmail.agents.report import RunReport
    from pytest_agentmail.agents.run import AgentRun
    from pytest_agentmail.clock.virtual import VirtualClock
    from pytest_agentmail.errors import (
        AgentFailure,
        AgentKilled,
        AgentMailError,
        AgentMailWarning,
        AmbiguousMail,
        BudgetExceeded,
        ClockError,
        ContractConflict,
        EffectConflict,
        EffectUnknown,
        EvidenceConflict,
        EvidenceReused,
        IllegalTransition,
        LateMail,
        LeaseExpired,
        LifeSuperseded,
        MarkerError,
        NoMatchingMail,
        NotFinished,
        OverBudget,
        ProviderError,
        Resent,
        SettingsError,
        SinkError,
        StaleVersion,
        StoreCorrupt,
        StoreUnavailable,
        UnexpectedMail,
    )
    from pytest_agentmail.mail.mailbox import Mailbox
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.runs.ledger import Ledger
    from pytest_agentmail.runs.reconciling import Happened
    from pytest_agentmail.runs.snapshot import Snapshot
    from pytest_agentmail.scenarios.history import MailHistory
    from pytest_agentmail.signals.queue import SignalQueue
    from pytest_agentmail.signals.result import CheckResult
    from pytest_agentmail.signals.signal import Evidence, Signal, SignalStatus

__all__ = [
    "AgentFailure",
    "AgentKilled",
    "AgentMailError",
    "AgentMailWarning",
    "AgentRun",
    "AmbiguousMail",
    "BudgetExceeded",
    "CheckResult",
    "ClockError",
    "ContractConflict",
    "EffectConflict",
    "EffectUnknown",
    "Evidence",
    "EvidenceConflict",
    "EvidenceReused",
    "Happened",
    "IllegalTransition",
    "LateMail",
    "LeaseExpired",
    "Ledger",
    "LifeSuperseded",
    "MailHistory",
    "MailWorld",
    "Mailbox",
    "MarkerError",
    "Message",
    "NoMatchingMail",
    "NotFinished",
    "OverBudget",
    "ProviderError",
    "Resent",
    "RunReport",
    "SettingsError",
    "Signal",
    "SignalQueue",
    "SignalStatus",
    "SinkError",
    "Snapshot",
    "StaleVersion",
    "StoreCorrupt",
    "StoreUnavailable",
    "UnexpectedMail",
    "VirtualClock",
    "world",
]

_HOMES = {
    "AgentRun": "agents.run",
    "CheckResult": "signals.result",
    "Evidence": "signals.signal",
    "Happened": "runs.reconciling",
    "Ledger": "runs.ledger",
    "MailHistory": "scenarios.history",
    "MailWorld": "agents.mail_world",
    "Mailbox": "mail.mailbox",
    "Message": "mail.message",
    "RunReport": "agents.report",
    "Signal": "signals.signal",
    "SignalQueue": "signals.queue",
    "SignalStatus": "signals.signal",
    "Snapshot": "runs.snapshot",
    "VirtualClock": "clock.virtual",
}


def __getattr__(name: str) -> Any:
    if name == "world":
        return import_module(f"{__name__}.world")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
