"""A run: leases, driving, and what it reports. Real SMTP."""

from __future__ import annotations

import asyncio
import smtplib
import sys
import threading
from email.message import EmailMessage

import pytest

from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.errors import AgentMailError, LeaseExpired, SettingsError
from pytest_agentmail.settings import Settings


@pytest.fixture(scope="module")
def mail_world():
    with MailWorld() as world:
        yield world


@pytest.fixture
def run(mail_world):
    with mail_world.open_run() as run:
        yield run


def send(run_or_world, *to, subject="Confirm your account"):
    sink = run_or_world.sink
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "shop@app.example", ", ".join(to), subject
    mail.set_content("Code: 483920")
    with smtplib.SMTP(sink.host, sink.port) as client:
        client.send_message(mail)


def test_an_agent_is_called_with_the_run_and_its_arguments(run):
    report = run.drive(lambda *args, **kwargs: (args, kwargs), 1, two=2)
    assert report.result == ((run, 1), {"two": 2})
    assert (report.finished, report.lives, report.error, report.checks) == (True, 1, None, 0)


def test_a_sync_agent_runs_in_the_calling_thread(run):
    assert run.drive(lambda _: threading.current_thread()).result is threading.current_thread()


def test_an_async_agent_gets_a_loop_of_its_own(run):
    async def agent(run):
        await asyncio.sleep(0)
        return asyncio.get_running_loop()

    first, second = run.drive(agent).result, run.drive(agent).result
    assert first is not second
    assert first.is_closed()


def test_an_agent_may_return_any_awaitable(run):
    class Ready:
        def __await__(self):
            yield from asyncio.sleep(0).__await__()
            return "ready"

    assert run.drive(lambda _: Ready()).result == "ready"


def test_from_an_async_test_the_agent_has_a_thread_and_loop_of_its_own(run):
    async def agent(run):
        return threading.current_thread(), asyncio.get_running_loop()

    async def test():
        return asyncio.get_running_loop(), (await run.drive_async(agent)).result

    loop, (thread, own) = asyncio.run(test())
    assert thread is not threading.current_thread()
    assert own is not loop


def test_drive_on_a_running_loop_names_drive_async(run):
    async def test():
        run.drive(lambda _: None)

    with pytest.raises(AgentMailError) as caught:
        asyncio.run(test())
    assert str(caught.value) == (
        "drive() was called while an event loop is running; "
        "in an async test use: await run.drive_async(agent)"
    )


def broken(run):
    raise ZeroDivisionError("broken")


def test_the_agents_own_exception_is_raised_with_the_report(run):
    with pytest.raises(ZeroDivisionError) as caught:
        run.drive(broken)
    report = caught.value.agentmail_report
    assert (report.finished, report.error) == (False, caught.value)
    assert run.report == report


def test_an_exception_without_room_for_the_report_is_raised_all_the_same(run):
    class Slotted(Exception):
        __slots__ = ()

        def __setattr__(self, name, value):
            raise AttributeError(name)

    def agent(run):
        raise Slotted

    with pytest.raises(Slotted):
        run.drive(agent)


def test_raises_off_keeps_the_exception_in_the_report(mail_world):
    with mail_world.open_run(raises=False) as run:
        report = run.drive(broken)
    assert isinstance(report.error, ZeroDivisionError)


async def exits_async(run):
    sys.exit(3)


@pytest.mark.parametrize("agent", [lambda _: sys.exit(3), exits_async], ids=["sync", "async"])
def test_an_agent_that_exits_has_ended_as_one_that_raises(mail_world, agent):
    with mail_world.open_run(raises=False) as run:
        report = run.drive(agent)
        assert (report.finished, report.error.code) == (False, 3)
    with mail_world.open_run() as run:
        with pytest.raises(SystemExit) as caught:
            run.drive(agent)
        assert caught.value.agentmail_report == run.report


@pytest.mark.parametrize("stop", [KeyboardInterrupt, pytest.skip.Exception, pytest.fail.Exception])
def test_what_stops_a_test_goes_through_an_agent(mail_world, stop):
    def agent(run):
        raise stop

    with mail_world.open_run(raises=False) as run, pytest.raises(stop):
        run.drive(agent)


def test_sent_is_every_mail_once_in_order_of_arrival(mail_world, run):
    second = run.lease()
    send(mail_world, run.mailbox.address, second.address, subject="both")
    send(mail_world, second.address, subject="one")
    assert [message.subject for message in run.sent] == ["both", "one"]
    assert [message.subject for message in run.mailbox.messages] == ["both"]
    assert [message.subject for message in second.messages] == ["both", "one"]


def test_a_run_sees_its_own_mail_only(mail_world, run):
    """I10."""
    with mail_world.open_run() as other:
        send(mail_world, other.mailbox.address)
        assert (run.sent, run.mailbox.messages) == ([], [])
        assert len(other.sent) == 1
    assert len(other.sent) == 1


def test_the_report_counts_checks_and_evidence(mail_world, run):
    def agent(run):
        signal = run.signals.expect("verification", subject="Confirm")
        run.signals.check(signal)
        send(mail_world, run.mailbox.address)
        return run.signals.wait(signal)

    report = run.drive(agent)
    assert (report.checks, len(report.evidence), len(report.sent)) == (2, 1, 1)
    assert run.provider.fetch(report.evidence[0].message_id) is report.result.message


def test_a_fixed_address_serves_one_run_at_a_time(mail_world, run):
    fixed = run.lease("Front.Desk@hotel.example")
    with mail_world.open_run() as other, pytest.raises(SettingsError) as caught:
        other.lease("front.desk+x@HOTEL.example")
    assert str(caught.value) == (
        f"address 'front.desk+x@HOTEL.example' is leased to {run.run_id} until "
        f"{fixed.lease_expires_at.isoformat()}; an address serves one mailbox at a time"
    )
    send(mail_world, "FRONT.desk+spring@hotel.example")
    assert len(fixed.messages) == 1


def test_a_fixed_address_is_free_again_when_its_run_ends(mail_world):
    for _ in range(2):
        with mail_world.open_run() as run:
            run.lease("desk@hotel.example")


@pytest.mark.parametrize("address", ["nobody", "@hotel.example", "a@b@", "a@no domain"])
def test_an_address_is_checked(run, address):
    with pytest.raises(SettingsError, match=r"is no (mail address|domain name)"):
        run.lease(address)


def test_a_lease_for_another_run_makes_its_mail_foreign(mail_world, run):
    theirs = run.lease(owned_by="run-theirs")
    send(mail_world, run.mailbox.address, theirs.address)
    result = run.signals.check(run.signals.expect("verification"))
    assert (result.status, result.discarded) == ("waiting", 1)


def test_a_mailbox_lent_to_another_run_ends_alone(mail_world, run):
    with mail_world.open_run() as other:
        lent = other.lease(owned_by=run.run_id)
    send(mail_world, run.mailbox.address, lent.address)
    assert (len(run.mailbox.messages), lent.messages, len(run.sent)) == (1, [], 1)
    assert len(mail_world.take_late()) == 1


def test_a_run_that_has_ended_takes_part_in_nothing(mail_world):
    with mail_world.open_run() as run:
        request = run.tools.wrap(lambda: None, name="request")
        signal = run.signals.expect("verification")
        send(mail_world, run.mailbox.address)
    for use in (
        run.lease,
        request,
        lambda: run.drive(lambda _: None),
        lambda: run.signals.expect("another"),
        lambda: run.signals.wait(signal),
    ):
        with pytest.raises(AgentMailError) as caught:
            use()
        assert str(caught.value) == (
            f"run {run.run_id} has ended, so it takes no further part in anything: "
            f"have the test wait for its agent, or stop it"
        )
    assert (len(run.mailbox.messages), run.report.lives, run.tools.calls) == (1, 0, {})


def test_an_agent_whose_drive_was_cancelled_is_refused_once_the_run_has_ended(mail_world):
    begun, ended, refused = threading.Event(), threading.Event(), []

    def agent(run):
        begun.set()
        ended.wait()
        try:
            run.mailbox.wait()
        except LeaseExpired as error:
            refused.append(error)

    async def test():
        with mail_world.open_run() as run:
            driving = asyncio.create_task(run.drive_async(agent))
            await asyncio.to_thread(begun.wait)
            driving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await driving
        ended.set()

    asyncio.run(test())  # leaving it joins the agent's thread
    assert len(refused) == 1


def test_stable_addresses_come_from_the_test_and_nothing_else(mail_world):
    def addresses(test):
        with mail_world.open_run(test=test, address="stable") as run:
            return run.mailbox.address, run.lease().address

    first, second = addresses("test_one")
    assert addresses("test_one") == (first, second)
    assert len({first, second, *addresses("test_two")}) == 4


def test_unique_addresses_have_letters_only_and_never_repeat(mail_world):
    """D3."""
    with mail_world.open_run(domain="inbox.example") as run:
        addresses = [run.lease().address for _ in range(200)]
    assert len(set(addresses)) == 200
    assert all(address.partition("@")[0].isalpha() for address in addresses)
    assert {address.partition("@")[2] for address in addresses} == {"inbox.example"}


def test_late_mail_is_remembered_with_its_test(mail_world):
    with mail_world.open_run(test="tests/test_it.py::test_slow") as run:
        address = run.mailbox.address
    send(mail_world, address)
    (late,) = mail_world.take_late()
    assert (late.test, late.message.subject) == (
        "tests/test_it.py::test_slow", "Confirm your account",
    )  # fmt: skip
    assert mail_world.take_late() == []


def test_open_run_refuses_what_is_no_setting(mail_world):
    with (
        pytest.raises(SettingsError, match="open_run: there is no setting 'wihtin'"),
        mail_world.open_run(wihtin=3),
    ):
        pass  # pragma: no cover


def test_settings_reach_the_signals_and_the_lease(mail_world):
    with mail_world.open_run(checks=3, within=7, lease=60) as run:
        signal = run.signals.expect("verification")
        assert (signal.max_checks, (signal.expires_at - signal.created_at).seconds) == (3, 7)
        assert (run.mailbox.lease_expires_at - run.mailbox.leased_at).seconds == 60


def test_reprs_say_what_it_is(mail_world, run):
    assert repr(run) == f"<AgentRun {run.run_id} with {run.mailbox.address}>"
    assert repr(mail_world) == f"<MailWorld with <Sink smtp://127.0.0.1:{mail_world.sink.port}>>"


def test_a_world_that_is_not_started_has_no_runs():
    with pytest.raises(AgentMailError) as caught, MailWorld().open_run():
        pass  # pragma: no cover
    assert str(caught.value) == (
        "the world is not started, so no mail could come; "
        "open runs inside `with MailWorld() as world:`"
    )


def test_a_world_has_the_settings_it_is_given():
    assert MailWorld(Settings(domain="x.example")).settings.domain == "x.example"
