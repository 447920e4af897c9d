"""The executor: it calls the app and asks for mail, and tells what came of it."""

from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, NamedTuple

import httpx

from pytest_agentmail import CheckResult, Happened, Ledger, Message, Signal, SignalQueue
from pytest_agentmail.runs.effects import EffectKey
from pytest_agentmail.runs.snapshot import Action

SUBJECT = "Confirm your account"
MAIL = {"subject": SUBJECT}
ALWAYS = datetime.fromtimestamp(0, UTC)


class Fact(NamedTuple):
    """Something that happened: an event of the ledger, before it is written there."""

    event: str
    data: dict[str, Any]


class Executor:
    """One method for each action; each does one thing.

    `lease` gives the fact of a new mailbox, or None where the ledger knows of it already.
    """

    def __init__(
        self,
        ledger: Ledger,
        signals: SignalQueue,
        app: httpx.Client,
        lease: Callable[[], Fact | None],
        read_code: Callable[[Message], str | None] = attrgetter("code"),
    ):
        self.ledger = ledger
        self.signals = signals
        self.app = app
        self.read_code = read_code
        self._methods = {
            Action.LEASE_NEW_MAILBOX: lease,
            Action.REQUEST_VERIFICATION: self.request_verification,
            Action.RECONCILE: self.reconcile,
            Action.START_WAITING: self.start_waiting,
            Action.POLL_INBOX: self.poll_inbox,
            Action.VALIDATE_EVIDENCE: self.validate_evidence,
        }

    def do(self, action: Action) -> Fact | CheckResult | None:
        """What came of it; None where there is nothing to write."""
        return self._methods[action]()

    def request_verification(self) -> Fact:
        """Sign up, or ask for a new mail when the code of the last one was refused."""
        self._expected()  # before the request, so that no mail can be too early
        account = self._account()
        if not self.ledger.snapshot.spent:
            return Fact("verification_requested", {})
        self.ledger.once(self._resend, name="resend", sends_mail=MAIL)(account)
        return Fact("resend_requested", {})

    def reconcile(self) -> None:
        """A request was begun by a life that is dead: find out whether it happened."""
        self.request_verification()

    def start_waiting(self) -> Fact:
        return Fact("wait_started", {"signal_id": self._expected().signal_id})

    def poll_inbox(self) -> CheckResult:
        return self.signals.wait(self._expected())

    def validate_evidence(self) -> Fact:
        """Have the app look at the code. The mail is fetched again: the ledger has no text."""
        message = self.signals.provider.fetch(self.ledger.snapshot.accepted_message_id)
        path = f"/accounts/{self._account()}/confirm"
        reply = self.app.post(path, json={"code": self.read_code(message)})
        if reply.is_success:
            return Fact("code_verified", {})
        return Fact("code_rejected", {"reason": f"the app answered {reply.status_code}"})

    def _expected(self) -> Signal:
        """The signal: the same in every life, and another one after a refused code."""
        snapshot = self.ledger.snapshot
        refused = [s for s in self.signals.all() if s.message_id in snapshot.spent]
        return self.signals.expect(
            "verification_email",
            subject=SUBJECT,
            mailbox=snapshot.recipient,
            since=ALWAYS,  # the address is this run's alone
            newer_than=refused[-1] if refused else None,
        )

    def _account(self) -> int:
        """The account's id: signs up once a mailbox, over all lives."""
        snapshot = self.ledger.snapshot
        sign_up = self.ledger.once(
            self._sign_up,
            name="sign_up",
            step=snapshot.budget.mailboxes,
            sends_mail=MAIL,
            reconcile=self._has_signed_up,
        )
        return sign_up(snapshot.recipient)

    def _sign_up(self, email: str) -> int:
        reply = self.app.post("/accounts", json={"email": email})
        if reply.status_code == httpx.codes.CONFLICT:  # a dead life's request came through
            return self._find(email)["id"]
        return reply.raise_for_status().json()["id"]

    def _has_signed_up(self, _: EffectKey) -> Happened:
        account = self._find(self.ledger.snapshot.recipient)
        return Happened.yes(account["id"]) if account else Happened.no

    def _find(self, email: str) -> dict[str, Any] | None:
        reply = self.app.get("/accounts", params={"email": email})
        if reply.status_code == httpx.codes.NOT_FOUND:
            return None
        return reply.raise_for_status().json()

    def _resend(self, account: int) -> None:
        self.app.post(f"/accounts/{account}/resend").raise_for_status()
