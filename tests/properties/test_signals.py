"""What holds for signals whatever the world does: invariants 1 to 4."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentmail.errors import ProviderError
from pytest_agentmail.providers.sink import SinkProvider
from pytest_agentmail.signals.queue import SignalQueue
from pytest_agentmail.signals.signal import Outcome, SignalStatus
from pytest_agentmail.stores.memory import MemoryStore

ADA = "ada@agentmail.example"
BOB = "bob@agentmail.example"


class Flaky(SinkProvider):
    """Fails when told to."""

    down = False

    def search(self, **query):
        if self.down:
            raise ProviderError("503")
        return super().search(**query)


happenings = st.one_of(
    st.tuples(st.just("deliver"), st.sampled_from(["Confirm", "Welcome"]), st.integers(0, 3)),
    st.tuples(st.just("deliver_foreign"), st.sampled_from(["Confirm", "Welcome"])),
    st.tuples(st.just("copy_latest")),
    st.tuples(st.just("pass"), st.sampled_from([0.5, 5, 30, 60])),
    st.tuples(st.just("down"), st.booleans()),
    st.tuples(st.just("check"), st.sampled_from(["verification", "reset"])),
    st.tuples(st.just("wait"), st.sampled_from(["verification", "reset"])),
    st.tuples(st.just("restart")),
)


class Play:
    """Plays a history against one run, and notes every answer."""

    def __init__(self, world, checks):
        self.world, self.checks = world, checks
        world.lease("ada")
        world.lease("bob", run_id="run-two")
        self.store = MemoryStore()
        self.provider = Flaky(world.post_office, "run-one")
        self.answers, self.foreign, self.latest = [], set(), None
        self.restart()

    def restart(self):
        """A new life: everything in memory is gone, the store stays."""
        self.queue = SignalQueue(
            self.provider, self.store, self.world.clock,
            run_id="run-one", mailbox=ADA, checks=self.checks, within=90,
        )  # fmt: skip

    def deliver(self, subject, code):
        self.latest = self.world.deliver(ADA, subject=subject, body=f"Code: 48392{code}")

    def deliver_foreign(self, subject):
        self.latest = self.world.deliver(ADA, header_to=BOB, subject=subject)
        self.foreign.add(self.latest.id)

    def copy_latest(self):
        if self.latest is not None:
            raw = self.latest.raw
            copy = self.world.post_office.accept(raw, "bounce@app.example", [ADA])
            copy.announce()
            if self.latest.id in self.foreign:
                self.foreign.add(copy.deliveries[0][1].id)

    def down(self, down):
        self.provider.down = down

    def check(self, kind):
        self.ask(kind, self.queue.check)

    def wait(self, kind):
        self.ask(kind, self.queue.wait)

    def ask(self, kind, how):
        signal = self.queue.expect(kind, subject="Confirm")
        before = signal.checks
        result = how(signal)
        self.answers.append((kind, self.provider.down, before, result))

    def run(self, history):
        act = {"pass": self.world.clock.sleep}
        for name, *arguments in history:
            act.get(name, getattr(self, name, None))(*arguments)
        return self


histories = st.lists(happenings, max_size=25)


@given(history=histories, checks=st.integers(1, 6))
def test_one_signal_has_one_evidence_and_one_mail_serves_one_signal(fresh_world, history, checks):
    """I1."""
    play = Play(fresh_world(), checks).run(history)
    evidence = {}
    for kind, _, _, result in play.answers:
        if result.evidence is not None:
            assert evidence.setdefault(kind, result.evidence) == result.evidence
    contents = [piece.fingerprint for piece in evidence.values()]
    assert len(set(contents)) == len(contents)


@given(history=histories, checks=st.integers(1, 6))
def test_foreign_mail_is_never_evidence(fresh_world, history, checks):
    """I2."""
    play = Play(fresh_world(), checks).run(history)
    for _, _, _, result in play.answers:
        assert result.signal.message_id not in play.foreign
        assert not {message.id for message in result.also_matched} & play.foreign


@given(history=histories, checks=st.integers(1, 6))
def test_a_provider_error_is_said_where_the_last_look_failed_and_nowhere_else(
    fresh_world, history, checks
):
    """I3."""
    play = Play(fresh_world(), checks).run(history)
    for _, _, _, result in play.answers:
        failed = result.signal.history[-1].outcome is Outcome.ERROR
        assert (result.status is SignalStatus.PROVIDER_ERROR) == failed


@given(history=histories, checks=st.integers(1, 6))
def test_no_restart_gives_a_check_back(fresh_world, history, checks):
    """I4."""
    play = Play(fresh_world(), checks).run(history)
    latest = {}
    for kind, _, before, result in play.answers:
        assert latest.get(kind, 0) == before
        assert result.signal.checks <= checks
        latest[kind] = result.signal.checks


@given(history=histories, checks=st.integers(1, 6))
def test_a_final_answer_never_changes(fresh_world, history, checks):
    """B6."""
    play = Play(fresh_world(), checks).run(history)
    final = {}
    for kind, _, _, result in play.answers:
        if kind in final:
            assert (result.final, result.status, result.signal) == final[kind]
        if result.final:
            final[kind] = (True, result.status, result.signal)
