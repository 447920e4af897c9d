"""Faults of the SMTP dialogue, per run, over real sockets."""

from __future__ import annotations

import smtplib

import pytest

from pytest_agentmail import world
from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.errors import AgentMailError, NoMatchingMail, SettingsError


@pytest.fixture(scope="module")
def mail_world():
    with MailWorld() as mail_world:
        yield mail_world


@pytest.fixture
def run(mail_world):
    with mail_world.new_run() as run:
        yield run


def send(sink, *to):
    with smtplib.SMTP(sink.host, sink.port) as client:
        client.sendmail(
            "shop@app.example", to, b"From: shop@app.example\r\nSubject: Confirm\r\n\r\n483920\r\n"
        )


def send_until_accepted(sink, to, tries=5):
    """As a queueing sender does: a 4xx or a lost connection is tried again, a 5xx is not."""
    for number in range(1, tries + 1):
        try:
            send(sink, to)
        except smtplib.SMTPRecipientsRefused as refusal:
            code = next(iter(refusal.recipients.values()))[0]
            if code >= 500:
                return -number
        except (smtplib.SMTPResponseException, smtplib.SMTPServerDisconnected):
            pass
        else:
            return number
    return -tries


def test_hb_45_greylisting_is_over_after_so_many_tries(run):
    """HB-45."""
    run.mail_fault(world.smtp_refuses(451, times=2))
    signal = run.signals.expect("verification", subject="Confirm")
    assert send_until_accepted(run.sink, run.mailbox.address) == 3
    assert run.signals.wait(signal).status == "found"
    assert run.mailbox.messages == run.sent
    run.conclude()


def test_hb_45_a_refusal_is_told_and_no_bare_timeout(run):
    """HB-45."""
    run.mail_fault(world.smtp_refuses(550, times=99))
    assert send_until_accepted(run.sink, run.mailbox.address) == -1
    with pytest.raises(NoMatchingMail) as caught:
        run.mailbox.wait(timeout=0)
    assert str(caught.value).splitlines()[2:] == [
        "arrived: nothing",
        "happened: the sink refused 1 mail: 550 5.1.1 No such mailbox here (at RCPT)",
        "next: see whether the app sends again after what happened, and wait long enough for it",
    ]
    result = run.signals.check(run.signals.expect("verification", checks=1))
    assert result.advice == (
        "Expired: the only check is used up. Something was done to this run's mail: the sink "
        "refused 1 mail: 550 5.1.1 No such mailbox here (at RCPT). See whether the app sends again "
        "after that, then request a new verification."
    )


@pytest.mark.parametrize(
    "fault",
    [
        world.smtp_refuses(452, at="DATA"),
        world.smtp_drops_connection(at="RCPT"),
        world.smtp_drops_connection(),
        world.smtp_slow(0.001),
    ],
    ids=repr,
)
def test_faults_strike_as_often_as_said(run, fault):
    run.mail_fault(fault)
    tries = 1 if isinstance(fault, world.SmtpSlow) else 2
    assert send_until_accepted(run.sink, run.mailbox.address) == tries
    assert len(run.sent) == 1
    run.conclude()


def test_a_connection_lost_before_the_reply_leaves_two_deliveries_and_one_evidence(run):
    """B9: the sender could not know, and sent again."""
    run.mail_fault(world.smtp_drops_connection(at="before_reply"))
    signal = run.signals.expect("verification")
    assert send_until_accepted(run.sink, run.mailbox.address) == 2
    assert len(run.sent) == len(run.mailbox.messages) == 2
    result = run.signals.wait(signal)
    assert (result.status, len(result.also_matched)) == ("found", 1)
    assert len(run.report.evidence) == 1


def test_faults_belong_to_one_run(mail_world, run):
    run.mail_fault(world.smtp_refuses(550, times=99))
    with mail_world.open_run() as other:
        send(mail_world.sink, run.mailbox.address, other.mailbox.address)
        assert len(other.mailbox.messages) == 1
    assert run.mailbox.messages == []


def test_before_rcpt_a_sink_of_ones_own_is_needed(mail_world, run):
    with pytest.raises(SettingsError) as caught:
        run.mail_fault(world.smtp_refuses(421, at="MAIL"))
    assert str(caught.value) == (
        "world.smtp_refuses(421, at='MAIL') strikes before it is known whom the mail is for: "
        "it needs agentmail(own_sink=True), and an app that sends to run.sink"
    )


@pytest.mark.parametrize(
    "fault",
    [
        world.smtp_refuses(421, at="MAIL"),
        world.smtp_refuses(451, at="EHLO"),
        world.smtp_drops_connection(at="CONNECT"),
        world.smtp_drops_connection(at="EHLO"),
    ],
    ids=repr,
)
def test_in_a_sink_of_ones_own_everything_can_go_wrong(mail_world, fault):
    with mail_world.open_run(own_sink=True) as run:
        run.mail_fault(fault)
        assert run.sink is not mail_world.sink
        assert send_until_accepted(run.sink, run.mailbox.address) in {1, 2}
        assert len(run.sent) == 1


def test_what_never_struck_is_an_error_on_leaving(mail_world):
    with (
        pytest.raises(AgentMailError, match=r"never struck: world.smtp_slow\(2\)"),
        mail_world.open_run() as run,
    ):
        run.mail_fault(world.smtp_slow(2))


@pytest.mark.parametrize(
    ("fault", "note"),
    [
        (
            world.smtp_refuses(499, at="RCPT", times=2),
            "the sink refused 2 mails: 499 4.0.0 Try again later (at RCPT)",
        ),
        (world.smtp_slow(0.001), "the sink took 0.001 s to answer 1 mail (at DATA)"),
        (world.smtp_drops_connection(), "the sink dropped the connection of 1 mail (at DATA)"),
    ],
)
def test_what_struck_is_told(mail_world, run, fault, note):
    run.mail_fault(fault)
    send_until_accepted(run.sink, run.mailbox.address)
    with pytest.raises(
        NoMatchingMail, match=f"happened: {note}".replace("(", r"\(").replace(")", r"\)")
    ):
        run.mailbox.wait(subject="nothing like it", timeout=0)
