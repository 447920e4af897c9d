"""One question, four answers that are never blurred (B1-B4, B6-B10, B13, B14, B19)."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest

from pytest_agentmail.errors import ContractConflict, ProviderError, SettingsError
from pytest_agentmail.mail.mailbox import Surroundings
from pytest_agentmail.signals.contract import Contract
from pytest_agentmail.signals.queue import SignalQueue
from pytest_agentmail.signals.signal import Outcome, SignalStatus

ADA = "ada@agentmail.example"
DOWN = ProviderError("503")


def test_a_signal_has_the_fields_of_b2(queue, clock):
    """B1, B2."""
    signal = queue.expect("verification_email", subject="Confirm", within=120)
    assert json.loads(signal.model_dump_json()) | {
        "run_id": "run-one",
        "kind": "verification_email",
        "recipient": ADA,
        "expected_subject": "Confirm",
        "status": "waiting",
        "created_at": "2026-10-21T12:00:00Z",
        "expires_at": "2026-10-21T12:02:00Z",
    } == json.loads(signal.model_dump_json())
    assert signal.signal_id.startswith("sig-")
    assert (signal.checks, signal.checks_left, signal.message_id, signal.last_error) == (
        0, 10, None, None,
    )  # fmt: skip


def test_expecting_again_is_the_same_signal_with_its_first_budget(queue, clock):
    """B6, B19: a repeated call makes no second signal."""
    first = queue.expect("verification", subject="Confirm", within=60, checks=3)
    queue.check(first)
    clock.sleep(5)
    again = queue.expect("verification", subject="Confirm", within=600, checks=30)
    assert again == queue.get(first.signal_id)
    assert (again.checks_left, again.expires_at) == (2, first.expires_at)
    assert [signal.signal_id for signal in queue.pending()] == [first.signal_id]


def test_expecting_again_with_another_subject_is_a_conflict(queue):
    queue.expect("verification", subject="Confirm")
    with pytest.raises(ContractConflict) as caught:
        queue.expect("verification", subject=re.compile("Confirm", re.IGNORECASE))
    assert str(caught.value) == (
        "signal 'verification' for ada@agentmail.example is expected already, with "
        "subject contains 'Confirm'; now with subject matches /Confirm/ re.IGNORECASE|re.UNICODE. "
        "Use another kind, or newer_than= for a resend"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"kind": " "}, "kind=' ': expected a word for what the mail is for"),
        ({"within": 0}, "within=0: expected seconds, more than 0"),
        ({"within": float("inf")}, "within=inf: expected seconds, more than 0"),
        ({"within": "soon"}, "within='soon': expected seconds, more than 0"),
        ({"checks": 0}, "checks=0: expected a whole number, 1 or more"),
        ({"checks": True}, "checks=True: expected a whole number, 1 or more"),
        ({"checks": 2.5}, "checks=2.5: expected a whole number, 1 or more"),
        (
            {"mailbox": "nobody"},
            "mailbox='nobody': 'nobody' is no mail address: expected local-part@domain",
        ),
    ],
)
def test_what_cannot_be_expected(queue, arguments, text):
    with pytest.raises(SettingsError, match=re.escape(text)):
        queue.expect(**{"kind": "verification", **arguments})


def test_a_queue_without_mailbox_needs_one_each_time(queue, store, clock):
    bare = SignalQueue(queue.provider, store, clock, run_id="run-one")
    with pytest.raises(SettingsError, match=re.escape("no mailbox: pass mailbox=")):
        bare.expect("verification")
    assert bare.expect("verification", mailbox=ADA).recipient == ADA


def test_waiting_says_when_to_ask_again(queue, clock):
    """B13, B14: that the app took the request is no evidence."""
    signal = queue.expect("verification")
    result = queue.check(signal)
    assert (result.status, result.final, result.message) == (SignalStatus.WAITING, False, None)
    assert result.next_action == "poll_inbox"
    assert clock.now() < result.retry_at < clock.now() + timedelta(seconds=1)
    assert result.checks_left == 9
    assert result.advice == (
        f"Nothing that counts yet: ask again at {result.retry_at.isoformat()}, "
        f"9 checks left until 2026-10-21T12:02:00+00:00."
    )


def test_found_hands_over_the_evidence(world, queue, clock):
    """B9, B10, B13: the id, never the body."""
    signal = queue.expect("verification", subject="Confirm")
    message = world.deliver(ADA, Message_ID="<one@app.example>")
    result = queue.check(signal)
    assert (result.status, result.final, result.message) == (SignalStatus.FOUND, True, message)
    assert result.next_action == "validate_evidence"
    assert result.advice == f"Validate message {message.id} at the app, then confirm it."
    evidence = result.evidence
    assert (evidence.message_id, evidence.header_message_id) == (message.id, "<one@app.example>")
    assert (evidence.sha256, evidence.matched) == (message.sha256, "subject contains 'Confirm'")
    assert "483920" not in result.signal.model_dump_json()


def test_a_decided_signal_asks_nobody(asking, world):
    """B6."""
    message = world.deliver(ADA)
    queue = asking([message])
    signal = queue.expect("verification")
    first = queue.check(signal)
    assert queue.check(signal) is first
    assert len(queue.provider.asked) == 1


def test_another_life_gives_the_same_answer(asking, world):
    message, other = world.deliver(ADA), world.deliver(ADA, subject="Confirm again")
    queue = asking([message, other])
    first = queue.check(queue.expect("verification"))
    life = asking([message, other])
    second = life.check(life.expect("verification"))
    assert life.provider.asked == []
    assert (second.status, second.message, second.also_matched, second.advice) == (
        first.status, other, (message,), first.advice,
    )  # fmt: skip


def test_another_life_gives_the_answer_even_where_the_mail_cannot_be_had(asking, world):
    queue = asking([world.deliver(ADA)])
    queue.check(queue.expect("verification"))
    life = asking(DOWN)
    result = life.check(life.expect("verification"))
    assert (result.status, result.message) == (SignalStatus.FOUND, None)
    assert result.evidence is not None


def test_a_life_that_did_not_expect_the_signal_cannot_ask(asking):
    signal = asking([]).expect("verification", subject="Confirm")
    with pytest.raises(ContractConflict) as caught:
        asking([]).check(signal)
    assert str(caught.value) == (
        f"signal {signal.signal_id} (verification) was expected by another life: call "
        f"expect('verification', …) again with its criteria (subject contains 'Confirm')"
    )


def test_a_provider_error_is_told_apart_and_costs_a_check(asking):
    """B4, B13; I3."""
    queue = asking(ProviderError("503"), [])
    signal = queue.expect("verification")
    failed = queue.check(signal)
    assert (failed.status, failed.final) == (SignalStatus.PROVIDER_ERROR, False)
    assert (failed.signal.last_error, failed.checks_left) == ("503", 9)
    assert failed.next_action == "poll_inbox"
    assert failed.advice.startswith(
        "The provider failed with 503, so nothing is known of the mail: ask again at "
    )
    assert queue.check(signal, "error_recovery").status is SignalStatus.WAITING
    history = queue.get(signal.signal_id).history
    assert [(query.reason, query.outcome) for query in history] == [
        ("first_check", Outcome.ERROR),
        ("error_recovery", Outcome.CHECKED),
    ]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (ConnectionResetError(), "ConnectionResetError"),
        (ValueError("no JSON"), "ValueError"),
        (["what is this"], "malformed_answer"),
        ([None], "malformed_answer"),
        (7, "TypeError"),
    ],
)
def test_whatever_goes_wrong_at_the_provider_is_its_error(asking, answer, code):
    """B4: the result of this query cannot be trusted."""
    queue = asking(answer)
    result = queue.check(queue.expect("verification"))
    assert (result.status, result.signal.last_error) == (SignalStatus.PROVIDER_ERROR, code)


def test_the_end_of_a_failing_provider_says_since_when(asking, clock):
    queue = asking([], ProviderError("502"), ProviderError("503"))
    signal = queue.expect("verification", checks=3)
    for _ in range(3):
        result = queue.check(signal)
        clock.sleep(10)
    assert (result.status, result.final, result.cause) == ("provider_error", True, "checks")
    assert result.next_action == "finish"
    assert result.advice == (
        "The provider failed with 503 since 2026-10-21T12:00:10+00:00 and the budget is used up: "
        "whether the mail came is unknown. Have the provider mended, then start a new signal; "
        "do not have the mail sent again before."
    )


def test_inside_retry_after_nobody_is_asked_and_nothing_is_spent(asking, clock):
    queue = asking(ProviderError("429", retry_after=2), [])
    signal = queue.expect("verification")
    first = queue.check(signal)
    clock.sleep(1.9)
    assert queue.check(signal) is first
    life = asking([])
    again = life.check(life.expect("verification"))
    assert (again.status, again.signal.last_error) == (SignalStatus.PROVIDER_ERROR, "429")
    assert len(queue.provider.asked) == 1
    clock.sleep(0.1)
    assert queue.check(signal).status is SignalStatus.WAITING


def test_a_rest_that_outlasts_the_signal_ends_it_as_a_provider_error(asking, clock):
    queue = asking(ProviderError("429", retry_after=500), [])
    signal = queue.expect("verification", within=60)
    queue.check(signal)
    clock.sleep(60)
    result = queue.check(signal)
    assert (result.status, result.final) == (SignalStatus.PROVIDER_ERROR, True)
    assert len(queue.provider.asked) == 1


def test_mail_that_is_there_at_the_deadline_wins(world, queue, clock):
    signal = queue.expect("verification", within=60)
    clock.sleep(60)
    message = world.deliver(ADA)
    assert queue.check(signal).message is message


def test_a_check_after_the_deadline_still_looks_once(world, queue, clock):
    signal = queue.expect("verification", within=60)
    clock.sleep(59)
    message = world.deliver(ADA)
    clock.sleep(100)
    assert queue.check(signal).message is message


def test_expired_by_time_names_the_nearest_miss(world, queue, clock):
    """B16: advice that can be acted on."""
    signal = queue.expect("verification", subject="Confirm", within=60)
    world.deliver(ADA, subject="Welcome 123456")
    clock.sleep(60)
    result = queue.check(signal)
    assert (result.status, result.final, result.cause) == ("expired", True, "deadline")
    assert result.next_action == "lease_new_mailbox"
    assert result.advice == (
        "Expired: 60 s have passed. Nearest was m1 'Welcome ••••••': its subject does "
        "not contain 'Confirm'. If that is the mail, expect its subject; if not, the app sent "
        "another one."
    )


def test_expired_by_checks_is_final_at_the_last_one(queue):
    """B16: never "check the inbox again"."""
    signal = queue.expect("verification", checks=2)
    queue.check(signal)
    result = queue.check(signal)
    assert (result.status, result.final, result.cause) == ("expired", True, "checks")
    assert result.next_action == "finish"
    assert result.advice == (
        "Expired: all 2 checks are used up. No mail came to the address at all: see whether the "
        "app took the request and which address and mail server it sent to, then request a new "
        "verification with a new mailbox."
    )


def test_a_check_paid_by_a_life_that_died_is_not_given_back(asking, clock, store):
    """C4; I4: the last check was reserved and never settled."""

    class Deadly:
        def search(self, **_):
            raise KeyboardInterrupt

    queue = SignalQueue(Deadly(), store, clock, run_id="run-one", mailbox=ADA, checks=1)
    signal = queue.expect("verification")
    with pytest.raises(KeyboardInterrupt):
        queue.check(signal)
    life = asking([])
    waiting = life.check(life.expect("verification"))
    assert (waiting.status, waiting.final) == (SignalStatus.WAITING, False)
    clock.sleep(120)
    result = life.check(signal)
    assert (result.status, result.final, result.cause) == ("provider_error", True, "deadline")
    assert result.signal.last_error == "unanswered"
    assert life.provider.asked == []


def test_a_last_check_that_is_still_under_way_is_left_to_its_life(world, asking, store, clock):
    """I3: the other life neither ends the signal nor throws the answer away."""
    message = world.deliver(ADA)
    other = asking([])

    class Interrupted:
        def search(self, **_):
            other.check(other.expect("verification"))
            return [message]

    queue = SignalQueue(Interrupted(), store, clock, run_id="run-one", mailbox=ADA, checks=1)
    result = queue.check(queue.expect("verification"))
    assert (result.status, result.message) == (SignalStatus.FOUND, message)


def test_the_newest_of_several_is_taken_and_the_others_are_named(world, queue):
    """HB-32: both deliveries are there, and the rule that chose can be told."""
    signal = queue.expect("verification")
    older, newer = world.deliver(ADA), world.deliver(ADA, body="Code: 975310")
    result = queue.check(signal)
    assert (result.message, result.also_matched) == (newer, (older,))
    assert result.signal.history[-1].matches == 2


def test_one_mail_serves_one_signal_however_often_it_comes(world, queue):
    """B9; I1."""
    first = queue.expect("verification")
    message = world.deliver(ADA)
    queue.check(first)
    world.post_office.accept(message.raw, "bounce@app.example", [ADA]).announce()
    other = queue.check(queue.expect("password_reset"))
    assert other.status is SignalStatus.WAITING
    assert {miss.criterion for miss in other.near_misses} == {"already used"}


def test_mail_for_another_run_is_never_evidence_and_is_counted(world, queue):
    """B7; I2."""
    world.lease("bob", run_id="run-two")
    signal = queue.expect("verification")
    world.deliver(ADA, header_to="bob@agentmail.example")
    result = queue.check(signal)
    assert (result.status, result.discarded) == (SignalStatus.WAITING, 1)
    (miss,) = result.near_misses
    assert (miss.criterion, miss.why) == (
        "other run",
        "it is addressed to bob@agentmail.example, which is leased to another run",
    )


def test_a_resend_is_newer_and_not_the_same_again(world, queue):
    first = world.deliver(ADA)
    found = queue.check(queue.expect("verification"))
    resent = queue.expect("verification", newer_than=found.evidence)
    world.post_office.accept(first.raw, "bounce@app.example", [ADA]).announce()
    assert resent.signal_id != found.signal.signal_id
    assert queue.check(resent).near_misses[0].criterion == "already used"
    second = world.deliver(ADA, body="Code: 975310")
    assert queue.check(resent).message is second


def test_a_fixed_address_counts_from_when_it_is_expected(world, clock, queue):
    fixed = world.lease("shared", fixed=True)
    early = world.deliver(fixed.address)
    clock.sleep(1)
    signal = queue.expect("verification", mailbox=fixed)
    result = queue.check(signal)
    assert (result.near_misses[0].message, result.near_misses[0].criterion) == (
        early, "before the window",
    )  # fmt: skip
    assert result.near_misses[0].why == "it came 1 s before the window opened"
    assert queue.check(queue.expect("other", mailbox=fixed, since=early)).status == "waiting"


def test_mail_after_the_end_is_a_near_miss(world, queue, clock):
    signal = queue.expect("verification", within=60)
    clock.sleep(70)
    world.deliver(ADA)
    result = queue.check(signal)
    assert result.status is SignalStatus.EXPIRED
    assert result.near_misses[0].why == "it came 10 s after the signal expired"
    assert "allow more time with `within`" in result.advice


def test_mail_of_another_address_is_not_taken_from_a_careless_provider(asking, world):
    """A4: a provider's answer never decides."""
    world.lease("bob")
    queue = asking([world.deliver("bob@agentmail.example")])
    result = queue.check(queue.expect("verification"))
    assert result.near_misses[0][1:] == (
        "other recipient", "it was sent to bob@agentmail.example",
    )  # fmt: skip


def test_an_unknown_signal_is_named(queue):
    signal = queue.expect("verification")
    with pytest.raises(SettingsError) as caught:
        queue.get("sig-none")
    assert str(caught.value) == f"run run-one has no signal 'sig-none'; it has: {signal.signal_id}"


@pytest.mark.parametrize(
    ("envelope_to", "counts"), [((), True), (("no address",), False), (("no address", ADA), True)]
)
def test_a_provider_may_not_know_the_envelope(asking, world, envelope_to, counts):
    message = world.deliver(ADA)
    message.envelope_to = envelope_to
    queue = asking([message])
    assert queue.check(queue.expect("verification")).final is counts


@pytest.mark.parametrize(
    ("subject", "expected"),
    [(None, ""), ("Confirm", "Confirm"), (re.compile("C.*"), "C.*"), (str.istitle, "str.istitle")],
)
def test_what_is_expected_of_the_subject_can_be_read(queue, subject, expected):
    """B2."""
    assert queue.expect("verification", subject=subject).expected_subject == expected


@pytest.mark.parametrize(
    "spelling", [ADA.upper(), "ada+x@agentmail.example", "Ada@AgentMail.example"]
)
def test_a_mailbox_is_one_however_it_is_spelled(world, queue, spelling):
    """I1, B19."""
    world.deliver(ADA)
    first = queue.check(queue.expect("verification"))
    again = queue.check(queue.expect("verification", mailbox=spelling))
    assert again.signal.signal_id == first.signal.signal_id
    assert queue.check(queue.expect("reset", mailbox=spelling)).status is SignalStatus.WAITING


def test_an_address_of_ours_given_as_text_opens_its_window_with_the_lease(world, clock, queue):
    world.deliver(ADA)
    clock.sleep(5)
    assert queue.check(queue.expect("verification", mailbox=ADA)).status is SignalStatus.FOUND


def test_newer_than_an_ended_signal_opens_where_it_ended(world, clock, queue):
    stale = queue.expect("verification", checks=1)
    assert queue.check(stale).cause == "checks"
    clock.sleep(5)
    resent = queue.expect("verification", newer_than=stale)
    message = world.deliver(ADA)
    assert queue.check(resent).message is message


def test_a_resend_counts_from_when_it_was_requested(world, clock, store, queue, mailbox):
    """What was on its way before the request is not the answer to it."""
    requests = []
    asking = SignalQueue(
        queue.provider, store, clock, run_id="run-one", mailbox=mailbox,
        requested_at=lambda: requests[-1] if requests else None,
    )  # fmt: skip
    world.deliver(ADA)
    found = asking.check(asking.expect("verification"))
    clock.sleep(1)
    world.deliver(ADA, body="Code: 111222")
    clock.sleep(1)
    requests.append(clock.now())
    resent = asking.expect("verification", newer_than=found.evidence)
    missed = {miss.why for miss in asking.check(resent).near_misses}
    assert "it came 1 s before the window opened" in missed
    newest = world.deliver(ADA, body="Code: 975310")
    assert asking.check(resent).message is newest


def test_an_open_signal_is_named_briefly(queue):
    signal = queue.expect("verification")
    with pytest.raises(SettingsError) as caught:
        queue.expect("other", newer_than=signal)
    assert str(caught.value) == (
        f"newer_than=the open signal {signal.signal_id}: "
        f"expected evidence, a message, or a signal that has ended"
    )


def test_another_life_says_the_same_of_the_end(world, asking, clock):
    """B6: advice and near misses are kept with the signal."""
    message = world.deliver(ADA, subject="Welcome")
    queue = asking([message])
    first = queue.check(queue.expect("verification", subject="Confirm", checks=1))
    life = asking([message])
    second = life.check(life.expect("verification", subject="Confirm", checks=1))
    assert life.provider.asked == []
    assert (second.advice, second.near_misses) == (first.advice, first.near_misses)
    assert "Welcome" in second.advice


def test_the_likest_subject_is_the_nearest_miss(world, queue):
    world.deliver(ADA, subject="Confirm your acount")
    world.deliver(ADA, subject="Weekly news")
    result = queue.check(queue.expect("verification", subject="Confirm your account"))
    assert result.near_misses[0].message.subject == "Confirm your acount"


def test_advice_tells_of_all_that_was_seen_around(store, clock, queue, mailbox, world):
    world.deliver("adda@agentmail.example", subject="Confirm 483920")
    around = Surroundings(world.post_office.strays, ["Django keeps its mail"], ["it was refused"])
    seeing = SignalQueue(
        queue.provider, store, clock, run_id="run-one", mailbox=mailbox, look_around=lambda: around
    )
    result = seeing.check(seeing.expect("verification", checks=1))
    assert result.advice == (
        "Expired: the only check is used up. Something was done to this run's mail: it was "
        "refused. See whether the app sends again after that, then request a new verification. "
        "1 mail came for addresses that nobody has, the latest, 'Confirm ••••••', for "
        "adda@agentmail.example: see which address the app was given. Django keeps its mail."
    )


def test_other_functions_are_other_criteria(queue):
    def make(word):
        return lambda subject: word in subject

    queue.expect("verification", subject=make("Confirm"))
    queue.expect("verification", subject=make("Confirm"))
    with pytest.raises(ContractConflict):
        queue.expect("verification", subject=str.istitle)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda q: q.expect("v", subject=5), "subject=5: expected a text, a compiled pattern"),
        (lambda q: q.expect("v", within=1e300), "within=1e+300: expected seconds, more than 0"),
        (lambda q: q.expect("v", within=True), "within=True: expected seconds, more than 0"),
        (
            lambda q: q.check(q.expect("v"), "because"),
            "reason='because': expected one of first_check, scheduled, after_wakeup",
        ),
    ],
)
def test_bad_input_is_named_before_anything_is_paid(queue, call, text):
    with pytest.raises(SettingsError, match=re.escape(text)):
        call(queue)
    assert sum(signal.checks for signal in queue.all()) == 0


@pytest.mark.parametrize("rest", [float("inf"), 1e300, -5])
def test_any_rest_that_is_asked_for_can_be_kept(asking, rest):
    queue = asking(ProviderError("429", retry_after=rest))
    assert queue.wait(queue.expect("verification")).status is SignalStatus.PROVIDER_ERROR


def test_contracts_are_equal_where_they_say_the_same():
    assert Contract("Confirm") == Contract("Confirm")
    assert len({Contract("Confirm"), Contract("Confirm"), Contract(re.compile("Confirm"))}) == 2
    assert Contract("Confirm") != "Confirm"


def test_a_resend_may_be_newer_than_a_message_or_an_ended_signal(
    world, clock, store, queue, mailbox
):
    asking = SignalQueue(
        queue.provider, store, clock, run_id="run-one", mailbox=mailbox, requested_at=clock.now
    )
    message = world.deliver(ADA)
    ended = asking.check(asking.expect("verification", checks=1, subject="Nothing")).signal
    clock.sleep(1)
    for older in (message, ended):
        assert asking.expect("verification", newer_than=older).opens_at == clock.now()
