"""Reading a run: its snapshot, its events, and why it stands where it stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self

from pytest_agentmail.errors import SettingsError, StoreCorrupt
from pytest_agentmail.runs import planner
from pytest_agentmail.runs.effects import EffectRecord, EffectState
from pytest_agentmail.runs.events import Event, Standing
from pytest_agentmail.runs.explaining import Explanation, explain
from pytest_agentmail.runs.failing import fail_closed
from pytest_agentmail.runs.metrics import Metrics, measure
from pytest_agentmail.runs.recovery import RecoveryReport, check_recovery, differences
from pytest_agentmail.runs.replay import replay, seen
from pytest_agentmail.runs.snapshot import Snapshot
from pytest_agentmail.runs.spending import spending_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.runs.events import Spending
    from pytest_agentmail.runs.metrics import CheckMade
    from pytest_agentmail.runs.snapshot import Action
    from pytest_agentmail.stores.protocol import EventRow, RunRow, Store

    SpendingOf = Callable[[Snapshot], Spending]

__all__ = ["RunReader"]


class RunReader:
    """What can be known of a run without being one of its lives.

    Args:
        store: Where the run is kept.
        run_id: The run.
        clock: Tells the time that `next_action` depends on.
        spending: Gives what the checks of a run have come to, over all its lives; if left out,
            those of its signals in the same store.
    """

    def __init__(
        self, store: Store, run_id: str, clock: Clock, spending: SpendingOf | None = None
    ) -> None:
        self.run_id = run_id
        self.store = store
        self._clock = clock
        self._spending = spending or spending_in(store)
        self._last_read: tuple[str, Snapshot] | None = None

    @classmethod
    def open(
        cls,
        url: str | Store,
        *,
        run_id: str,
        clock: Clock | None = None,
        spending: SpendingOf | None = None,
    ) -> Self:
        """Look at a run from outside; its lives are not disturbed."""
        return cls(opened(url), checked_run_id(run_id), clock or real_clock(), spending)

    @property
    def snapshot(self) -> Snapshot:
        """Where the run stands now."""
        written = self._written(self._row())
        return seen(written, self._standing(written), self._clock.now())

    @property
    def version(self) -> int:
        """How many events there were."""
        row = self._row()
        return 0 if row is None else row.version

    def events(self, after: int = 0) -> tuple[Event, ...]:
        """The events past version `after`; compacted ones are in `archived_events`."""
        log = self.store.log(self.run_id, after)
        return () if log is None else self._parsed(log.events)

    def archived_events(self) -> tuple[Event, ...]:
        """The events that were compacted."""
        return self._parsed(self.store.archived(self.run_id))

    def effects(self) -> tuple[EffectRecord, ...]:
        """All effects of the run, oldest first."""
        with fail_closed(self.run_id):
            return tuple(EffectRecord.of(row) for row in self.store.effects(self.run_id))

    def allowed_actions(self) -> tuple[Action, ...]:
        """What may be done now; the first is the snapshot's `next_action`."""
        return planner.allowed_actions(self.snapshot, self._clock.now())

    def now(self) -> datetime:
        """The time, by the run's clock."""
        return self._clock.now()

    def replay(self, upto: int | None = None) -> Snapshot:
        """The snapshot rebuilt from the events.

        Args:
            upto: A version; then the snapshot as it was when that version was written. Without
                it, the run as it stands now.

        Raises:
            SettingsError: If there is no version `upto`.
            StoreCorrupt: If events are missing.
        """
        log = self.store.log(self.run_id)
        current = 0 if log is None else log.run.version
        if upto is not None and not 0 <= upto <= current:
            raise SettingsError(
                f"run {self.run_id!r} has no version {upto}; allowed: 0 to {current}"
            )
        if log is None:
            return self._rebuilt(None, (), None)
        if upto is None or upto >= log.run.summary_version:
            return self._rebuilt(log.run.summary, self._parsed(log.events), upto)
        return self._rebuilt(None, self.archived_events(), upto)

    def explain(self) -> Explanation:
        """Every transition: what, when, by which life, why; `print` shows it."""
        return explain(self.run_id, self._all_events())

    def metrics(self, checks: Iterable[CheckMade] = (), *, discarded: int = 0) -> Metrics:
        """The figures of row A11 for this run; `print` shows them with row A12's reading.

        Args:
            checks: The questions put to the inbox (`signal.history`).
            discarded: How many messages were left out as another run's.
        """
        log = self.store.log(self.run_id)
        return measure(
            self._all_events(),
            checks,
            lives=0 if log is None else log.run.life,
            stale_refusals=0 if log is None else log.run.refused,
            discarded=discarded,
        )

    def check_recovery(self) -> RecoveryReport:
        """The checks of row C12: whether what is stored is fit to go on from.

        Raises:
            StoreCorrupt: If the snapshot does not follow from the events.
        """
        row = self._row()
        written = self._written(row)
        rebuilt = self.replay(upto=written.version)
        if rebuilt != written:
            raise StoreCorrupt(
                f"the snapshot of run {self.run_id!r} at version {written.version} does not "
                f"follow from its events: {differences(written, rebuilt)}"
            )
        standing = self._standing(written)
        return check_recovery(written, self.events(), standing, self._clock.now())

    def _all_events(self) -> tuple[Event, ...]:
        live = self.events()
        first = live[0].version if live else None
        older = (e for e in self.archived_events() if first is None or e.version < first)
        return (*older, *live)

    def _rebuilt(self, summary: str | None, events: Iterable[Event], upto: int | None) -> Snapshot:
        with fail_closed(self.run_id):
            start = self._parsed_snapshot(summary)
            wanted = [event for event in events if upto is None or event.version <= upto]
            rebuilt = replay(start, wanted)
        if upto is not None:
            return rebuilt
        return seen(rebuilt, self._standing(rebuilt), self._clock.now())

    def _row(self) -> RunRow | None:
        row = self.store.load(self.run_id)
        if row is not None and row.retired is not None:
            raise SettingsError(f"run {self.run_id!r} was retired to {row.retired}")
        return row

    def _written(self, row: RunRow | None) -> Snapshot:
        """The snapshot as it was written last; parsed once, as it never changes."""
        text = None if row is None else row.snapshot
        if text is None:
            return Snapshot(run_id=self.run_id)
        if self._last_read is None or self._last_read[0] != text:
            with fail_closed(self.run_id):
                self._last_read = (text, self._parsed_snapshot(text))
        return self._last_read[1]

    def _parsed_snapshot(self, text: str | None) -> Snapshot:
        if text is None:
            return Snapshot(run_id=self.run_id)
        return Snapshot.model_validate_json(text)

    def _parsed(self, rows: Iterable[EventRow]) -> tuple[Event, ...]:
        with fail_closed(self.run_id):
            return tuple(Event.model_validate_json(row.body) for row in rows)

    def _standing(self, written: Snapshot) -> Standing:
        rows = self.store.effects(self.run_id, EffectState.PENDING)
        with fail_closed(self.run_id):
            pending = tuple(EffectRecord.of(row).pending for row in rows)
        return Standing(spending=self._spending(written), pending=pending)


def checked_run_id(run_id: str) -> str:
    """`run_id`, if it can be one."""
    if not 1 <= len(run_id) <= 300 or not run_id.isprintable():  # noqa: PLR2004 - as Identifier
        raise SettingsError(
            f"{run_id!r} cannot be a run_id; allowed: 1 to 300 printable characters"
        )
    return run_id


def checked_name(name: str) -> str:
    """`name`, if an effect can be called so."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name):
        raise SettingsError(
            f"{name!r} cannot name an effect; give `name=` 1 to 64 of A-Z a-z 0-9 _ . -"
        )
    return name


def opened(url: str | Store) -> Store:
    """The store at `url`; a store is taken as it is."""
    from pytest_agentmail.stores.opening import open_store

    return open_store(url) if isinstance(url, str) else url


def real_clock() -> Clock:
    """The clock on the wall."""
    from pytest_agentmail.clock.real import RealClock

    return RealClock()
