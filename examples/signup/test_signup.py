"""The agent against the real app, over real SMTP."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from pytest_agentmail.errors import NoMatchingMail

from .agent import SignUpError, agent

both_clocks = pytest.mark.usefixtures("both_clocks")


def sign_up(app, mailbox):
    reply = app.post("/accounts", json={"email": mailbox.address})
    assert reply.status_code == 202
    return f"/accounts/{reply.json()['id']}"


# The agent.


@both_clocks
def test_the_agent_confirms_its_account(agent_run, app_url, app):
    report = agent_run.drive(agent, app_url)

    assert app.get(f"/accounts/{report.result}").json()["state"] == "confirmed"
    [mail] = report.sent
    print(f"found: {mail.subject!r} from {mail.sender}, code {mail.code}, link {mail.link}")


@both_clocks
def test_the_agent_asks_for_a_new_mail_when_its_code_was_misread(agent_run, app_url, app):
    misread = iter(["000000"])

    report = agent_run.drive(agent, app_url, lambda message: next(misread, message.code))

    assert app.get(f"/accounts/{report.result}").json()["state"] == "confirmed"
    assert len(report.sent) == len(report.evidence) == 2
    assert report.calls["request_mail"].completed == 2


@both_clocks
def test_the_agent_gives_up_when_no_code_is_right(agent_run, app_url):
    with pytest.raises(SignUpError, match="the app refused every code"):
        agent_run.drive(agent, app_url, lambda _: "000000")
    assert len(agent_run.sent) == 2


@pytest.mark.agentmail(within=0.2)
def test_the_agent_says_what_to_do_when_its_mail_is_late(agent_run, app_url, outbox):
    outbox.close()
    with pytest.raises(SignUpError, match=r"^Expired: 0\.2 s have passed\. No mail came"):
        agent_run.drive(agent, app_url)

    outbox.open()
    agent_run.mailbox.wait()
    assert agent_run.report.evidence == []


def test_two_users_at_once_get_their_own_mail(mail_world, app_url, app):
    with mail_world.open_run() as one, mail_world.open_run() as two, ThreadPoolExecutor() as pool:
        reports = list(pool.map(lambda run: run.drive(agent, app_url), [one, two]))

    for run, report in zip([one, two], reports, strict=True):
        assert app.get(f"/accounts/{report.result}").json() == {
            "email": run.mailbox.address,
            "state": "confirmed",
        }
        assert len(report.sent) == 1


@both_clocks
@pytest.mark.asyncio
async def test_an_async_test_drives_the_agent(agent_run, app_url):
    report = await agent_run.drive_async(agent, app_url)

    async with httpx.AsyncClient(base_url=app_url) as app:
        account = await app.get(f"/accounts/{report.result}")
    assert account.json()["state"] == "confirmed"


# The app, through the fixtures alone.


def test_late_mail_is_waited_for(app, mailbox, signals, outbox):
    outbox.close()
    expected = signals.expect("verification_email", subject="Confirm your account")
    sign_up(app, mailbox)
    first = signals.check(expected)
    assert (first.status, first.final) == ("waiting", False)

    outbox.open()

    answer = signals.wait(expected)
    assert answer.status == "found"
    assert answer.message.received_at > first.signal.history[0].at


def test_the_link_confirms_too(app, mailbox):
    account = sign_up(app, mailbox)
    message = mailbox.wait(subject="Confirm your account")

    assert httpx.get(message.link).is_success
    assert app.get(account).json()["state"] == "confirmed"


def test_a_wrong_code_is_refused_and_the_right_one_still_counts(app, mailbox):
    account = sign_up(app, mailbox)
    code = mailbox.wait(subject="Confirm your account").code

    assert app.post(f"{account}/confirm", json={"code": "000000"}).status_code == 422
    assert app.get(account).json()["state"] == "unconfirmed"
    assert app.post(f"{account}/confirm", json={"code": code}).is_success


def test_a_resent_mail_is_newer_and_its_code_replaces_the_old_one(app, mailbox, signals):
    expected = signals.expect("verification_email", subject="Confirm your account")
    account = sign_up(app, mailbox)
    old = signals.wait(expected)

    newer = signals.expect(
        "verification_email", subject="Confirm your account", newer_than=old.evidence
    )
    app.post(f"{account}/resend").raise_for_status()
    new = signals.wait(newer)

    assert new.message.seq > old.message.seq
    assert not app.post(f"{account}/confirm", json={"code": old.message.code}).is_success
    assert app.post(f"{account}/confirm", json={"code": new.message.code}).is_success


@pytest.mark.asyncio
async def test_an_async_test_waits_without_blocking_its_loop(app_url, mailbox, signals):
    expected = signals.expect("verification_email", subject="Confirm your account")
    async with httpx.AsyncClient(base_url=app_url) as app:
        waiting = asyncio.create_task(signals.wait_async(expected))
        await app.post("/accounts", json={"email": mailbox.address})
        answer = await waiting

    assert answer.status == "found"


def test_a_wait_that_finds_nothing_says_what_came_instead(app, mailbox):
    sign_up(app, mailbox)
    mailbox.wait(subject="Confirm your account")

    with pytest.raises(NoMatchingMail) as failure:
        mailbox.wait(subject="Reset your password", timeout=0.1)

    told = re.sub(r"\+\d+\.\d{3} s \S+", "+… s …", str(failure.value))
    assert told.replace(mailbox.address, "user@example") == (
        "no mail that counts came to user@example within 0.1 s\n"
        "expected: subject contains 'Reset your password'\n"
        "arrived: 1, nearest miss first\n"
        "  - +… s … 'Confirm your account' from no-reply@shop.example: "
        "its subject does not contain 'Reset your password'\n"
        "next: compare the criteria with the nearest mail above"
    )
