"""The world runs live in: the sink, the post office, the clock."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_agentmail.agents.run import AgentRun
from pytest_agentmail.clock.real import RealClock
from pytest_agentmail.mail.address import random_letters
from pytest_agentmail.mail.mailbox import Surroundings
from pytest_agentmail.mail.post_office import RUN_PREFIX, PostOffice
from pytest_agentmail.mail.sink import Sink
from pytest_agentmail.settings import Settings, run_settings
from pytest_agentmail.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from pytest_agentmail.mail.post_office import Late

__all__ = ["MailWorld"]


class MailWorld:
    """One SMTP sink, and any number of runs that get their mail from it; start it with `with`.

    Args:
        settings: What holds for runs that do not say otherwise.
        hints: Each tells, when a wait failed, what may keep mail away, or None.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        hints: Sequence[Callable[[], str | None]] = (),
    ) -> None:
        self.settings = settings or Settings()
        """What holds for runs that do not say otherwise."""
        self.clock = RealClock()
        """The time of the world."""
        self._hints = hints
        self._store = MemoryStore()
        self._post_office = PostOffice(self.clock, self.settings.domain)
        self.sink = Sink(self._post_office.accept, host=self.settings.host, port=self.settings.port)
        """The SMTP server that takes all mail."""

    def __enter__(self) -> Self:
        self.sink.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.sink.stop()

    def __repr__(self) -> str:
        return f"<MailWorld with {self.sink!r}>"

    @contextmanager
    def open_run(self, *, test: str = "", **settings: Any) -> Iterator[AgentRun]:
        """A fresh run, with a mailbox of its own until the block ends.

        Args:
            test: The name under which mail that comes too late is reported.
            **settings: As the `agentmail` marker's.

        Raises:
            SettingsError: A setting is unknown or not allowed.
        """
        run_id = RUN_PREFIX + random_letters()
        run = AgentRun(
            run_id,
            settings=self.settings.with_(run_settings(settings, place="open_run")),
            post_office=self._post_office,
            store=self._store,
            clock=self.clock,
            test=test or run_id,
            look_around=self._look_around,
        )
        try:
            yield run
        finally:
            run.close()

    def take_late(self) -> list[Late]:
        """Mail that came after its test ended, each once."""
        return self._post_office.take_late()

    def _look_around(self) -> Surroundings:
        hints = (hint() for hint in self._hints)
        return Surroundings(self._post_office.strays, tuple(hint for hint in hints if hint))
