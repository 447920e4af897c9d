"""The checklists, judged from records that are made by hand (A16, B18)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pytest_agentmail.runs.checklist import Answer, answered
from pytest_agentmail.runs.events import EventType
from pytest_agentmail.runs.record import MailSeen, RunRecord
from pytest_agentmail.signals.signal import Evidence, Outcome, Query, Signal, SignalStatus

from .conftest import START

ADA = "ada@mail.test"
KEYS = [f"A16.{number}" for number in range(1, 7)] + [f"B18.{number}" for number in range(1, 8)]


def mail(name="m1", *, foreign=None, content="c1", secrets=None):
    secrets = secrets or {"483920": "a code"}
    return MailSeen(name, f"{name}.run-1", foreign, content, secrets)


def signal(*outcomes, status="waiting", found=None, recipient=ADA, **fields):
    history = tuple(
        Query(
            at=START,
            reason="scheduled",
            outcome=outcome,
            code="503" if outcome == "error" else None,
        )
        for outcome in outcomes
    )
    evidence = found and Evidence(
        message_id=f"{found}.run-1", header_message_id=None, sha256="0" * 64, fingerprint="c1",
        seq=1, recipient=ADA, received_at=START, visible_at=START, matched="subject",
    )  # fmt: skip
    given = {
        "signal_id": "sig-a", "run_id": "run-1", "kind": "verification", "recipient": recipient,
        "expected_subject": "Confirm", "criteria": "subject contains 'Confirm'", "created_at": START,
        "expires_at": START + timedelta(seconds=120), "max_checks": 10,
    }  # fmt: skip
    return Signal(
        **{**given, "status": status, "history": history, "evidence": evidence or None, **fields}
    )


@pytest.fixture
def judged(run):
    """The items by their keys, for a run of a straight course unless told otherwise."""

    def judged(*, ledger=None, **fields):
        ledger = ledger or run.upto("verified")
        record = RunRecord(
            run_id="run-1",
            snapshot=ledger.snapshot,
            replayed=ledger.replay(),
            events=ledger.events(),
            signals=[signal("found", status="found", found="m-1".replace("-", ""))],
            mails=[mail()],
            stale_refusals=0,
            resumes=0,
        )
        checklist = answered(record._replace(**fields))
        return {item.key: (str(item.answer), item.evidence) for item in checklist.items}

    return judged


def test_every_item_of_both_lists_is_there_once():
    empty = RunRecord("run-1", None, None, (), (), (), 0, 0)
    checklist = answered(empty)
    assert [item.key for item in checklist.items] == KEYS
    assert {item.answer for item in checklist.items} == {Answer.NOT_SHOWN}
    assert not checklist.passed
    assert str(checklist) == (
        "checklist of run-1: 0 yes, 0 no, 13 not shown\n"
        "not shown  A16.1  the run has an id, and a lease that ends: no ledger was kept; use run.ledger\n"
        "not shown  A16.2  the snapshot names one next action: no ledger was kept; use run.ledger\n"
        "not shown  A16.3  transitions are versioned and idempotent: no ledger was kept; use run.ledger\n"
        "not shown  A16.4  whose mail it is was looked at before it was accepted: no message was accepted\n"
        "not shown  A16.5  after a restart it goes on without asking again: the run had one life; let it be killed and go on\n"
        "not shown  A16.6  nothing of a mail's content is kept: no mail came\n"
        "not shown  B18.1  each signal has an id, a run, an expiry and a condition: no signal was expected; use run.signals\n"
        "not shown  B18.2  queries are idempotent, and filtered by run: nothing was asked\n"
        "not shown  B18.3  waiting, provider_error and expired are told apart: no signal was expected; use run.signals\n"
        "not shown  B18.4  time and calls have a budget: no signal was expected; use run.signals\n"
        "not shown  B18.5  what is logged is the least evidence: no mail came\n"
        "not shown  B18.6  a restart goes on with the same signal: no signal was expected; use run.signals\n"
        "not shown  B18.7  late mail, doubled mail and a failing provider are met: no signal was expected; use run.signals"
    )


def test_a_run_without_a_lease(run, judged):
    ledger = run.live()
    ledger.append("decision_confirmed", prompt_version="7")
    assert judged(ledger=ledger)["A16.1"] == ("no", "no mailbox was leased")


def test_versions_with_a_gap_a_replay_that_differs_and_a_message_confirmed_twice(run, judged):
    ledger = run.upto("verified")
    received = next(e for e in ledger.events() if e.type is EventType.MESSAGE_RECEIVED)
    events = (*ledger.events(), received.model_copy(update={"version": 7}))
    older = ledger.replay(upto=2)
    assert judged(ledger=ledger, events=events, replayed=older)["A16.3"] == (
        "no",
        "the versions are 1, 2, 3, 4, 5, 7; replaying the events does not give the snapshot; "
        "message m-1 was confirmed 2 times",
    )


def test_evidence_of_another_run_and_evidence_from_nowhere(run, judged):
    answers = judged(mails=[mail(foreign="its address carries the token of run run-2")])
    assert answers["A16.4"] == (
        "no",
        "message m1: its address carries the token of run run-2; "
        "message m-1 came to no mailbox of this run",
    )


def test_a_resume_that_asked_again(run, judged):
    ledger = run.upto("waiting")
    ledger.append("resend_requested")
    told = (
        "1 resume: 2 requests recorded and 1 mail sent, where 1 were due "
        "(1 mailbox, 0 refused codes)"
    )
    assert judged(ledger=ledger, resumes=1)["A16.5"] == ("no", told)


def test_a_resume_that_sent_twice_and_recorded_one(run, judged):
    twice = signal("found", status="found", found="m1", also_matched=("m2.run-1",))
    answers = judged(resumes=2, signals=[twice], mails=[mail(), mail("m2", content="c2")])
    assert answers["A16.5"] == (
        "no",
        "2 resumes: 1 request recorded and 2 mails sent, where 1 were due (1 mailbox, 0 refused codes)",
    )


def test_copies_of_one_mail_are_one_send(run, judged):
    twice = signal("found", status="found", found="m1", also_matched=("m2.run-1",))
    assert judged(resumes=2, signals=[twice], mails=[mail(), mail("m2")])["A16.5"][0] == "yes"


def test_a_refused_code_and_a_further_mailbox_make_a_request_due(run, judged):
    ledger = run.upto("received")
    ledger.append("code_rejected")
    ledger.append("resend_requested")
    assert judged(ledger=ledger, resumes=1)["A16.5"][0] == "yes"


def test_a_resume_before_anything_was_asked(run, judged):
    answers = judged(ledger=run.upto("leased"), resumes=1, signals=[signal()])
    assert answers["A16.5"] == ("not shown", "no mail was asked for")


def test_a_code_that_was_kept_is_found_and_not_repeated(run, judged):
    ledger = run.live()
    run.lease(ledger)
    ledger.append("decision_confirmed", decisions={"code": "483920"})
    leaking = signal("found", status="found", found="m1", criteria="the code is 483920")
    answers = judged(ledger=ledger, signals=[leaking])
    assert answers["A16.6"] == (
        "no",
        "event 2 holds a code of m1; signal verification holds a code of m1; "
        "the snapshot holds a code of m1",
    )
    assert answers["B18.5"] == ("no", "signal verification holds a code of m1")


def test_a_code_that_is_part_of_a_hash_or_of_a_time_is_not_found(run, judged):
    part = mail(secrets={"2026": "a code", "000": "a code"})
    assert judged(mails=[part])["A16.6"] == (
        "yes",
        "no code, link or line of 1 mail is in events, snapshot and signals",
    )


def test_a_signal_that_takes_any_mail(judged):
    assert judged(signals=[signal(expected_subject="")])["B18.1"] == (
        "no",
        "verification takes any mail; expect a subject",
    )


def test_queries_after_the_answer_mail_of_others_and_one_mail_for_two(judged):
    found = signal("found", "checked", status="found", found="m1")
    elsewhere = signal("found", status="found", found="m1", recipient="eve@mail.test", kind="reset")
    assert judged(signals=[found, elsewhere])["B18.2"] == (
        "no",
        "verification was asked for again after it was found; reset took mail of another mailbox; "
        "one mail serves two signals",
    )


@pytest.mark.parametrize(
    ("mixed_up", "told"),
    [
        (
            signal("checked", status="found"),
            "verification is found and its evidence says otherwise",
        ),
        (signal("error", status="expired"), "verification is expired though its last query failed"),
        (
            signal("checked", status="provider_error"),
            "verification is provider_error though no query failed",
        ),
    ],
)
def test_answers_that_are_mixed_up(judged, mixed_up, told):
    assert judged(signals=[mixed_up])["B18.3"] == ("no", told)


def test_ends_that_are_told_apart(judged):
    ended = [
        signal("error", "checked", status="expired"),
        signal("checked", "error", status="provider_error", kind="reset"),
        signal(status="expired", kind="welcome"),
    ]
    assert judged(signals=ended)["B18.3"] == (
        "yes",
        "verification is expired; reset is provider_error; welcome is expired",
    )


def test_more_queries_than_were_allowed(judged):
    assert judged(signals=[signal("checked", "checked", max_checks=1)])["B18.4"] == (
        "no",
        "verification was asked for 2 times, 1 were allowed",
    )


def test_a_second_signal_for_the_same_mail_after_a_restart(judged):
    answers = judged(signals=[signal(), signal(signal_id="sig-b")], resumes=1)
    assert answers["B18.6"] == (
        "no",
        "verification was expected as 2 signals in one mailbox, where 1 were due",
    )


def test_all_the_hard_cases(judged):
    met = signal("checked", "error", "found", status="found", found="m1")
    answers = judged(signals=[met], mails=[mail(), mail("m2")])
    assert answers["B18.7"] == (
        "yes",
        "this run met late mail, doubled mail, a provider that fails",
    )
    assert Outcome.ERROR in {query.outcome for query in met.history}
    assert met.status is SignalStatus.FOUND
