"""The faults of SMTP that belong to runs: which strikes where, and what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pytest_agentmail import world
from pytest_agentmail.mail.smtp.faults import BEFORE_REPLY, CONNECT, Delay, Drop, Reply
from pytest_agentmail.scenarios.plan import Plan
from pytest_agentmail.world import SmtpFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_agentmail.mail.smtp.faults import Envelope, Fault

__all__ = ["FaultsByRecipient", "FaultsOfOneRun", "SmtpFaults"]

# What the engine calls the points that `world` names otherwise.
_POINTS = {"CONNECT": CONNECT, "before_reply": BEFORE_REPLY}

_TEXTS = {
    421: "4.3.2 Service not available, closing the connection",
    450: "4.2.1 Mailbox busy, try again later",
    451: "4.7.1 Greylisted, try again later",
    452: "4.3.1 Out of storage, try again later",
    550: "5.1.1 No such mailbox here",
    552: "5.2.2 Mailbox full",
    554: "5.7.1 Refused by policy",
}


class SmtpFaults(Plan[SmtpFault]):
    """The SMTP faults of one run; notes what struck."""

    def strike(self, point: str) -> Fault | None:
        """What strikes at this point of the dialogue, which was reached now."""
        fault = self.strike_first(
            lambda planned: (
                _POINTS.get(planned.fault.at, planned.fault.at) == point
                and planned.struck < planned.fault.times
            )
        )
        return None if fault is None else _spoken(fault)

    def notes(self) -> list[str]:
        """What struck, a sentence each."""
        return self.told(_note)


class HasFaults(Protocol):
    """Finds the runs that recipients belong to."""

    def smtp_faults(self, recipients: Sequence[str]) -> Sequence[SmtpFaults]:
        """The faults of the runs that have these addresses, each once."""
        ...


class FaultsByRecipient:
    """In a sink for all runs: a fault strikes what is under way to a mailbox of its run."""

    def __init__(self, runs: HasFaults) -> None:
        self._runs = runs

    def at(self, command: str, envelope: Envelope) -> Fault | None:
        """What strikes now; at RCPT only the run of the recipient in question is meant."""
        meant = envelope.recipients[-1:] if command == "RCPT" else envelope.recipients
        for faults in self._runs.smtp_faults(meant):
            fault = faults.strike(command)
            if fault is not None:
                return fault
        return None


class FaultsOfOneRun:
    """In a sink of the run's own: every dialogue is the run's, from its first word."""

    def __init__(self, faults: SmtpFaults) -> None:
        self._faults = faults

    def at(self, command: str, envelope: Envelope) -> Fault | None:  # noqa: ARG002  (none is needed)
        """What strikes now."""
        return self._faults.strike(command)


def _spoken(fault: SmtpFault) -> Fault:
    match fault:
        case world.SmtpRefuses(code):
            return _reply(code)
        case world.SmtpSlow(seconds):
            return Delay(seconds)
    return Drop()


def _reply(code: int) -> Reply:
    general = "4.0.0 Try again later" if code < 500 else "5.0.0 Refused"  # noqa: PLR2004  (RFC 5321)
    return Reply(code, _TEXTS.get(code, general))


def _note(fault: SmtpFault, count: int) -> str:
    mails = f"{count} mail{'s' if count > 1 else ''}"
    match fault:
        case world.SmtpRefuses(code, at=at):
            return f"the sink refused {mails}: {_reply(code)} (at {at})"
        case world.SmtpSlow(seconds, at=at):
            return f"the sink took {seconds:g} s to answer {mails} (at {at})"
    return f"the sink dropped the connection of {mails} (at {fault.at})"
