"""The fixtures; the public ones depend on none but the `_agentmail_*` ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_agentmail.plugin.late import LATE_MAIL
from pytest_agentmail.plugin.markers import faults_of, settings_of
from pytest_agentmail.plugin.options import SESSION_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_agentmail.agents.mail_world import MailWorld
    from pytest_agentmail.agents.run import AgentRun
    from pytest_agentmail.mail.mailbox import Mailbox
    from pytest_agentmail.mail.smtp.sink import Sink
    from pytest_agentmail.signals.queue import SignalQueue

__all__ = [
    "RUN",
    "_agentmail_run",
    "_agentmail_world",
    "agent_run",
    "agentmail_django",
    "mail_world",
    "mailbox",
    "run_id",
    "signals",
    "smtp_sink",
]


RUN = pytest.StashKey["AgentRun"]()
"""Where a test's run is kept on its item while it is open."""


@pytest.fixture(scope="session")
def _agentmail_world(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MailWorld]:
    from pytest_agentmail.agents.mail_world import MailWorld
    from pytest_agentmail.plugin.django import locmem_hint

    late = pytestconfig.stash.setdefault(LATE_MAIL, [])
    settings = pytestconfig.stash[SESSION_SETTINGS]
    directory = None if settings.tls == "off" else tmp_path_factory.mktemp("agentmail")
    with MailWorld(settings, hints=[locmem_hint], directory=directory) as world:
        yield world
    late += world.take_late()


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
def run_id(_agentmail_run: AgentRun) -> str:
    """The id of this test's run; no other run has it."""
    return _agentmail_run.run_id


@pytest.fixture
def agentmail_django(_agentmail_world: MailWorld) -> Iterator[None]:
    """Django's mail goes to the sink for this test."""
    from pytest_agentmail.plugin.django import mail_to

    with mail_to(_agentmail_world.sink):
        yield
