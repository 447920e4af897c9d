"""The checklists of a good and of a bad run, word for word (A16, B18)."""

from __future__ import annotations

import re
import smtplib

import pytest

from pytest_agentmail import world
from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.settings import Settings


@pytest.fixture(scope="module")
def mail_world():
    with MailWorld(Settings(clock="virtual")) as world:
        yield world


def send(run, to=None, code="483920"):
    with smtplib.SMTP(run.sink.host, run.sink.port) as client:
        text = (
            f"From: shop@app.example\r\nTo: {to or run.mailbox.address}\r\n"
            f"Subject: Confirm your account\r\n\r\nYour code is {code}, welcome aboard.\r\n"
        )
        client.sendmail("shop@app.example", [run.mailbox.address], text)


def told(run):
    text = str(run.checklist()).replace(run.run_id, "run-1")
    return re.sub(r"sig-\w+", "sig-a", text)


def test_a_good_run(mail_world):
    with mail_world.open_run() as run:
        run.mail_fault(world.mail_delayed(30), world.mail_duplicated(2, apart=0))
        run.provider_fault(world.provider_fails("503", times=1))

        def first(run):
            signal = run.signals.expect("verification_email", subject="Confirm")
            ask = run.ledger.once(lambda: send(run), name="ask", sends_mail={"subject": "Confirm"})
            ask()
            run.ledger.append("verification_requested")
            run.ledger.append("wait_started", signal_id=signal.signal_id)
            run.signals.check(signal)

        def second(run):
            signal = run.signals.expect("verification_email", subject="Confirm")
            run.ledger.record(run.signals.wait(signal))
            run.ledger.append("code_verified")

        run.drive(first)
        run.drive(second)

        assert run.checklist().passed
        assert told(run) == (
            "checklist of run-1: 13 yes, 0 no, 0 not shown\n"
            "yes        A16.1  the run has an id, and a lease that ends: "
            "the lease of run-1 ends at 2030-01-01 01:00:00Z\n"
            "yes        A16.2  the snapshot names one next action: at version 5 it is finish\n"
            "yes        A16.3  transitions are versioned and idempotent: versions 1 to 5 without a "
            "gap, and replaying them gives the snapshot; 0 stale writes refused\n"
            "yes        A16.4  whose mail it is was looked at before it was accepted: m2, and "
            "nothing else, came to this run and was accepted\n"
            "yes        A16.5  after a restart it goes on without asking again: 1 resume: 1 request "
            "recorded and 1 mail sent, where 1 were due (1 mailbox, 0 refused codes)\n"
            "yes        A16.6  nothing of a mail's content is kept: no code, link or line of "
            "2 mails is in events, snapshot and signals\n"
            "yes        B18.1  each signal has an id, a run, an expiry and a condition: "
            "verification_email is sig-a, until 00:02:00Z\n"
            "yes        B18.2  queries are idempotent, and filtered by run: 3 queries, none after "
            "its answer, no mail for two signals; 0 messages of other runs left out\n"
            "yes        B18.3  waiting, provider_error and expired are told apart: "
            "verification_email is found\n"
            "yes        B18.4  time and calls have a budget: "
            "verification_email used 3 of 10 checks within 120 s\n"
            "yes        B18.5  what is logged is the least evidence: "
            "no code, link or line of 2 mails is in signals\n"
            "yes        B18.6  a restart goes on with the same signal: 1 resume, and no signal "
            "beside the first for any kind of mail but one for each refused code\n"
            "yes        B18.7  late mail, doubled mail and a failing provider are met: "
            "this run met late mail, doubled mail, a provider that fails"
        )


def test_a_bad_run(mail_world):
    """It takes any mail, confirms what is another run's, keeps the code, and asks again."""
    with mail_world.open_run() as other, mail_world.open_run() as run:

        def first(run):
            run.signals.check(run.signals.expect("verification_email"))
            send(run)
            send(run, to=other.mailbox.address, code="111111")
            run.ledger.append("verification_requested")
            run.ledger.append("wait_started", signal_id="sig-a")

        def second(run):
            answer = run.signals.wait(run.signals.expect("verification_email"))
            again = run.signals.expect("verification_email", newer_than=answer.evidence)
            send(run, code="555555")
            run.ledger.append("resend_requested")
            run.ledger.append("wait_started", signal_id=again.signal_id)
            foreign = next(m for m in run.mailbox.messages if "111111" in m.text)
            run.ledger.confirm(foreign.id)
            run.ledger.append("decision_confirmed", decisions={"code": foreign.code})

        run.drive(first)
        run.drive(second)

        assert not run.checklist().passed
        other_address = other.mailbox.address
        assert told(run).replace(other_address, "user@example") == (
            "checklist of run-1: 7 yes, 5 no, 1 not shown\n"
            "yes        A16.1  the run has an id, and a lease that ends: "
            "the lease of run-1 ends at 2030-01-01 01:00:00Z\n"
            "yes        A16.2  the snapshot names one next action: "
            "at version 7 it is validate_evidence\n"
            "yes        A16.3  transitions are versioned and idempotent: versions 1 to 7 without a "
            "gap, and replaying them gives the snapshot; 0 stale writes refused\n"
            "no         A16.4  whose mail it is was looked at before it was accepted: message m2: "
            "it is addressed to user@example, which is leased to another run\n"
            "no         A16.5  after a restart it goes on without asking again: 1 resume: "
            "2 requests recorded and 1 mail sent, where 1 were due (1 mailbox, 0 refused codes)\n"
            "no         A16.6  nothing of a mail's content is kept: event 7 holds a code of m2; "
            "the snapshot holds a code of m2\n"
            "no         B18.1  each signal has an id, a run, an expiry and a condition: "
            "verification_email takes any mail; expect a subject\n"
            "yes        B18.2  queries are idempotent, and filtered by run: 2 queries, none after "
            "its answer, no mail for two signals; 1 message of other runs left out\n"
            "yes        B18.3  waiting, provider_error and expired are told apart: "
            "verification_email is found; verification_email is waiting\n"
            "yes        B18.4  time and calls have a budget: verification_email used 2 of "
            "10 checks within 120 s; verification_email used 0 of 10 checks within 120 s\n"
            "yes        B18.5  what is logged is the least evidence: "
            "no code, link or line of 3 mails is in signals\n"
            "no         B18.6  a restart goes on with the same signal: "
            "verification_email was expected as 2 signals in one mailbox, where 1 were due\n"
            "not shown  B18.7  late mail, doubled mail and a failing provider are met: "
            "this run did not meet doubled mail, a provider that fails"
        )
