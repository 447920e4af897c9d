"""Who gets which mail."""

from __future__ import annotations

import pytest

from pytest_agentmail.errors import SettingsError

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


def test_only_the_latest_strays_are_kept(office):
    for number in range(250):
        accept(office, f"{number}@else.example")
    assert [m.envelope_to[0] for m in office.strays] == [
        f"{n}@else.example" for n in range(50, 250)
    ]


def test_an_address_serves_one_mailbox_at_a_time(world, office):
    world.lease("ada")
    with pytest.raises(SettingsError) as caught:
        world.lease("ADA", run_id="run-two")
    assert str(caught.value) == (
        "address 'ADA@agentmail.example' is leased to run-one until 2026-10-21T13:00:00+00:00; "
        "an address serves one mailbox at a time"
    )
    office.release("run-one", test="test_one")
    assert world.lease("ada", run_id="run-two").messages == []


def test_mail_after_the_end_is_late_for_the_test_that_had_the_address(world, office):
    ada = world.lease("ada")
    office.release("run-one", test="test_one")
    accept(office, ADA)
    assert ada.messages == []
    (late,) = office.take_late()
    assert late.test == "test_one"
    assert late.message.raw == RAW
    assert office.take_late() == []


def test_an_address_leased_again_is_not_late(world, office):
    world.lease("ada")
    office.release("run-one", test="test_one")
    again = world.lease("ada", run_id="run-two")
    accept(office, ADA)
    assert len(again.messages) == 1
    assert office.take_late() == []


def test_a_mailbox_leased_to_a_run_nobody_opened_gets_its_mail_too(world, office):
    from datetime import timedelta

    from pytest_agentmail.mail.mailbox import Mailbox

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
        ("X-Agentmail-Run: run-two", "its X-Agentmail-Run header names run run-two"),
        ("X-Agentmail-Run: run-one", None),
    ],
)
def test_foreign(world, office, headers, reason):
    from datetime import timedelta

    from pytest_agentmail.mail.mailbox import Mailbox

    world.lease("ada")
    world.lease("bob", run_id="run-two")
    old = Mailbox("old@else.example", run_id="run-old", clock=world.clock, lease=timedelta(hours=1))
    office.lease(old)
    office.release("run-old", test="test_old")
    (message,) = accept(office, ADA, raw=headers.encode() + b"\r\n\r\nhi\r\n")
    assert office.foreign(message, "run-one") == reason
