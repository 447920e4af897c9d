"""The ledger: what one life of a run may write."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from pytest_agentmail.errors import StaleVersion
from pytest_agentmail.runs.effects import Effect, EffectKey, EffectRecord
from pytest_agentmail.runs.events import EventType, new_event
from pytest_agentmail.runs.failing import fail_closed
from pytest_agentmail.runs.once import Durable, as_it_is
from pytest_agentmail.runs.reader import (
    RunReader,
    checked_name,
    checked_run_id,
    opened,
    real_clock,
)
from pytest_agentmail.runs.reconciling import RewindReport, described, rewound
from pytest_agentmail.runs.recording import is_accepted, stands_for
from pytest_agentmail.runs.recovery import check_budget
from pytest_agentmail.runs.replay import fold
from pytest_agentmail.runs.snapshot import Verification
from pytest_agentmail.runs.transitions import allowed_events
from pytest_agentmail.stores.protocol import EventRow, Write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.runs.events import Event
    from pytest_agentmail.runs.once import Phase
    from pytest_agentmail.runs.reader import SpendingOf
    from pytest_agentmail.runs.reconciling import MailAcceptanceLog
    from pytest_agentmail.runs.recording import CheckOutcome
    from pytest_agentmail.runs.recovery import RecoveryReport
    from pytest_agentmail.runs.snapshot import Snapshot
    from pytest_agentmail.stores.protocol import RunRow, Store

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["Ledger"]

COMPACT_AFTER = 200


class Ledger(RunReader):
    """A run, as one of its lives writes it.

    The next life takes over by opening it; from then on this one's writes are refused.
    """

    def __init__(  # noqa: PLR0913 - as `open`
        self,
        store: Store,
        run_id: str,
        clock: Clock,
        spending: SpendingOf | None = None,
        *,
        life: int,
        mail_log: MailAcceptanceLog | None = None,
        compact_after: int = COMPACT_AFTER,
    ) -> None:
        super().__init__(store, run_id, clock, spending)
        self.life: int = life
        """The fencing token of the life that may write."""
        self.mail_log = mail_log
        self.recovery: RecoveryReport | None = None
        """What was checked when this life took over a run that had begun before; else `None`."""
        self.rewind: RewindReport | None = None
        """What comparing with the mail server's log found: a rewind, once there was one."""
        self.on_phase: Callable[[Phase, EffectKey], None] = lambda _phase, _key: None
        """Told each time a durable function reaches an edge at which its life may die."""
        self._compact_after = compact_after
        self._kinds_of_mail: dict[str, Mapping[str, Any]] = {}
        self._writing = threading.RLock()

    @classmethod
    def open(  # noqa: PLR0913 - a life is told all of this in one place
        cls,
        url: str | Store,
        *,
        run_id: str,
        clock: Clock | None = None,
        spending: SpendingOf | None = None,
        resume_minimum: int = 0,
        mail_log: MailAcceptanceLog | None = None,
        sends_mail: Mapping[str, Any] | None = None,
        compact_after: int = COMPACT_AFTER,
    ) -> Self:
        """Start a new life of a run; any other life of it may not write any more.

        Args:
            url: `sqlite:///path`, `postgresql://…`, `memory`, or a store.
            run_id: The run; a new one if the store does not know it.
            clock: Tells the time; the real one if none is given.
            spending: Gives what the checks of a run have come to, over all its lives; if left
                out, those of its signals in the same store.
            resume_minimum: Checks that must be left for the run to be resumed (C11).
            mail_log: What the mail server accepted for the run; a probe for `once`.
            sends_mail: Criteria of the mail this run's effects send; what was accepted is then
                compared with what the ledger knows, before anything is sent.
            compact_after: Events after which the older ones are compacted.

        Raises:
            BudgetExceeded: If fewer checks are left than `resume_minimum`; the run was not
                taken over.
            StoreCorrupt: If the store cannot be read. It is never taken for a first run.
        """
        ledger = cls(
            opened(url),
            checked_run_id(run_id),
            clock or real_clock(),
            spending,
            life=0,
            mail_log=mail_log,
            compact_after=compact_after,
        )
        ledger.take_over(resume_minimum)
        if sends_mail is not None:
            ledger.compare(sends_mail)
        return ledger

    def take_over(self, resume_minimum: int = 0) -> None:
        """Let this be the run's next life; any other one may not write any more.

        Raises:
            BudgetExceeded: If fewer checks are left than `resume_minimum`; nothing was changed.
            StoreCorrupt: If what is stored of the run cannot be read.
        """
        before = self.snapshot
        check_budget(before, resume_minimum)
        self.life = self.store.take_over(self.run_id)
        if before.version > 0:
            self.recovery = self.check_recovery()
        for sends_mail in tuple(self._kinds_of_mail.values()):
            self.compare(sends_mail)

    def compare(self, sends_mail: Mapping[str, Any]) -> None:
        """Compare what the mail server accepted with what effects were to send; again in each life.

        Args:
            sends_mail: Criteria of the mail they send.
        """
        if self.mail_log is None:
            return
        kind = described(sends_mail)
        self._kinds_of_mail[kind] = sends_mail
        mails = self.mail_log.accepted(self.run_id, sends_mail)
        found = rewound(self.run_id, self.effects(), mails, kind)
        if self.rewind is None or not self.rewind.rewound:
            self.rewind = found

    def append(
        self,
        type: str,
        expected_version: int | None = None,
        *,
        why: str = "",
        **data: Any,
    ) -> Snapshot:
        """Record that something happened.

        A further mailbox may be leased once a lease is over that was not used; that the lease
        expired is then recorded first.

        Args:
            type: One of the event types.
            expected_version: The version this is a consequence of; the current one if left out.
            why: What to say of it when asked later.
            **data: What the event says; each type has fields of its own.

        Raises:
            StaleVersion: If the run has gone on since; read the snapshot and decide anew.
            IllegalTransition: If that cannot happen now.
            LifeSuperseded: If another life took over.
            SettingsError: If the type or a field is not allowed.
        """
        with self._writing:
            row = self._row()
            current = self._written(row)
            standing, now = self._standing(current), self._clock.now()
            if expected_version is not None and expected_version != current.version:
                # The store refuses it as well, and counts that it did.
                self.store.commit(self.run_id, Write(self.life, now.isoformat(), expected_version))
                raise StaleVersion(expected_version, current.version)
            self._compact(row)
            events: list[Event] = []
            for next_type, next_why, next_data in _with_expiry(current, type, why, data, now):
                event = new_event(
                    next_type,
                    next_data,
                    run_id=self.run_id,
                    version=current.version + 1,
                    at=now,
                    life=self.life,
                    why=next_why,
                    standing=standing,
                )
                current = fold(current, event)
                events.append(event)
            self._commit(now, events, current)
            return current

    def confirm(self, message_id: str, expected_version: int | None = None) -> Snapshot:
        """Accept a message as the step's evidence. Again with the same one changes nothing.

        Raises:
            EvidenceConflict: If another message was accepted, or this one's code was refused.
            StaleVersion: If the run has gone on since.
            IllegalTransition: If no message is expected now.
        """
        return self._accept(expected_version, {"message_id": message_id})

    def record(self, result: CheckOutcome) -> Snapshot:
        """Append what the answer to a check stands for. Again with the same one changes nothing.

        | answer | event |
        |---|---|
        | waiting, or provider_error that is not final | `wait_started`, if the wait had not |
        | found | `message_received` |
        | expired, or provider_error that is final | `lease_expired`, with the cause |

        Raises:
            EvidenceConflict: If another message was accepted.
            IllegalTransition: If that cannot have happened now.
        """
        snapshot = self.snapshot
        stated = stands_for(snapshot, result)
        if stated is None:
            return snapshot
        if stated.type is EventType.MESSAGE_RECEIVED:
            return self._accept(snapshot.version, stated.data)
        return self.append(stated.type, snapshot.version, **stated.data)

    def effect(
        self,
        name: str,
        step: int | str | None = None,
        args: Any = None,
        *,
        sends_mail: str | None = None,
    ) -> Effect:
        """One effect of the run.

        Args:
            name: What it is called.
            step: Which one of that name; by default one, and one more for each code that was
                refused and each further mailbox.
            args: What it is called with (JSON); only its fingerprint is kept.
            sends_mail: What the mail it sends looks like, in words; `None` if it sends none.

        Raises:
            EffectConflict: If the effect is known with other arguments.
        """
        which = self.snapshot.step if step is None else step
        key = EffectKey(self.run_id, checked_name(name), str(which))
        return Effect(_Effects(self), key, args, sends_mail=sends_mail)

    def once(  # noqa: PLR0913 - a durable function is told all of this in one place
        self,
        function: F,
        *,
        name: str | None = None,
        step: int | str | None = None,
        sends_mail: Mapping[str, Any] | None = None,
        reconcile: Callable[[EffectKey], Any] | None = None,
        absent_means_no: bool = False,
        not_done: tuple[type[Exception], ...] = (),
        arguments: Callable[..., Any] | None = None,
        encode: Callable[[Any], Any] = as_it_is,
        decode: Callable[[Any], Any] = as_it_is,
    ) -> F:
        """`function`, performed once over all lives of the run.

        After it succeeded it is never called again, and what it returned is handed back. If a
        life died while it ran, or it raised, a probe is asked whether it happened. If nobody
        can tell, it is not called again.

        Args:
            function: A plain or an async function; its name, docstring and signature are kept.
            name: What the effect is called; the function's name if left out.
            step: Which effect of that name; by default one, and one more for each code that was
                refused and each further mailbox.
            sends_mail: Criteria of the mail it sends. The mail server's log is then the probe.
            reconcile: A probe to ask instead: called with the effect's key, it answers
                `Happened.yes(result)`, `Happened.no` or `Happened.unknown`.
            absent_means_no: A mail that the log does not show was not sent.
            not_done: Exceptions of `function` that prove it changed nothing.
            arguments: Turns a call's arguments into JSON they are told apart by; needed if they
                are not JSON themselves.
            encode: Turns the result into JSON; needed if it is not JSON itself.
            decode: Turns that JSON back.

        Raises:
            SettingsError: If the name is not allowed, or the probe is async and `function` not.

        The durable function raises `EffectUnknown` if nobody can tell whether it happened, and
        `EffectConflict` if it is called with other arguments than before.
        """
        if sends_mail is not None:
            self.compare(sends_mail)
        durable = Durable(
            self,
            name=checked_name(name or str(getattr(function, "__name__", ""))),
            step=step,
            sends_mail=sends_mail,
            reconcile=reconcile,
            absent_means_no=absent_means_no,
            not_done=not_done,
            arguments=arguments,
            encode=encode,
            decode=decode,
        )
        return cast("F", durable.wrap(function))

    def expire_unknown(self) -> str:
        """End the run if its lease is over while an effect is unknown; say how long to wait."""
        snapshot, now = self.snapshot, self._clock.now()
        horizon = snapshot.lease_expires_at
        if horizon is None:
            return "wait for what it would have caused"
        if now <= horizon:
            return f"wait for what it would have caused until {horizon:%Y-%m-%d %H:%M:%SZ}"
        if EventType.LEASE_EXPIRED in allowed_events(snapshot.verification, pending=True):
            self.append("lease_expired", cause="unknown_effect")
        return f"the lease ended at {horizon:%Y-%m-%d %H:%M:%SZ}, and the run with it"

    def reached(self, phase: Phase, key: EffectKey) -> None:
        """Tell `on_phase`."""
        self.on_phase(phase, key)

    def _accept(self, expected_version: int | None, data: dict[str, Any]) -> Snapshot:
        snapshot = self.snapshot
        if is_accepted(snapshot, data["message_id"]):
            return snapshot
        try:
            return self.append("message_received", expected_version, **data)
        except StaleVersion:
            # Another worker may have recorded the very same thing.
            snapshot = self.snapshot
            if not is_accepted(snapshot, data["message_id"]):
                raise
            return snapshot

    def _commit(self, now: datetime, events: Sequence[Event], current: Snapshot) -> None:
        rows = tuple(EventRow(event.version, event.model_dump_json()) for event in events)
        text = current.model_dump_json()
        write = Write(
            life=self.life,
            at=now.isoformat(),
            expected_version=events[0].version - 1,
            events=rows,
            snapshot=text,
        )
        self.store.commit(self.run_id, write)
        self._last_read = (text, current)

    def _compact(self, row: RunRow | None) -> None:
        """Before an append, so that what fails here has not been written."""
        if row is None or row.snapshot is None:
            return
        if row.version - row.summary_version >= self._compact_after:
            with suppress(StaleVersion):  # another writer did it
                self.store.compact(self.run_id, self.life, row.version, row.snapshot)


class _Effects:
    """The records of a ledger's effects, in its store."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, key: EffectKey) -> EffectRecord | None:
        row = self._ledger.store.effect(*key)
        if row is None:
            return None
        with fail_closed(key.run_id):
            return EffectRecord.of(row)

    def write(self, record: EffectRecord) -> None:
        _, now = self.stamp()
        write = Write(life=self._ledger.life, at=now.isoformat(), effect=record.row())
        self._ledger.store.commit(self._ledger.run_id, write)

    def stamp(self) -> tuple[int, datetime]:
        return self._ledger.life, self._ledger.now()


def _with_expiry(
    current: Snapshot, type: str, why: str, data: dict[str, Any], now: datetime
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """`type`, after the expiry it takes for granted: of a lease that is over, and was not used."""
    over = current.lease_expires_at is not None and now > current.lease_expires_at
    if type == EventType.MAILBOX_LEASED and current.verification is Verification.LEASED and over:
        yield EventType.LEASE_EXPIRED, "the lease was over before it was used", {}
    yield type, why, data
