"""Mailboxes: search, waits woken by arrival, and failures that say what came instead (D3)."""

from __future__ import annotations

import asyncio
import re
import threading

import pytest

from pytest_agentmail.errors import LeaseExpired, NoMatchingMail, UnexpectedMail
from pytest_agentmail.mail.mailbox import Surroundings

ADA = "ada@agentmail.example"


@pytest.fixture
def mailbox(world):
    return world.lease()


def wait(mailbox, **criteria):
    return mailbox.wait(**criteria)


def wait_in_a_task(mailbox, **criteria):
    return asyncio.run(mailbox.wait_async(**criteria))


def stay_empty(mailbox, **criteria):
    return mailbox.expect_none(**criteria)


def stay_empty_in_a_task(mailbox, **criteria):
    return asyncio.run(mailbox.expect_none_async(**criteria))


waits = pytest.mark.parametrize("wait", [wait, wait_in_a_task])
stays_empty = pytest.mark.parametrize("stay_empty", [stay_empty, stay_empty_in_a_task])


def test_messages_are_all_there_is_in_order_of_acceptance(world, mailbox):
    first, second = world.deliver(ADA, subject="b"), world.deliver(ADA, subject="a")
    assert mailbox.messages == [first, second]
    assert first.seq < second.seq
    assert mailbox.wait() in mailbox.messages


def test_search_gives_all_that_count(world, mailbox):
    first = world.deliver(ADA, subject="Confirm")
    world.deliver(ADA, subject="Welcome")
    third = world.deliver(ADA, subject="confirm again")
    assert mailbox.search(subject="confirm") == [first, third]
    assert mailbox.search(subject="confirm", after=first) == [third]


@waits
def test_a_wait_gives_the_newest_and_each_message_once(world, mailbox, wait):
    older, newer = world.deliver(ADA), world.deliver(ADA)
    assert wait(mailbox, subject="Confirm", timeout=0) is newer
    assert wait(mailbox, subject="Confirm", timeout=0) is older
    with pytest.raises(NoMatchingMail):
        wait(mailbox, subject="Confirm", timeout=0)


@waits
def test_hb_52_a_wait_after_the_mail_was_taken_lasts_its_whole_time(world, clock, mailbox, wait):
    """HB-52: not at once, not twice as long, and the failure is a clear message."""
    world.deliver(ADA)
    wait(mailbox, timeout=1)
    with pytest.raises(NoMatchingMail, match="an earlier wait handed it out"):
        wait(mailbox, timeout=1)
    assert clock.seconds == 1


@waits
def test_a_wait_is_woken_by_arrival(world, clock, mailbox, wait):
    clock.at(3, lambda: world.deliver(ADA, subject="News"))
    clock.at(4, lambda: world.deliver(ADA))
    assert wait(mailbox, subject="Confirm").subject == "Confirm your account"
    assert clock.seconds == 4


@waits
def test_a_wait_goes_on_only_when_the_sender_was_told(world, clock, mailbox, wait):
    def accept():
        acceptance = world.accept(ADA)
        assert len(mailbox.search(subject="Confirm")) == 1
        clock.at(2.5, acceptance.announce)

    clock.at(2, accept)
    wait(mailbox)
    assert clock.seconds == 2.5


def test_two_threads_never_get_the_same_message(world, mailbox):
    count = 40
    taken = []
    for _ in range(count):
        world.deliver(ADA)

    def take():
        taken.extend(mailbox.wait(timeout=0) for _ in range(count // 4))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({message.id for message in taken}) == count


@stays_empty
def test_expect_none_waits_its_time_out(clock, mailbox, stay_empty):
    stay_empty(mailbox, within=2)
    assert clock.seconds == 2


@stays_empty
def test_expect_none_fails_at_the_first_match(world, clock, mailbox, stay_empty):
    clock.at(1, lambda: world.deliver(ADA, subject="Your code is 483920"))
    with pytest.raises(UnexpectedMail) as caught:
        stay_empty(mailbox, within=5, subject="code")
    assert clock.seconds == 1
    assert str(caught.value) == (
        "mail came to ada@agentmail.example that must not\n"
        "unwanted: subject contains 'code'\n"
        "  - +1.000 s m1 'Your code is ••••••' from shop@app.example\n"
        "next: take it with mailbox.wait() first if it may come, or find out who sent it"
    )


def test_expect_none_passes_over_what_was_handed_out(world, mailbox):
    world.deliver(ADA)
    mailbox.wait()
    mailbox.expect_none(within=1)


def test_the_failure_names_the_nearest_miss_first(world, clock, mailbox):
    world.deliver(ADA, subject="Confirm your account")
    mailbox.wait()
    clock.sleep(0.25)
    world.deliver(ADA, subject="Weekly news", sender="news@app.example")
    world.deliver(ADA, subject="Confirm your newsletter")
    with pytest.raises(NoMatchingMail) as caught:
        mailbox.wait(subject="Confirm your account", sender="shop@app.example", timeout=2)
    assert str(caught.value) == (
        "no mail that counts came to ada@agentmail.example within 2 s\n"
        "expected: sender contains 'shop@app.example', subject contains 'Confirm your account'\n"
        "arrived: 3, nearest miss first\n"
        "  - +0.250 s m3 'Confirm your newsletter' from shop@app.example: "
        "its subject does not contain 'Confirm your account'\n"
        "  - +0.250 s m2 'Weekly news' from news@app.example: "
        "its sender does not contain 'shop@app.example'\n"
        "  - +0.000 s m1 'Confirm your account' from shop@app.example: "
        "an earlier wait handed it out\n"
        "next: compare the criteria with the nearest mail above"
    )


def test_the_failure_of_an_empty_mailbox_says_where_to_look(mailbox):
    with pytest.raises(NoMatchingMail) as caught:
        mailbox.wait(timeout=0.5)
    assert str(caught.value) == (
        "no mail that counts came to ada@agentmail.example within 0.5 s\n"
        "expected: any mail\n"
        "arrived: nothing\n"
        "next: make sure that the app sends through smtp_sink.host and smtp_sink.port"
    )


def test_the_failure_tells_of_mail_that_everybody_missed_and_of_settings(world):
    mailbox = world.lease(
        look_around=lambda: Surroundings(world.post_office.strays, ["mail is kept in memory"])
    )
    world.deliver("adda@agentmail.example")
    with pytest.raises(NoMatchingMail) as caught:
        mailbox.wait(timeout=0)
    assert str(caught.value).splitlines()[2:] == [
        "arrived: 1, nearest miss first",
        "  - +0.000 s stray1 'Confirm your account' from shop@app.example: "
        "sent to adda@agentmail.example, which nobody has",
        "hint: mail is kept in memory",
        "next: compare the address the app sent to with mailbox.address",
    ]


def test_the_failure_after_everything_was_taken_says_what_to_do(world, mailbox):
    world.deliver(ADA)
    mailbox.wait()
    with pytest.raises(NoMatchingMail, match="next: make the app send again"):
        mailbox.wait(timeout=0)


def test_a_long_list_is_cut(world, mailbox):
    for number in range(11):
        world.deliver(ADA, subject=f"News {number}")
    with pytest.raises(
        NoMatchingMail,
        match=r"arrived: 11, nearest miss first\n(  - .*\n){8}"
        r"  - and 3 more\n",
    ):
        mailbox.wait(subject="Confirm", timeout=0)


def test_an_ended_lease_is_not_waited_for(world, clock):
    mailbox = world.lease(seconds=60)
    world.deliver(ADA)
    clock.sleep(60)
    assert mailbox.expired
    assert len(mailbox.messages) == 1
    for use in (mailbox.wait, mailbox.expect_none):
        with pytest.raises(LeaseExpired) as caught:
            use()
        assert str(caught.value) == (
            "the lease of ada@agentmail.example ended at 2026-10-21T12:01:00+00:00; "
            "lease another mailbox with run.lease()"
        )


@pytest.mark.parametrize("timeout", [-1, float("nan")])
def test_a_time_to_wait_is_a_number_of_seconds(mailbox, timeout):
    with pytest.raises(ValueError, match="is no time to wait: expected seconds, 0 or more"):
        mailbox.wait(timeout=timeout)


def test_an_unknown_criterion_is_an_error(mailbox):
    with pytest.raises(TypeError, match="subjekt"):
        mailbox.search(subjekt="Confirm")


def test_tagged_addresses_belong_to_the_mailbox(world, mailbox):
    assert mailbox.tagged("sales") == "ada+sales@agentmail.example"
    message = world.deliver(mailbox.tagged("sales"))
    assert mailbox.messages == [message]
    assert message.envelope_to == ("ada+sales@agentmail.example",)


@pytest.mark.parametrize("tag", ["", "a b", "a@b", "a>"])
def test_a_tag_has_no_odd_characters(mailbox, tag):
    with pytest.raises(ValueError, match=re.escape(f"{tag!r} is no tag")):
        mailbox.tagged(tag)


def test_get_and_repr(world, mailbox):
    message = world.deliver(ADA)
    assert mailbox.get(message.id) is message
    assert mailbox.get("nothing") is None
    assert repr(mailbox) == "<Mailbox ada@agentmail.example of run-one, 1 messages>"
    assert repr(message) == "<Message m1.run-one to ada@agentmail.example>"


def test_mail_whose_sender_was_not_told_keeps_no_older_mail_back(world, mailbox):
    older = world.deliver(ADA)
    world.accept(ADA)
    assert mailbox.wait(timeout=0) is older


def test_a_message_says_what_its_content_says(world, mailbox):
    message = world.deliver(ADA, body="Code: 483920\nhttps://app.example/confirm?token=abc")
    for name in (
        "message_id", "subject", "sender", "recipients", "text", "html", "visible_text", "code",
        "codes", "link", "links", "attachments", "headers", "raw", "sha256", "defects",
    ):  # fmt: skip
        assert getattr(message, name) == getattr(message.content, name)
    assert (message.code, message.link) == ("483920", "https://app.example/confirm?token=abc")
