"""Who gets which mail."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pytest_agentmail.errors import LeaseExpired, SettingsError
from pytest_agentmail.mail.mailbox import Mailbox

ADA, BOB = "ada@agentmail.example", "bob@agentmail.example"
RAW = b"Subject: hi\r\n\r\nhi\r\n"


@pytest.fixture
def office(world):
    return world.post_office


def accept(office, *to, raw=RAW):
    return [message for _, message in office.accept(raw, "app@app.example", to).deliveries]


def test_a_mail_is_for_whom_the_envelope_names(world, office):
    ada, bob = world.lease("ada"), world.lease("bob", run_id="run-two")
    accept(office, BOB, raw=b"To: " + ADA.encode() + b"\r\n\r\nhi\r\n")
    assert ada.messages == []
    assert len(bob.messages) == 1


def test_hb35_a_blind_copy_is_found(world, office):
    ada = world.lease("ada")
    (message,) = accept(office, ADA, raw=b"To: undisclosed-recipients:;\r\n\r\nhi\r\n")
    assert ada.messages == [message]
    assert message.recipients == ()
    assert message.envelope_to == (ADA,)


def test_case_tags_and_both_forms_of_a_domain_make_no_difference(world, office):
    ada = world.lease("ada")
    accept(
        office, "ADA@AgentMail.example", "ada+one@agentmail.example", "<ada+two@agentmail.example.>"
    )
    (message,) = ada.messages
    assert len(message.envelope_to) == 3


def test_a_tag_belongs_to_its_base_and_to_nobody_else(world, office):
    ada, other = world.lease("ada"), world.lease("adashop")
    accept(office, "ada+shop@agentmail.example")
    assert len(ada.messages) == 1
    assert other.messages == []


def test_one_mail_for_several_reaches_each_once_and_counts_once_for_their_run(world, office):
    sent = office.open("run-one").sent
    ada, bob = world.lease("ada"), world.lease("bob")
    eve = world.lease("eve", run_id="run-two")
    accept(office, ADA, BOB, ADA, "eve@agentmail.example", "nobody@else.example")
    assert [len(box.messages) for box in (ada, bob, eve)] == [1, 1, 1]
    assert len(sent) == 1
    assert len(office.open("run-two").sent) == 1
    assert [message.envelope_to for message in office.strays] == [("nobody@else.example",)]
    assert ada.messages[0].content is bob.messages[0].content


def test_every_delivery_has_an_id_and_a_place_in_the_order(world, office):
    ada = world.lease("ada")
    for _ in range(3):
        accept(office, ADA)
    assert [message.seq for message in ada.messages] == sorted({m.seq for m in ada.messages})
    assert len({message.id for message in ada.messages}) == 3


@pytest.mark.parametrize("to", ["nobody@else.example", "Postmaster", "a@b@c..d", "\udcff@x", "<>"])
def test_mail_for_nobody_is_kept_for_diagnosis(office, to):
    assert accept(office, to) == []
    assert [message.envelope_to for message in office.strays] == [(to,)]


def test_no_stray_is_lost(office):
    for number in range(250):
        accept(office, f"{number}@else.example")
    assert [m.envelope_to[0] for m in office.strays] == [f"{n}@else.example" for n in range(250)]


def test_an_address_serves_one_mailbox_at_a_time(world, office):
    ada = world.lease("ada")
    with pytest.raises(SettingsError) as caught:
        world.lease("ADA", run_id="run-two")
    assert str(caught.value) == (
        "address 'ADA@agentmail.example' is leased to run-one until 2026-10-21T13:00:00+00:00; "
        "an address serves one mailbox at a time"
    )
    office.release([ada], test="test_one")
    assert world.lease("ada", run_id="run-two").messages == []


def test_mail_after_the_end_is_late_for_the_test_that_had_the_address(world, office):
    ada = world.lease("ada")
    office.release([ada], test="test_one")
    accept(office, ADA)
    assert ada.messages == []
    (late,) = office.take_late()
    assert late.test == "test_one"
    assert late.message.raw == RAW
    assert office.take_late() == []


def test_ending_a_lease_ends_no_other_of_that_run(world, office):
    mine, theirs = world.lease("ada"), world.lease("bob", run_id="run-two")
    lent = world.lease("eve", run_id="run-two")
    faults = office.open("run-two").faults
    office.release([mine, lent], test="test_one")
    accept(office, BOB)
    assert len(theirs.messages) == 1
    assert office.open("run-two").faults is faults
    office.release([theirs], test="test_two")
    assert office.open("run-two").faults is not faults


def test_nobody_waits_for_a_lease_that_has_ended(world, office):
    ada = world.lease("ada")
    world.clock.at(3, lambda: office.release([ada], test="test_one"))
    texts = []
    for _ in range(2):
        with pytest.raises(LeaseExpired) as caught:
            ada.wait(timeout=10)
        texts.append(str(caught.value))
    with pytest.raises(LeaseExpired):
        ada.expect_none(within=1)
    assert (ada.expired, world.clock.seconds) == (True, 3)
    assert texts == 2 * [
        "the lease of ada@agentmail.example ended with its run, run-one; "
        "read mailbox.messages, or wait while the run is open"
    ]


def test_whoever_expects_a_mail_is_told_when_it_is_announced(world, office):
    ada = world.lease("ada")
    told = []
    office.open("run-one").when_more_than(0, lambda: told.append(len(ada.messages)))
    acceptance = office.accept(RAW, "app@app.example", [ADA])
    assert told == []
    acceptance.announce()
    assert told == [1]


def test_a_token_in_the_envelope_is_foreign(world, office):
    """I2."""
    world.lease("ada")
    (message,) = accept(office, "ada+run-two@agentmail.example")
    assert office.foreign(message, "run-one") == "its address carries the token of run run-two"


def test_an_address_leased_again_is_not_late(world, office):
    ada = world.lease("ada")
    office.release([ada], test="test_one")
    again = world.lease("ada", run_id="run-two")
    accept(office, ADA)
    assert len(again.messages) == 1
    assert office.take_late() == []


def test_a_mailbox_leased_to_a_run_nobody_opened_gets_its_mail_too(world, office):
    mailbox = Mailbox(ADA, run_id="run-other", clock=world.clock, lease=timedelta(hours=1))
    office.lease(mailbox)
    accept(office, ADA)
    assert len(mailbox.messages) == 1
    assert office.mailboxes("run-other") == [mailbox]


@pytest.mark.parametrize("address", ["no address", "eve@agentmail.example"])
def test_nobody_holds_it(office, address):
    assert office.holder(address) is None


def test_who_holds_it(world, office):
    ada = world.lease("ada")
    assert office.holder("ADA+x@agentmail.example") is ada


def lease(world, address, **kwargs):
    """A mailbox of run-two."""
    hour = timedelta(hours=1)
    mailbox = Mailbox(address, run_id="run-two", clock=world.clock, lease=hour, **kwargs)
    world.post_office.lease(mailbox)
    return mailbox


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ("", None),
        ("To: ada@agentmail.example", None),
        ("To: someone@else.example", None),
        ("To: undisclosed-recipients:;", None),
        ("To: ada@-bad-.example", None),
        (
            "To: bob@agentmail.example",
            "it is addressed to bob@agentmail.example, which is leased to another run",
        ),
        (
            "Cc: nobody@agentmail.example",
            "it is addressed to nobody@agentmail.example, which is leased to no run",
        ),
        ("To: old@else.example", "it is addressed to old@else.example, which is leased to no run"),
        ("To: ada+run-two@agentmail.example", "its address carries the token of run run-two"),
        ("To: ada+run-one@agentmail.example", None),
        ("To: x@inbox.example", "it is addressed to x@inbox.example, which is leased to no run"),
        ("To: x@hotel.example", None),
        ("X-Agentmail-Run: run-two", "its X-Agentmail-Run header names run run-two"),
        ("X-Agentmail-Run: run-one", None),
    ],
)
def test_foreign(world, office, headers, reason):
    world.lease("ada")
    world.lease("bob", run_id="run-two")
    old = lease(world, "old@else.example", fixed=True)
    office.lease(old)
    office.release([old], test="test_old")
    lease(world, "eve@inbox.example")
    lease(world, "desk@hotel.example", fixed=True)
    (message,) = accept(office, ADA, raw=headers.encode() + b"\r\n\r\nhi\r\n")
    assert office.foreign(message, "run-one") == reason
