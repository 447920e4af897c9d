"""Our own providers keep the contract; broken ones fail the clause they break (B5)."""

from __future__ import annotations

import textwrap

import pytest

from pytest_agentmail import world as words
from pytest_agentmail.agents.mail_world import MailWorld
from pytest_agentmail.contracts.mail_provider import MailProviderContract

HEAD = """
from copy import copy
from datetime import UTC, datetime, timedelta
import pytest
from pytest_agentmail.clock.real import RealClock
from pytest_agentmail.contracts import MailProviderContract
from pytest_agentmail.errors import ProviderError
from pytest_agentmail.mail.mailbox import Mailbox
from pytest_agentmail.mail.post_office import PostOffice
from pytest_agentmail.providers.sink import SinkProvider

class Sound(SinkProvider):
    broken = False
    def search(self, **query):
        if self.broken:
            raise ProviderError("503")
        return super().search(**query)

class TestIt(MailProviderContract):
    @pytest.fixture
    def provider(self):
        clock = RealClock()
        self.post_office = PostOffice(clock, "agentmail.example")
        self.post_office.open("run-one")
        for address in (self.recipient, self.other_recipient):
            self.post_office.lease(
                Mailbox(address, run_id="run-one", clock=clock, lease=timedelta(hours=1))
            )
        self.mine = Mine(self.post_office, "run-one")
        return self.mine

    def deliver(self, recipient, subject, body):
        raw = f"From: a@b.example\\r\\nTo: {recipient}\\r\\nSubject: {subject}\\r\\n\\r\\n{body}\\r\\n"
        self.post_office.accept(raw.encode(), "a@b.example", [recipient]).announce()

    def break_down(self):
        self.mine.broken = True
"""
FAULTS = {
    "test_a_search_is_idempotent": """
        def search(self, **query):
            found = [copy(m) for m in super().search(**query)]
            self.turns = getattr(self, "turns", 0) + 1
            for m in found:
                m.id = f"{m.id}-{self.turns}"
            return found
        def fetch(self, message_id):
            return super().fetch(message_id)
    """,
    "test_mail_that_comes_later_is_found_later": """
        def search(self, **query):
            if not hasattr(self, "kept"):
                self.kept = super().search(**query)
            return self.kept if not self.broken else super().search(**query)
    """,
    "test_messages_are_in_order_of_arrival": """
        def search(self, **query):
            return sorted(super().search(**query), key=lambda m: m.subject)
    """,
    "test_a_search_gives_mail_of_that_recipient_only": """
        def search(self, **query):
            mine = super().search(**query)
            return [*super().search(**{**query, "recipient": "contract-eve@agentmail.example"}), *mine]
    """,
    "test_equal_mails_are_different_messages": """
        def search(self, **query):
            return list({m.sha256: m for m in super().search(**query)}.values())
    """,
    "test_after_leaves_out_what_came_before": """
        def search(self, after=None, **query):
            return super().search(**query)
    """,
    "test_after_leaves_out_nothing_that_came_after": """
        def search(self, after=None, **query):
            return super().search(**query, after=after and after + timedelta(seconds=5))
    """,
    "test_a_subject_leaves_out_no_mail_that_has_it": """
        def search(self, subject=None, **query):
            return [m for m in super().search(**query) if (subject or "") in m.subject]
    """,
    "test_times_are_aware": """
        def search(self, **query):
            found = [copy(m) for m in super().search(**query)]
            for m in found:
                m.received_at = m.received_at.replace(tzinfo=None)
            return found
    """,
    "test_what_cannot_be_fetched_is_a_provider_error": """
        def fetch(self, message_id):
            try:
                return super().fetch(message_id)
            except ProviderError:
                return None
    """,
    "test_a_failure_is_no_empty_answer": """
        def search(self, **query):
            return [] if self.broken else super().search(**query)
    """,
    "test_a_failure_has_a_short_code": """
        def search(self, **query):
            if self.broken:
                raise ProviderError("the server at mail.example said that it was not well" * 3)
            return super().search(**query)
    """,
    "test_a_failure_repeats_no_mail": """
        def search(self, **query):
            if self.broken:
                self.broken = False
                text = "".join(m.text for m in super().search(**query))
                self.broken = True
                raise ProviderError("503", detail=text)
            return super().search(**query)
    """,
}


@pytest.mark.parametrize("clause", FAULTS)
def test_a_broken_provider_fails_the_clause_it_breaks(pytester, clause):
    fault = textwrap.indent(textwrap.dedent(FAULTS[clause]), "    ")
    pytester.makepyfile(f"{HEAD}\nclass Mine(Sound):\n{fault}")
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-rf")
    result.stdout.fnmatch_lines([f"FAILED *::{clause}*"])


def test_the_sound_one_keeps_every_clause(pytester):
    pytester.makepyfile(f"{HEAD}\nclass Mine(Sound): pass")
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=16)


def test_what_is_missing_is_named(pytester):
    pytester.makepyfile(
        """
        import pytest
        from pytest_agentmail.contracts import MailProviderContract

        class TestNothing(MailProviderContract):
            pass

        class TestHalf(MailProviderContract):
            @pytest.fixture
            def provider(self):
                return None
        """
    )
    result = pytester.runpytest_inprocess()
    result.stdout.fnmatch_lines(
        [
            "E *NotImplementedError: define a fixture `provider` that gives yours",
            "E *NotImplementedError: define `deliver(recipient, subject, body)`",
            "E *NotImplementedError: define `break_down()`",
        ]
    )


class TestSinkProvider(MailProviderContract):
    """The provider of a run, faults and all, over a real world."""

    @pytest.fixture
    def provider(self):
        with MailWorld() as world, world.new_run() as run:
            run.lease(self.recipient)
            run.lease(self.other_recipient)
            self.run, self.post_office = run, world._post_office
            yield run.provider

    def deliver(self, recipient, subject, body):
        raw = f"From: a@b.example\r\nTo: {recipient}\r\nSubject: {subject}\r\n\r\n{body}\r\n"
        self.post_office.accept(raw.encode(), "a@b.example", [recipient]).announce()

    def break_down(self):
        self.run.provider_fault(words.provider_fails("503", times=99))
