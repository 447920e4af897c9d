"""One run: what an agent is given, and how a test drives it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

from pytest_agentmail.agents.auditing import measured, recorded, seen
from pytest_agentmail.agents.bookkeeping import Bookkeeping
from pytest_agentmail.agents.driver import Outcome, live
from pytest_agentmail.agents.playing import Playing
from pytest_agentmail.agents.report import RunReport
from pytest_agentmail.agents.tools import CallCount, Tools
from pytest_agentmail.errors import AgentMailError, BudgetExceeded, ClockError, SettingsError
from pytest_agentmail.mail.address import Address, random_letters, stable_address, unique_address
from pytest_agentmail.mail.composing import written
from pytest_agentmail.mail.mailbox import Mailbox, Surroundings
from pytest_agentmail.mail.post_office import RUN_PREFIX, has_ended
from pytest_agentmail.providers.faulty import WakingFaultyProvider
from pytest_agentmail.providers.sink import SinkProvider
from pytest_agentmail.runs.checklist import answered
from pytest_agentmail.signals.backoff import Backoff
from pytest_agentmail.signals.queue import SignalQueue
from pytest_agentmail.world import MailFault, ProviderFault, SmtpFault

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_agentmail.agents.timing import Timing
    from pytest_agentmail.clock.real import RealClock
    from pytest_agentmail.clock.virtual import VirtualClock
    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.mail.post_office import PostOffice
    from pytest_agentmail.mail.smtp.sink import Sink
    from pytest_agentmail.runs.checklist import Checklist
    from pytest_agentmail.runs.ledger import Ledger
    from pytest_agentmail.runs.metrics import Metrics
    from pytest_agentmail.runs.reconciling import MailAcceptanceLog
    from pytest_agentmail.runs.record import MailSeen
    from pytest_agentmail.scenarios.history import MailHistory
    from pytest_agentmail.settings import Settings
    from pytest_agentmail.stores.opening import AnyStore
    from pytest_agentmail.world import MailArrives, Origin

__all__ = ["AgentRun"]

_STRAYS_SHOWN = 200
"""How many of the latest are looked at to explain a failed wait."""


class AgentRun:
    """One execution for one intent: a mailbox, signals, a clock, all under one `run_id`.

    An agent gets it as its first argument.
    """

    def __init__(  # noqa: PLR0913  (made by the world only)
        self,
        run_id: str,
        *,
        settings: Settings,
        sink: Sink,
        post_office: PostOffice,
        store: AnyStore,
        mail_log: MailAcceptanceLog,
        timing: Timing,
        test: str,
        hints: Sequence[Callable[[], str | None]] = (),
    ) -> None:
        self.run_id = run_id
        """Names this run; no other has it."""
        self.clock: RealClock | VirtualClock = timing.clock
        """The time everything in the run follows."""
        self.sink = sink
        """The SMTP server its app sends to: `smtp_sink`, or its own with `own_sink=True`."""
        self._settings = settings
        self._timing = timing
        self._post_office = post_office
        self._test = test
        self._hints = hints
        self._mail = post_office.open(run_id)
        self._leased: list[Mailbox] = []
        self._closed = False
        self._books = Bookkeeping(store, run_id, self.clock, mail_log, settings.resume_minimum)
        self._seen_at_end: list[MailSeen] | None = None
        self._lives = 0
        self._outcome: Outcome | None = None
        virtual = timing.virtual
        self._playing = None if virtual is None else Playing(virtual, self._write)
        self._plays = False
        self._other_runs: dict[str, str] = {}
        self.mailbox: Mailbox = self.lease()
        """The first mailbox leased to this run."""
        self.provider: WakingFaultyProvider = WakingFaultyProvider(
            SinkProvider(post_office, run_id), self.clock
        )
        """`search` and `fetch`, for agents that poll by themselves."""
        self.signals: SignalQueue = SignalQueue(
            self.provider,
            store,
            self.clock,
            run_id=run_id,
            mailbox=self.mailbox,
            checks=settings.checks,
            within=settings.within,
            backoff=Backoff(),  # not spread by the run's id: the same test takes the same course
            look_around=self._look_around,
            requested_at=lambda: self.tools.requested_at,
            on_expect=self._on_expect,
        )
        """The mails this run expects."""
        self.tools: Tools = Tools(
            self.clock, self._mail, settings.settle, self._on_effect, self._refuse_if_closed
        )
        """Wraps the tools an agent calls."""

    def __repr__(self) -> str:
        return f"<AgentRun {self.run_id} with {self.mailbox.address}>"

    def lease(self, address: str | None = None, *, owned_by: str | None = None) -> Mailbox:
        """A further mailbox, leased until the run ends.

        Args:
            address: A fixed address, for this mailbox alone while it is leased; a new one unless
                given.
            owned_by: The id of another run to lease it to: its mail is foreign here.

        Raises:
            SettingsError: The address is no address, or is leased already.
            AgentMailError: The run has ended.
        """
        self._refuse_if_closed()
        mailbox = Mailbox(
            self._new_address() if address is None else _checked(address),
            run_id=owned_by or self.run_id,
            clock=self.clock,
            lease=timedelta(seconds=self._settings.lease),
            fixed=address is not None,
            look_around=self._look_around,
        )
        self._post_office.lease(mailbox)
        self._leased.append(mailbox)
        if owned_by is None:
            self._books.leased(mailbox)
        return mailbox

    @property
    def ledger(self) -> Ledger:
        """What this run has done, as versioned events; opened when it is first asked for."""
        return self._books.ledger

    def drive(self, agent: Callable[..., Any], *args: Any, **kwargs: Any) -> RunReport:
        """Call `agent(run, *args, **kwargs)` in this thread and report what came of it.

        An `async` agent gets a fresh event loop.

        Raises:
            ClockError: The virtual clock cannot set `datetime`, since something else does.
            AgentMailError: The run has ended, or an event loop is running; use `drive_async` then.
            BudgetExceeded: The run was driven before, and has fewer checks left than the setting
                `resume_minimum` says; the agent was not called.
            Exception: What the agent raised, SystemExit too, unless the setting `raises` is off.
                The report is its `agentmail_report`.
        """
        __tracebackhide__ = True
        self._refuse_if_closed()
        try:
            with self._timing.driven():
                self._outcome = self._live(agent, *args, **kwargs)
        except ClockError as error:
            # From entering or leaving it: what is between here and there tells nobody anything.
            raise error.with_traceback(None) from None
        report = self.report
        if report.error is not None and self._settings.raises:
            with suppress(AttributeError):
                report.error.agentmail_report = report  # type: ignore[attr-defined]
            raise report.error
        return report

    async def drive_async(self, agent: Callable[..., Any], *args: Any, **kwargs: Any) -> RunReport:
        """As `drive`, from an async test: the agent runs in a thread and loop of its own.

        A thread cannot be stopped: where the call is cancelled, or times out, the agent runs on.
        Once the run has ended, what it does through the run is refused with an `AgentMailError`.
        """
        return await asyncio.to_thread(self.drive, agent, *args, **kwargs)

    def mail_fault(self, *faults: MailFault | SmtpFault) -> None:
        """Let these happen to the run's mail; the values are made by `pytest_agentmail.world`.

        Raises:
            SettingsError: One of them is no fault of mail or SMTP.
        """
        for fault in faults:
            match fault:
                case MailFault():
                    self._mail.faults.add([fault])
                case SmtpFault(needs_own_sink=True) if not self._settings.own_sink:
                    raise SettingsError(
                        f"{fault!r} strikes before it is known whom the mail is for: "
                        f"it needs agentmail(own_sink=True), and an app that sends to run.sink"
                    )
                case SmtpFault():
                    self._mail.smtp_faults.add([fault])
                case _:
                    raise SettingsError(
                        f"{fault!r} is no fault of mail: expected world.mail_… or world.smtp_…"
                    )

    def provider_fault(self, *faults: ProviderFault) -> None:
        """Let these happen to what `provider` answers; the values are made by `world`.

        Raises:
            SettingsError: One of them is no fault of a provider.
        """
        for fault in faults:
            if not isinstance(fault, ProviderFault):
                raise SettingsError(
                    f"{fault!r} is no fault of a provider: expected world.provider_…"
                )
        self.provider.add(faults)

    def play(self, history: MailHistory) -> None:
        """Let this happen in the run: mail arrives from its first request or signal on.

        Where the run has begun, its times count from now on. A further history adds to the first.

        Raises:
            SettingsError: Mail is to arrive, and the run's clock is the real one.
        """
        self._refuse_if_closed()
        if history.arrivals:
            if self._playing is None:
                raise SettingsError(
                    f"{history!r} needs the virtual clock: agentmail(clock='virtual')"
                )
            self._plays = True
            self._playing.add(history.arrivals)
        self.mail_fault(*history.mail_faults)
        self.provider_fault(*history.provider_faults)

    def conclude(self) -> None:
        """Make sure that every fault planned for the run has struck.

        Mail of a history that was still to arrive is no error: an agent may be done before it.

        Raises:
            AgentMailError: A fault never struck.
        """
        __tracebackhide__ = True
        idle = [*self._mail.pending(), *self.provider.pending()]
        if idle:
            listed = ", ".join(map(repr, idle))
            raise AgentMailError(
                f"never struck: {listed}; the test says less than it seems to. See that the agent "
                f"comes to the point, or take the fault away"
            )

    def _live(self, agent: Callable[..., Any], *args: Any, **kwargs: Any) -> Outcome:
        """Let the next life begin, if the run has what it takes to go on."""
        try:
            if self._lives:
                self._books.resume()
        except BudgetExceeded as error:
            return Outcome(None, error)
        self._lives += 1
        return live(agent, self, *args, **kwargs)

    @property
    def sent(self) -> list[Message]:
        """What the sink accepted for this run, in order of arrival, once a mail."""
        return list(self._mail.sent)

    @property
    def report(self) -> RunReport:
        """What came of the run so far."""
        outcome, signals, books = self._outcome, self.signals.all(), self._books.reader
        asked = sum(signal.checks for signal in signals)
        return RunReport(
            run_id=self.run_id,
            finished=outcome is not None and outcome.error is None,
            result=outcome and outcome.result,
            error=outcome and outcome.error,
            lives=self._lives,
            calls={"check": CallCount(asked, asked), **self.tools.calls},
            sent=self.sent,
            signals=signals,
            snapshot=books.snapshot if books else None,
            metrics=self.figures,
        )

    @property
    def figures(self) -> Metrics | None:
        """The figures of row A11; None where no ledger is kept."""
        books = self._books.reader
        return measured(books, self.signals.all(), self._seen()) if books else None

    def checklist(self) -> Checklist:
        """The closing checklists of rows A16 and B18, answered for the run as far as it has come.

        `print` shows each item with its answer and the evidence for it. Ask before the run ends.
        """
        books, signals = self._books.reader, self.signals.all()
        return answered(recorded(self.run_id, books, signals, self._seen(), self._lives))

    def close(self) -> None:
        """End the run's leases; its mail stays readable, and all else is refused."""
        self._closed = True
        if self._playing is not None:
            self._playing.stop()
        try:
            if self._books.reader is not None:
                self._seen_at_end = self._seen()
        finally:
            self._post_office.release(self._leased, test=self._test)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise has_ended(self.run_id)

    def _seen(self) -> list[MailSeen]:
        """What is in the run's mailboxes; whose it is can be told only while they are leased."""
        if self._seen_at_end is not None:
            return self._seen_at_end
        own = [mailbox for mailbox in self._leased if mailbox.run_id == self.run_id]
        return [
            seen(message, self._post_office.foreign(message, self.run_id))
            for mailbox in own
            for message in mailbox.messages
        ]

    def _on_expect(self) -> None:
        self._refuse_if_closed()
        if self._playing is not None:
            self._playing.on_signal()

    def _on_effect(self) -> bool:
        if self._playing is not None:
            self._playing.on_request()
        return not self._plays

    def _write(self, number: int, arrival: MailArrives) -> None:
        raw = written(arrival, self._address_of(arrival.run), number)
        self._post_office.write(raw, arrival.sender, [self.mailbox.address])

    def _address_of(self, origin: Origin) -> str:
        """An address of this run, of one that goes on, or of one that has ended."""
        if origin == "this":
            return self.mailbox.address
        if origin not in self._other_runs:
            run_id = RUN_PREFIX + random_letters()
            mailbox = self.lease(owned_by=run_id)
            self._other_runs[origin] = mailbox.address
            if origin == "earlier":
                self._post_office.release([mailbox], test=run_id)
        return self._other_runs[origin]

    def _look_around(self) -> Surroundings:
        hints = (hint() for hint in self._hints)
        return Surroundings(
            self._post_office.strays[-_STRAYS_SHOWN:],
            [hint for hint in hints if hint],
            self._mail.happened(),
        )

    def _new_address(self) -> str:
        if self._settings.address == "unique":
            return unique_address(self._settings.domain)
        # A test may have several runs open at once; each takes the next address that is free.
        numbers = count(len(self._leased))
        stable = (stable_address(f"{self._test}\n{n}", self._settings.domain) for n in numbers)
        return next(address for address in stable if self._post_office.holder(address) is None)


def _checked(address: str) -> str:
    try:
        Address.parse(address)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return address
