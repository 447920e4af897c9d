"""The durable agent: in one life, in several, and killed for good with SIGKILL."""

import mailbox
import signal
import subprocess
import sys
from email.message import EmailMessage
from operator import attrgetter
from pathlib import Path

import httpx
import pytest

from pytest_agentmail.contracts import MailProviderContract
from pytest_agentmail.runs.reader import RunReader
from pytest_agentmail.runs.snapshot import Action
from pytest_agentmail.stores.opening import open_store

from .agent import work
from .executor import Executor
from .inbox import Inbox
from .planner import plan

EXAMPLES = Path(__file__).parents[1]


def agent(run, app_url, read_code=attrgetter("code")):
    with httpx.Client(base_url=app_url) as app:
        # The run tells its ledger of the mailboxes it leases, so there is no fact to write.
        lease = lambda: run.lease() and None  # noqa: E731
        return work(run.ledger, Executor(run.ledger, run.signals, app, lease, read_code))


# In this process, with the fixtures.


def test_in_one_life(agent_run, app_url):
    report = agent_run.drive(agent, app_url)

    assert report.snapshot.verification == "verified"
    assert len(report.sent) == len(report.evidence) == 1
    assert agent_run.checklist().passed


@pytest.mark.agentmail(store="sqlite")
def test_a_second_life_asks_for_nothing_again(agent_run, app_url):
    def stumbles(_):
        raise RuntimeError("the model is not there")

    with pytest.raises(RuntimeError, match="the model is not there"):
        agent_run.drive(agent, app_url, stumbles)
    report = agent_run.drive(agent, app_url)

    assert report.snapshot.verification == "verified"
    assert len(report.sent) == 1
    assert (report.metrics.resumes, report.metrics.resumes_succeeded) == (1, 1)
    answers = {item.key: item.answer for item in agent_run.checklist().items}
    assert answers["A16.5"] == answers["B18.6"] == "yes"


def test_a_refused_code_leads_to_one_more_mail(agent_run, app_url):
    misread = iter(["000000"])

    report = agent_run.drive(agent, app_url, lambda message: next(misread, message.code))

    assert report.snapshot.verification == "verified"
    assert len(report.sent) == 2
    assert not agent_run.checklist().those("no")


def test_it_gives_up_when_no_code_is_right(agent_run, app_url):
    report = agent_run.drive(agent, app_url, lambda _: "000000")

    assert report.snapshot.verification == "waiting"
    assert len(report.snapshot.spent) == len(report.sent) == 2


def test_a_model_cannot_choose_what_is_not_allowed(ledger):
    with pytest.raises(ValueError, match=r"'poll_inbox'.* only request_verification is allowed"):
        plan(ledger, lambda _: Action.POLL_INBOX)


# In a process of its own, which is killed.


@pytest.fixture
def script(tmp_path, far_app_url, mail_folder, request):
    """Start a life of the script; `killed_at` has it die there."""
    run_id = f"signup-{abs(hash(request.node.nodeid))}"
    store = f"sqlite:///{tmp_path}/runs.db"
    arguments = [run_id, store, far_app_url, str(mail_folder)]

    class Script:
        def start(self, killed_at=None):
            code = "import sys; from resuming import sign_up; sign_up.main(*sys.argv[1:])"
            if killed_at:
                code = DIES.format(phase=killed_at) + code
            return subprocess.Popen(
                [sys.executable, "-c", code, *arguments],
                cwd=EXAMPLES,
                stdout=subprocess.PIPE,
                text=True,
            )

        def run(self, killed_at=None):
            with self.start(killed_at) as process:
                return process.stdout.read().splitlines(), process.wait()

        def snapshot(self):
            opened = open_store(store)
            try:
                return RunReader.open(opened, run_id=run_id).snapshot
            finally:
                opened.close()

        def mails(self):
            recipient = self.snapshot().recipient
            return Inbox(mail_folder).search(recipient=recipient)

    return Script()


DIES = """
import os, signal
from pytest_agentmail import Ledger
def reached(self, phase, key):
    if (phase, key.name) == ("{phase}", "sign_up"):
        os.kill(os.getpid(), signal.SIGKILL)
Ledger.reached = reached
"""


def test_mail_that_comes_while_it_is_dead_is_found_by_the_next_life(script, outbox):
    """A14."""
    outbox.delete("/outbox").raise_for_status()
    with script.start() as first:
        said = [first.stdout.readline().strip() for _ in range(4)]
        first.send_signal(signal.SIGKILL)
    assert said == ["lease_new_mailbox", "request_verification", "start_waiting", "poll_inbox"]
    assert first.returncode == -signal.SIGKILL
    assert script.snapshot().next_action == "poll_inbox"
    outbox.put("/outbox").raise_for_status()

    said, status = script.run()

    assert (said[:3], status) == (["poll_inbox", "validate_evidence", "verified"], 0)
    assert len(script.mails()) == 1


@pytest.mark.parametrize("phase", ["before", "pending", "sent", "after"])
def test_killed_around_its_request_it_asks_once(script, phase):
    """I7."""
    _, status = script.run(killed_at=phase)
    assert status == -signal.SIGKILL

    said, status = script.run()

    assert status == 0
    assert "verified" in said
    assert ("reconcile" in said) == (phase in {"pending", "sent"})
    assert len(script.mails()) == 1


class TestInbox(MailProviderContract):
    @pytest.fixture
    def provider(self, tmp_path):
        self.root = tmp_path
        return Inbox(tmp_path)

    def deliver(self, recipient, subject, body):
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "shop@shop.example", recipient, subject
        mail.set_content(body)
        mailbox.Maildir(self.root / recipient).add(mail)

    def break_down(self):
        self.root.rename(self.root.with_suffix(".away"))
