"""The fixtures; the public ones depend on none but the `_agentmail_*` ones."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import pytest

from pytest_agentmail.plugin.late import LATE_MAIL
from pytest_agentmail.plugin.markers import faults_of, settings_of, without_run
from pytest_agentmail.plugin.options import SESSION_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_agentmail.agents.mail_world import MailWorld
    from pytest_agentmail.agents.run import AgentRun
    from pytest_agentmail.mail.mailbox import Mailbox
    from pytest_agentmail.mail.smtp.sink import Sink
    from pytest_agentmail.runs.ledger import Ledger
    from pytest_agentmail.signals.queue import SignalQueue

__all__ = [
    "_agentmail_run",
    "_agentmail_world",
    "agent_run",
    "agentmail_django",
    "ledger",
    "mail_world",
    "mailbox",
    "run_id",
    "signals",
    "smtp_sink",
]


RUN = pytest.StashKey["AgentRun"]()
"""Where a test's run is kept on its item while it is open."""

CURRENT_TEST = pytest.StashKey[str]()
"""Where the id of the test that runs is kept on the config."""


def conclude(item: pytest.Item) -> None:
    """Fail a test whose faults did not strike, or had no run to strike in."""
    text = _not_concluded(item.stash[RUN]) if RUN in item.stash else without_run(item)
    if text:
        pytest.fail(text, pytrace=False)


def _not_concluded(run: AgentRun) -> str | None:
    from pytest_agentmail.errors import AgentMailError

    try:
        run.conclude()
    except AgentMailError as error:
        return str(error)
    return None


@pytest.fixture(scope="session")
def _agentmail_world(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MailWorld]:
    from pytest_agentmail.agents.mail_world import MailWorld
    from pytest_agentmail.plugin.django import locmem_hint
    from pytest_agentmail.plugin.figures import figures_of

    stash, figures = pytestconfig.stash, figures_of(pytestconfig)
    world = MailWorld(
        stash[SESSION_SETTINGS],
        hints=[locmem_hint],
        directory=cache(partial(tmp_path_factory.mktemp, "agentmail")),
        current_test=lambda: stash.get(CURRENT_TEST, ""),
    )
    try:
        with world:
            yield world
    finally:
        stash.setdefault(LATE_MAIL, []).extend(world.take_late())
        figures.add(world.take_figures())


@pytest.fixture
def _agentmail_run(
    request: pytest.FixtureRequest, _agentmail_world: MailWorld
) -> Iterator[AgentRun]:
    item = request.node
    with _agentmail_world.new_run(test=item.nodeid, **settings_of(item)) as run:
        run.mail_fault(*faults_of(item, "mail_fault"))
        run.provider_fault(*faults_of(item, "provider_fault"))
        item.stash[RUN] = run
        yield run
        del item.stash[RUN]


@pytest.fixture(scope="session")
def mail_world(_agentmail_world: MailWorld) -> MailWorld:
    """The world of all runs: the SMTP sink, and `open_run()` for a fresh run at any time."""
    return _agentmail_world


@pytest.fixture(scope="session")
def smtp_sink(_agentmail_world: MailWorld) -> Sink:
    """The SMTP server that takes all mail: `host`, `port`, `url`, and `env()` for apps."""
    return _agentmail_world.sink


@pytest.fixture
def agent_run(_agentmail_run: AgentRun) -> AgentRun:
    """A run of its own for this test: a mailbox, signals, and `drive()` for the agent."""
    return _agentmail_run


@pytest.fixture
def mailbox(_agentmail_run: AgentRun) -> Mailbox:
    """A disposable mailbox leased to this test: `address`, `wait()`, `search()`, `messages`."""
    return _agentmail_run.mailbox


@pytest.fixture
def signals(_agentmail_run: AgentRun) -> SignalQueue:
    """The mails this test's run expects: `expect()`, `check()`, `wait()`."""
    return _agentmail_run.signals


@pytest.fixture
def ledger(_agentmail_run: AgentRun) -> Ledger:
    """What this test's run has done, as versioned events: `snapshot`, `append()`, `once()`."""
    return _agentmail_run.ledger


@pytest.fixture
def run_id(_agentmail_run: AgentRun) -> str:
    """The id of this test's run; no other run has it."""
    return _agentmail_run.run_id


@pytest.fixture
def agentmail_django(_agentmail_run: AgentRun) -> Iterator[None]:
    """Django's mail goes to the sink for this test.

    With the setting `own_sink` it is the run's own.
    """
    from pytest_agentmail.plugin.django import mail_to

    with mail_to(_agentmail_run.sink):
        yield
