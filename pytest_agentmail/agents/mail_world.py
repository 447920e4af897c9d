"""The world runs live in: the sink, the post office, the clock."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pytest_agentmail.agents.run import AgentRun
from pytest_agentmail.agents.stillness import Stillness
from pytest_agentmail.agents.timing import timing
from pytest_agentmail.clock.real import RealClock
from pytest_agentmail.errors import AgentMailError
from pytest_agentmail.mail.acceptance import AcceptanceLog, Underway
from pytest_agentmail.mail.address import random_letters
from pytest_agentmail.mail.post_office import RUN_PREFIX, PostOffice
from pytest_agentmail.mail.smtp.planned import FaultsByRecipient, FaultsOfOneRun
from pytest_agentmail.mail.smtp.sink import Sink
from pytest_agentmail.mail.smtp.traffic import Together
from pytest_agentmail.settings import Settings, run_settings
from pytest_agentmail.stores.opening import Stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Self

    from pytest_agentmail.clock.virtual import VirtualClock
    from pytest_agentmail.mail.post_office import Late
    from pytest_agentmail.mail.smtp.faults import Faults
    from pytest_agentmail.runs.metrics import Metrics
    from pytest_agentmail.scenarios.history import MailHistory

__all__ = ["MailWorld"]


class MailWorld:
    """One SMTP sink, and any number of runs that get their mail from it; start it with `with`.

    Args:
        settings: What holds for runs that do not say otherwise.
        hints: Each tells, when a wait failed, what may keep mail away, or None.
        directory: Gives the folder for what has to be a file (the sink's CA certificate, plain
            `sqlite`); a temporary one unless given.
        current_test: Tells which test runs; runs opened without a name are its.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        hints: Sequence[Callable[[], str | None]] = (),
        directory: Callable[[], Path] | None = None,
        current_test: Callable[[], str] = str,
    ) -> None:
        self.settings: Settings = settings or Settings()
        """What holds for runs that do not say otherwise."""
        self.clock: RealClock = RealClock()
        """The time of the world."""
        self._hints = hints
        self._current_test = current_test
        self._post_office = PostOffice(self.clock, self.settings.domain)
        self._directory = directory
        self._belongings = ExitStack()
        self._stores = Stores(self._file_of_runs)
        self._figures: list[Metrics] = []
        self._stillness = Stillness()
        self._under_way = Underway(self._post_office)
        self.sink: Sink = self._new_sink(
            self.settings.port, FaultsByRecipient(self._post_office), self._under_way
        )
        """The SMTP server that takes all mail, but for runs that have one of their own."""

    def __enter__(self) -> Self:
        self.sink.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._belongings, closing(self._stores):
            self.sink.stop()

    def __repr__(self) -> str:
        return f"<MailWorld with {self.sink!r}>"

    @contextmanager
    def open_run(
        self, history: MailHistory | None = None, *, test: str = "", **settings: Any
    ) -> Iterator[AgentRun]:
        """A fresh run, with a mailbox of its own until the block ends.

        Args:
            history: What the world does in it; played under the virtual clock.
            test: The name under which mail that comes too late is reported, and from which stable
                addresses come; the test that runs unless given.
            **settings: As the `agentmail` marker's.

        Raises:
            SettingsError: A setting is unknown or not allowed.
            AgentMailError: The world is not started. On leaving: a fault planned for the run never
                struck.
        """
        __tracebackhide__ = True
        if history is not None:
            settings.setdefault("clock", "virtual")
        with self.new_run(test=test, **settings) as run:
            if history is not None:
                run.play(history)
            yield run
            run.conclude()

    @contextmanager
    def new_run(self, *, test: str = "", **settings: Any) -> Iterator[AgentRun]:
        """As `open_run`, for those who call `conclude` by themselves."""
        if not self.sink.running:
            raise AgentMailError(
                "the world is not started, so no mail could come; "
                "open runs inside `with MailWorld() as world:`"
            )
        run_id = RUN_PREFIX + random_letters()
        all_settings = self.settings._replace(**run_settings(settings, place="open_run"))
        store = self._stores.at(all_settings.store)
        time = timing(all_settings, self.clock)
        own = Underway(self._post_office, run_id)
        with (
            self._sink_for(run_id, all_settings, own) as sink,
            self._kept_still(time.virtual),
            time.shared(),
        ):
            run = AgentRun(
                run_id,
                settings=all_settings,
                sink=sink,
                post_office=self._post_office,
                store=store,
                mail_log=AcceptanceLog(self._post_office, self._under_way, own),
                timing=time,
                test=test or self._current_test() or run_id,
                hints=[*self._hints, *time.hints],
            )
            try:
                yield run
            finally:
                run.close()
                self._figures += filter(None, [run.figures])

    def take_late(self) -> list[Late]:
        """Mail that came after its test ended, each once."""
        return self._post_office.take_late()

    def take_figures(self) -> list[Metrics]:
        """The figures of runs that kept a ledger and have ended, each once."""
        taken, self._figures = self._figures, []
        return taken

    @contextmanager
    def _kept_still(self, clock: VirtualClock | None) -> Iterator[None]:
        """Have `clock` stand still while mail is sent to a sink."""
        if clock is None:
            yield
            return
        self._stillness.add(clock)
        try:
            yield
        finally:
            self._stillness.discard(clock)

    def _sink_for(
        self, run_id: str, settings: Settings, own: Underway
    ) -> AbstractContextManager[Sink]:
        """The sink of a run: its own where it wants one, else that of the world."""
        if not settings.own_sink:
            return nullcontext(self.sink)
        faults = FaultsOfOneRun(self._post_office.open(run_id).smtp_faults)
        return self._new_sink(0, faults, own)

    def _new_sink(self, port: int, faults: Faults, under_way: Underway) -> Sink:
        return Sink(
            self._post_office.accept,
            host=self.settings.host,
            port=port,
            size_limit=self.settings.size_limit,
            tls=self.settings.tls,
            auth=self.settings.auth,
            directory=self._directory() if self._directory and self.settings.tls != "off" else None,
            faults=faults,
            traffic=Together(self._stillness, under_way),
        )

    def _file_of_runs(self) -> Path:
        """The file that plain `sqlite` stands for."""
        if self._directory is not None:
            return self._directory() / "runs.sqlite"
        return (
            Path(self._belongings.enter_context(TemporaryDirectory(prefix="agentmail-")))
            / "runs.sqlite"
        )
