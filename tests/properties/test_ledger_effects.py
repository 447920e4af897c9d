"""No kill schedule of any depth makes a durable function send twice (C9; I7)."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentmail.errors import EffectUnknown, SettingsError
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.runs.masking import masked
from pytest_agentmail.runs.reconciling import Happened
from pytest_agentmail.stores.memory import MemoryStore

START = datetime(2026, 10, 21, 15, tzinfo=UTC)
PHASES = ("before", "pending", "sent", "after")


class Killed(BaseException):
    """This life is over."""


class Server:
    """Accepts mail, sometimes only after the sender is gone."""

    def __init__(self):
        self.mails, self.on_the_way = [], []

    def take(self, late):
        mail = SimpleNamespace(
            content=f"c{len(self.mails) + len(self.on_the_way)}", accepted_at=START
        )
        (self.on_the_way if late else self.mails).append(mail)

    def arrive(self):
        self.mails.extend(self.on_the_way)
        self.on_the_way.clear()

    def accepted(self, run_id, criteria):
        return list(self.mails)

    def open_connections(self, run_id):
        return len(self.on_the_way)

    def refusals(self, run_id):
        return []


deaths = st.lists(
    st.tuples(
        st.sampled_from(["append", *PHASES, "raise before", "raise after", "none"]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=6,
)


def live_once(store, server, clock, death, *, late, absent_means_no):
    """One life of a straight agent, up to its death."""

    def request():
        if death == "raise before":
            raise ConnectionError
        server.take(late)
        if death == "raise after":
            raise ConnectionError
        return "accepted"

    def die(phase, _key):
        if phase == death:
            raise Killed

    ledger = Ledger.open(store, run_id="run-1", clock=clock, mail_log=server, sends_mail={})
    ledger.on_phase = die
    if ledger.snapshot.verification == "none":
        until = clock.now() + timedelta(hours=1)
        ledger.append("mailbox_leased", recipient="a@mail.test", lease_expires_at=until)
    if death == "append":
        raise Killed
    send = ledger.once(request, sends_mail={}, absent_means_no=absent_means_no)
    return send()


@given(deaths, st.booleans())
def test_with_the_mail_probe_no_schedule_sends_twice(schedule, absent_means_no):
    """I7, C9: whatever dies where, and however late the mail is."""
    store, server = MemoryStore(), Server()
    clock = SimpleNamespace(now=lambda: START)
    for death, late, arrives in [*schedule, ("none", False, True)]:
        with suppress(Killed, ConnectionError, EffectUnknown):
            live_once(store, server, clock, death, late=late, absent_means_no=absent_means_no)
        if arrives:
            server.arrive()
        assert len(server.mails) + len(server.on_the_way) <= 1
    server.arrive()
    try:
        live_once(store, server, clock, "none", late=False, absent_means_no=absent_means_no)
    except EffectUnknown:
        assert not absent_means_no
    assert len(server.mails) <= 1


@given(st.lists(st.sampled_from(PHASES), max_size=5), st.integers(0, 3))
def test_with_an_honest_probe_it_is_performed_exactly_once(schedule, seed):
    """I7: and it is performed in the end."""
    store, performed = MemoryStore(), []
    clock = SimpleNamespace(now=lambda: START)

    def probe(key):
        return Happened.yes(performed[0]) if performed else Happened.no

    def pay():
        performed.append({"paid": seed})
        return performed[-1]

    for death in [*schedule, None]:

        def die(phase, _key, death=death):
            if phase == death:
                raise Killed

        ledger = Ledger.open(store, run_id="run-1", clock=clock)
        ledger.on_phase = die
        try:
            result = ledger.once(pay, reconcile=probe)()
        except Killed:
            continue
    assert performed == [{"paid": seed}]
    assert result == {"paid": seed}


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text()
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(), x, max_size=3),
    )
)
def test_any_json_result_is_handed_back_exactly(result):
    store = MemoryStore()
    clock = SimpleNamespace(now=lambda: START)
    calls = []

    def perform():
        calls.append(1)
        return result

    for _ in range(2):
        ledger = Ledger.open(store, run_id="run-1", clock=clock)
        assert ledger.once(perform)() == result
    assert calls == [1]


@given(st.text())
def test_any_text_is_one_reason_or_a_named_error(text):
    """I9: free text is short, on one line and masked, or refused by name."""
    ledger = Ledger.open(MemoryStore(), run_id="run-1", clock=SimpleNamespace(now=lambda: START))
    if text.isprintable() and len(text) <= 300:
        ledger.append("decision_confirmed", decisions={"a": 1}, why=text)
        assert ledger.events()[0].why == masked(text)
    else:
        with pytest.raises(SettingsError, match="why"):
            ledger.append("decision_confirmed", decisions={"a": 1}, why=text)
