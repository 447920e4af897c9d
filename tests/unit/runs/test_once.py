"""Durable functions: performed once, over all lives (A14, C9, C10; I7)."""

from __future__ import annotations

import asyncio
import inspect
import re

import pytest

from pytest_agentmail.errors import EffectConflict, EffectUnknown, SettingsError, StaleVersion
from pytest_agentmail.runs.reconciling import Happened, described

CONFIRM = {"subject": "Confirm"}


class Died(BaseException):
    """The life ends here."""


class Mailer:
    """Sends mail into the run's log, and may die around it."""

    def __init__(self, run, die=None, error=None):
        self.run, self.die, self.error, self.calls = run, die, error, 0

    def __call__(self, to: str, *, name: str = "Ada") -> dict:
        """Ask for a code."""
        self.calls += 1
        if self.die == "before":
            raise Died
        if self.error and self.die != "after":
            raise self.error
        self.run.log.accept()
        if self.die == "after":
            raise self.error or Died
        return {"sent": to, "call": self.calls}


def send_once(ledger, mailer, **how):
    return ledger.once(mailer, name="send", **{"sends_mail": CONFIRM, **how})


def test_after_success_the_result_is_handed_back_exactly(run):
    mailer = Mailer(run)
    first = send_once(run.upto("leased"), mailer)("ada@mail.test")
    again = send_once(run.live(), mailer)("ada@mail.test", name="Ada")
    assert first == again == {"sent": "ada@mail.test", "call": 1}
    assert mailer.calls == 1


def test_a_refused_code_and_a_further_mailbox_allow_one_more(run):
    """I7: the key moves on with what happened, never with a restart."""
    mailer, ledger = Mailer(run), run.upto("received")
    send = send_once(ledger, mailer)
    send("ada@mail.test")
    ledger.append("code_rejected")
    send("ada@mail.test"), send("ada@mail.test")
    assert mailer.calls == 2
    ledger.append("lease_expired")
    run.lease(ledger, "eve@mail.test")
    send("eve@mail.test"), send("eve@mail.test")
    assert mailer.calls == 3
    assert [effect.step for effect in ledger.effects()] == ["0", "1", "2"]


def test_other_arguments_are_another_effect(run):
    ledger = run.upto("leased")
    send = send_once(ledger, Mailer(run))
    send("ada@mail.test")
    with pytest.raises(EffectConflict) as conflict:
        send("eve@mail.test")
    assert re.fullmatch(
        r"effect 'run-1/send/0' was begun with other arguments: their fingerprint was [0-9a-f]{12}, "
        r"now it is [0-9a-f]{12}; another effect needs another name or step",
        str(conflict.value),
    )
    send_once(ledger, Mailer(run), step="other")("eve@mail.test")


def test_the_function_keeps_its_face(run):
    def request(to: str, *, name: str = "Ada") -> dict:
        """Ask for a code."""

    durable = run.live().once(request)
    assert (durable.__name__, durable.__doc__) == ("request", "Ask for a code.")
    assert inspect.signature(durable) == inspect.signature(request)
    assert durable.__annotations__ == request.__annotations__


class TestAfterADeath:
    @pytest.mark.parametrize("die", ["before", "after"])
    def test_without_a_probe_it_is_not_done_again(self, run, die):
        mailer = Mailer(run, die)
        with pytest.raises(Died):
            send_once(run.upto("leased"), mailer, sends_mail=None)("ada@mail.test")
        ledger = run.live()
        assert ledger.snapshot.next_action == "reconcile"
        mailer.die = None
        for _ in range(2):
            with pytest.raises(EffectUnknown) as unknown:
                send_once(ledger, mailer, sends_mail=None)("ada@mail.test")
        assert str(unknown.value) == (
            "nobody can tell whether 'run-1/send/0' happened: there is no probe to ask; give `reconcile=`. "
            "It is not performed again; wait for what it would have caused until 2026-10-21 16:00:00Z"
        )
        assert mailer.calls == 1
        assert ledger.snapshot.next_action == "poll_inbox"

    def test_past_the_lease_the_run_expires(self, run):
        """Unknown waits to the horizon; then the end is an honest one."""
        mailer = Mailer(run, "before")
        with pytest.raises(Died):
            send_once(run.upto("leased"), mailer)("ada@mail.test")
        run.clock.advance(3601)
        ledger = run.live()
        for _ in range(2):
            with pytest.raises(
                EffectUnknown, match="the lease ended at 2026-10-21 16:00:00Z, and the run with it"
            ):
                send_once(ledger, mailer)("ada@mail.test")
        assert ledger.snapshot.verification == "expired"
        assert ledger.events()[-1].data == {"cause": "unknown_effect"}
        assert ledger.allowed_actions() == ("finish",)

    def test_without_a_lease_there_is_no_horizon(self, run):
        with pytest.raises(Died):
            send_once(run.live(), Mailer(run, "before"))("ada@mail.test")
        with pytest.raises(
            EffectUnknown, match=r"not performed again; wait for what it would have caused$"
        ):
            send_once(run.live(), Mailer(run))("ada@mail.test")

    def test_the_mail_that_came_lets_the_run_go_on(self, run, answer):
        """A14: received without another send, though nobody knew of the request."""
        with pytest.raises(Died):
            send_once(run.upto("leased"), Mailer(run, "after"))("ada@mail.test")
        snapshot = run.live().record(answer("found", message_id="m-1"))
        assert (snapshot.verification, snapshot.next_action) == ("received", "validate_evidence")

    @pytest.mark.parametrize(
        ("answered", "calls", "outcome"),
        [
            (Happened.yes({"id": 7}), 1, {"id": 7}),
            (Happened.no, 2, {"sent": "ada@mail.test", "call": 2}),
        ],
    )
    def test_a_probe_that_can_tell_is_believed(self, run, answered, calls, outcome):
        mailer = Mailer(run, "before")
        with pytest.raises(Died):
            send_once(run.upto("leased"), mailer)("ada@mail.test")
        mailer.die, asked = None, []

        def probe(key):
            asked.append(str(key))
            return answered

        ledger = run.live()
        send = send_once(ledger, mailer, reconcile=probe)
        assert send("ada@mail.test") == send("ada@mail.test") == outcome
        assert mailer.calls == calls
        assert asked == ["run-1/send/0"]
        assert ledger.effects()[0].tries == calls

    def test_a_probe_that_does_not_answer_is_named(self, run):
        with pytest.raises(Died):
            send_once(run.upto("leased"), Mailer(run, "before"))("ada@mail.test")
        with pytest.raises(SettingsError) as error:
            send_once(run.live(), Mailer(run), reconcile=lambda key: True)("ada@mail.test")
        assert str(error.value) == (
            "a probe answered True; allowed: Happened.yes(result), Happened.no, Happened.unknown"
        )


class TestTheMailProbe:
    """The default probe, rule by rule."""

    def resumed(self, run, die="before", **how):
        mailer = Mailer(run, die)
        with pytest.raises(Died):
            send_once(run.upto("leased"), mailer, **how)("ada@mail.test")
        mailer.die = None
        return mailer, send_once(run.live(mail_log=run.log), mailer, **how)

    def test_a_hit_is_yes(self, run):
        mailer, send = self.resumed(run, "after")
        assert send("ada@mail.test") is None
        assert mailer.calls == 1

    def test_a_copy_is_one_hit(self, run):
        _, send = self.resumed(run, "after")
        run.log.accept(content="c0")
        assert send("ada@mail.test") is None
        assert len(run.log.mails) == 2

    @pytest.mark.parametrize(
        ("arrange", "why"),
        [
            (lambda log: None, "no such mail was accepted yet"),
            (lambda log: log.accept("Welcome"), "no such mail was accepted yet"),
            (
                lambda log: setattr(log, "connections", 1),
                "a connection that may bring the mail is open",
            ),
            (lambda log: log.refuse(451), "the mail was put off with 451 and may come again"),
        ],
        ids=["nothing", "other mail", "connection", "4xx"],
    )
    def test_otherwise_it_is_unknown(self, run, arrange, why):
        _, send = self.resumed(run)
        arrange(run.log)
        with pytest.raises(EffectUnknown, match=why):
            send("ada@mail.test")

    def test_absent_means_no_if_it_is_said_and_nothing_speaks_against_it(self, run):
        _, send = self.resumed(run, absent_means_no=True)
        for arrange in (lambda: setattr(run.log, "connections", 1), lambda: run.log.refuse(421)):
            arrange()
            with pytest.raises(EffectUnknown):
                send("ada@mail.test")
            run.log.connections, run.log.refused = 0, []
        run.log.refuse(550)
        run.log.refuse(451, at=run.clock.now().replace(hour=1))
        assert send("ada@mail.test") == {"sent": "ada@mail.test", "call": 2}

    def test_the_mail_of_an_earlier_step_is_not_this_ones(self, run):
        ledger = run.upto("received")
        send_once(ledger, Mailer(run))("ada@mail.test")
        ledger.append("code_rejected")
        with pytest.raises(Died):
            send_once(ledger, Mailer(run, "before"))("ada@mail.test")
        again = run.live(mail_log=run.log)
        with pytest.raises(EffectUnknown, match="no such mail was accepted yet"):
            send_once(again, Mailer(run))("ada@mail.test")
        run.log.accept()
        assert send_once(again, Mailer(run))("ada@mail.test") is None

    def test_other_mail_accounts_for_nothing(self, run):
        ledger = run.upto("leased")
        ledger.once(
            lambda: run.log.accept("Welcome"), name="welcome", sends_mail={"subject": "Welcome"}
        )()
        with pytest.raises(Died):
            send_once(ledger, Mailer(run, "after"))("ada@mail.test")
        assert (
            send_once(run.live(mail_log=run.log), Mailer(run), absent_means_no=True)(
                "ada@mail.test"
            )
            is None
        )

    def test_criteria_have_words(self):
        def about_codes(subject):
            return "code" in subject

        assert (
            described({"subject": re.compile("Con.*"), "sender": "shop"})
            == "sender=shop, subject=/Con.*/"
        )
        assert described({"subject": about_codes}).endswith("about_codes")
        assert described({}) == "any"


class TestRewind:
    """A ledger that was set back is noticed before anything is sent."""

    def rewound(self, run, sends=1):
        ledger = run.upto("leased", run.live(mail_log=run.log))
        send_once(ledger, Mailer(run))("ada@mail.test")
        run.store._kept["run-1"].effects.clear()
        return run.live(mail_log=run.log, sends_mail=CONFIRM)

    def test_opening_reports_it(self, run):
        ledger = self.rewound(run)
        assert ledger.rewind.rewound
        assert str(ledger.rewind) == (
            "the ledger of run 'run-1' was set back: the mail server accepted 1 of its mails, "
            "the ledger knows of 0; effects it does not know are reconciled before anything is sent"
        )

    def test_the_effect_is_reconciled_not_performed(self, run):
        ledger, mailer = self.rewound(run), Mailer(run)
        assert send_once(ledger, mailer)("ada@mail.test") is None
        assert (mailer.calls, len(run.log.mails)) == (0, 1)
        assert ledger.effects()[0].state == "success"

    def test_a_probe_that_says_no_is_believed(self, run):
        ledger, mailer = self.rewound(run), Mailer(run)
        send_once(ledger, mailer, reconcile=lambda _: Happened.no)("ada@mail.test")
        assert mailer.calls == 1

    def test_nothing_is_reported_where_nothing_is_wrong(self, run):
        ledger = run.upto("leased", run.live(mail_log=run.log, sends_mail=CONFIRM))
        assert not ledger.rewind.rewound
        send_once(ledger, Mailer(run))("ada@mail.test")
        again = run.live(mail_log=run.log, sends_mail=CONFIRM)
        assert str(again.rewind) == (
            "run 'run-1': 1 mails were accepted, and the ledger knows of 1 that were meant to be sent"
        )


class TestAFunctionThatRaises:
    """An exception is no proof that nothing happened."""

    def test_it_is_not_done_again_where_nobody_can_tell(self, run):
        mailer, ledger = Mailer(run, "after", ConnectionError("reset")), run.upto("leased")
        with pytest.raises(ConnectionError, match="reset"):
            send_once(ledger, mailer, sends_mail=None)("ada@mail.test")
        with pytest.raises(EffectUnknown):
            send_once(ledger, mailer, sends_mail=None)("ada@mail.test")
        assert mailer.calls == 1

    def test_the_mail_server_knows_that_it_happened(self, run):
        mailer = Mailer(run, "after", TimeoutError())
        ledger = run.upto("leased", run.live(mail_log=run.log))
        with pytest.raises(TimeoutError):
            send_once(ledger, mailer)("ada@mail.test")
        assert send_once(ledger, mailer)("ada@mail.test") is None
        assert mailer.calls == 1

    def test_a_probe_that_says_no_allows_a_retry(self, run):
        mailer, ledger = Mailer(run, error=ValueError("503 from 483920")), run.upto("leased")
        with pytest.raises(ValueError, match="503"):
            send_once(ledger, mailer, reconcile=lambda _: Happened.no)("ada@mail.test")
        assert ledger.effects()[0].error == "ValueError: 503 from ••••••"
        mailer.error = None
        assert send_once(ledger, mailer)("ada@mail.test")["call"] == 2

    def test_an_error_that_proves_it_changed_nothing_allows_a_retry(self, run):
        mailer, ledger = Mailer(run, error=ValueError("no such plan")), run.upto("leased")
        with pytest.raises(ValueError, match="plan"):
            send_once(ledger, mailer, not_done=(ValueError,))("ada@mail.test")
        assert ledger.effects()[0].state == "failed"
        mailer.error = None
        assert send_once(ledger, mailer)("ada@mail.test")["call"] == 2


class TestResults:
    @pytest.mark.parametrize("result", [(1, 2), {1: "a"}, object(), float("nan"), b"x"])
    def test_what_json_would_change_needs_encoding(self, run, result):
        ledger = run.upto("leased")
        with pytest.raises(SettingsError) as error:
            ledger.once(lambda: result, name="pay")()
        assert str(error.value) == (
            f"effect 'run-1/pay/0' happened, but its result, a {type(result).__name__}, is not JSON "
            "and could not be handed back exactly; give `encode=` and `decode=`"
        )
        assert ledger.effects()[0].state == "pending"

    def test_encoded_results_come_back_decoded(self, run):
        ledger = run.upto("leased")
        pair = ledger.once(lambda: (1, 2), name="pay", encode=list, decode=tuple)
        assert pair() == pair() == (1, 2)

    def test_no_report_reads_them(self, run):
        """I9."""
        ledger = run.upto("leased")
        ledger.once(lambda: "the-secret", name="pay")()
        shown = (ledger.snapshot, ledger.events(), str(ledger.explain()), ledger.metrics())
        assert "the-secret" not in repr(shown)

    def test_arguments_that_are_no_json_need_words(self, run):
        ledger, session = run.upto("leased"), object()
        with pytest.raises(
            SettingsError, match=r"must be JSON, so that they can be told apart.*`arguments=`"
        ):
            ledger.once(lambda session, to: to, name="send")(session, "ada@mail.test")
        send = ledger.once(lambda session, to: to, name="send", arguments=lambda session, to: to)
        assert send(session, "ada@mail.test") == send(object(), "ada@mail.test") == "ada@mail.test"


class TestAsync:
    def test_it_is_performed_once(self, run):
        calls = []

        async def request(to):
            calls.append(to)
            return len(calls)

        async def both():
            send = run.upto("leased").once(request)
            assert inspect.iscoroutinefunction(send)
            return await send("a"), await send("a")

        assert asyncio.run(both()) == (1, 1)

    @pytest.mark.parametrize("asynchronous", [True, False])
    def test_a_cancelled_call_is_asked_for(self, run, asynchronous):
        async def request(to):
            raise asyncio.CancelledError

        async def probe(key):
            return Happened.yes("known")

        async def resume():
            with pytest.raises(asyncio.CancelledError):
                await run.upto("leased").once(request)("a")
            plain = lambda key: Happened.yes("known")  # noqa: E731 - as short as the other
            return await run.live().once(request, reconcile=probe if asynchronous else plain)("a")

        assert asyncio.run(resume()) == "known"

    def test_errors_are_treated_as_in_plain_functions(self, run):
        async def request(to):
            raise ValueError(to)

        async def both():
            ledger = run.upto("leased")
            with pytest.raises(ValueError, match="a"):
                await ledger.once(request, not_done=(ValueError,))("a")
            with pytest.raises(ValueError, match="a"):
                await ledger.once(request)("a")
            with pytest.raises(EffectUnknown):
                await ledger.once(request)("a")

        asyncio.run(both())

    def test_a_plain_function_needs_a_plain_probe(self, run):
        async def probe(key):
            raise AssertionError

        with pytest.raises(SettingsError) as error:
            run.live().once(lambda: None, name="send", reconcile=probe)
        assert str(error.value) == (
            "the probe of 'send' is asynchronous, the function is not; `reconcile=` needs a plain function here"
        )


def test_a_lambda_needs_a_name(run):
    with pytest.raises(SettingsError) as error:
        run.live().once(lambda: None)
    assert str(error.value) == (
        "'<lambda>' cannot name an effect; give `name=` 1 to 64 of A-Z a-z 0-9 _ . -"
    )


def test_the_edges_at_which_a_life_may_die_are_told(run):
    ledger = run.upto("leased")
    reached = []
    ledger.on_phase = lambda phase, key: reached.append(phase)
    send = send_once(ledger, Mailer(run))
    send("a")
    assert reached == ["before", "pending", "sent", "after"]
    send("a")
    assert reached[4:] == ["before", "after"]


class TestEffectByHand:
    def test_its_states(self, run):
        ledger = run.upto("leased")
        effect = ledger.effect("pay", args={"sum": 5})
        assert (effect.state, effect.result, effect.record) == (None, None, None)
        effect.begin()
        assert ledger.snapshot.pending_effects[0].name == "pay"
        effect.fail("no\nmoney")
        assert (effect.state, effect.record.error) == ("failed", "no money")
        effect.begin()
        effect.succeed([1])
        assert (effect.state, effect.result, effect.record.tries) == ("success", [1], 2)
        assert ledger.effect("pay", args={"sum": 5}).result == [1]

    def test_it_is_begun_once(self, run):
        ledger = run.upto("leased")
        first, second = ledger.effect("pay"), ledger.effect("pay")
        first.begin()
        with pytest.raises(StaleVersion):
            second.begin()
        with pytest.raises(StaleVersion):
            first.begin()

    def test_only_a_pending_one_is_settled(self, run):
        effect = run.upto("leased").effect("pay")
        with pytest.raises(SettingsError) as error:
            effect.succeed()
        assert (
            str(error.value)
            == "effect 'run-1/pay/0' is not begun; only a pending one can be settled"
        )
        effect.begin()
        effect.succeed()
        with pytest.raises(SettingsError, match="is success; only a pending one"):
            effect.fail("late")
