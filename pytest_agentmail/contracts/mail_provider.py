"""The contract of a mail provider, clause by clause (B5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from pytest_agentmail.clock.real import RealClock
from pytest_agentmail.errors import ProviderError
from pytest_agentmail.signals.queue import SignalQueue
from pytest_agentmail.signals.signal import SignalStatus
from pytest_agentmail.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.providers.protocol import MailProvider

__all__ = ["MailProviderContract"]

ADA, EVE = "contract-ada@agentmail.example", "contract-eve@agentmail.example"
CANARY = "the-body-nobody-keeps"
LONGEST_CODE = 40


class MailProviderContract:
    """Subclass it, say how your provider gets mail and fails, and run it with pytest.

    ```python
    class TestMyProvider(MailProviderContract):
        @pytest.fixture
        def provider(self):
            self.server = FakeServer()
            return MyProvider(self.server.url)

        def deliver(self, recipient, subject, body):
            self.server.add(recipient, subject, body)

        def break_down(self):
            self.server.answer_with(503)
    ```

    `recipient` and `other_recipient` are the addresses that mail is delivered to; change them where
    your provider knows only some.
    """

    recipient = ADA
    other_recipient = EVE

    @pytest.fixture
    def provider(self) -> MailProvider:
        """A provider with no mail for the recipients."""
        raise NotImplementedError("define a fixture `provider` that gives yours")

    def deliver(self, recipient: str, subject: str, body: str) -> None:
        """Let the mail be there for the provider to find, before this returns."""
        raise NotImplementedError("define `deliver(recipient, subject, body)`")

    def break_down(self) -> None:
        """Let every further call of the provider fail."""
        raise NotImplementedError("define `break_down()`")

    def test_a_search_finds_what_was_delivered(self, provider: MailProvider) -> None:
        self.deliver(self.recipient, "Confirm your account", "Code: 483920")
        (message,) = provider.search(recipient=self.recipient)
        assert message.subject == "Confirm your account"
        assert "483920" in provider.fetch(message.id).text

    def test_a_search_finds_nothing_where_nothing_is(self, provider: MailProvider) -> None:
        assert list(provider.search(recipient=self.recipient)) == []

    def test_a_search_gives_mail_of_that_recipient_only(self, provider: MailProvider) -> None:
        self.deliver(self.other_recipient, "For somebody else", "x")
        self.deliver(self.recipient, "For us", "x")
        assert _subjects(provider.search(recipient=self.recipient)) == ["For us"]

    def test_a_search_is_idempotent(self, provider: MailProvider) -> None:
        """B6: asking again gives the same messages under the same ids."""
        self.deliver(self.recipient, "Confirm", "x")
        first, second = (provider.search(recipient=self.recipient) for _ in range(2))
        assert [message.id for message in first] == [message.id for message in second] != []

    def test_mail_that_comes_later_is_found_later(self, provider: MailProvider) -> None:
        """B20: an empty answer is not remembered."""
        assert list(provider.search(recipient=self.recipient)) == []
        self.deliver(self.recipient, "Late", "x")
        assert _subjects(provider.search(recipient=self.recipient)) == ["Late"]

    def test_messages_are_in_order_of_arrival(self, provider: MailProvider) -> None:
        subjects = ["b", "a", "c"]
        for subject in subjects:
            self.deliver(self.recipient, subject, "x")
        found = provider.search(recipient=self.recipient)
        assert _subjects(found) == subjects
        assert [m.seq for m in found] == sorted({m.seq for m in found})

    def test_equal_mails_are_different_messages(self, provider: MailProvider) -> None:
        """B9: nothing is taken away for being the same."""
        for _ in range(2):
            self.deliver(self.recipient, "Confirm", "the same")
        found = provider.search(recipient=self.recipient)
        assert len({message.id for message in found}) == len(found) == 2

    def test_after_leaves_out_nothing_that_came_after(self, provider: MailProvider) -> None:
        """B7."""
        self.deliver(self.recipient, "Confirm", "x")
        (message,) = provider.search(recipient=self.recipient)
        before = message.visible_at - timedelta(seconds=1)
        assert _subjects(provider.search(recipient=self.recipient, after=before)) == ["Confirm"]

    def test_after_leaves_out_what_came_before(self, provider: MailProvider) -> None:
        """B7."""
        self.deliver(self.recipient, "Confirm", "x")
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        assert list(provider.search(recipient=self.recipient, after=tomorrow)) == []

    def test_a_subject_leaves_out_no_mail_that_has_it(self, provider: MailProvider) -> None:
        """B7: compared without case."""
        self.deliver(self.recipient, "[Shop] Confirm your account", "x")
        found = provider.search(recipient=self.recipient, subject="confirm YOUR")
        assert _subjects(found) == ["[Shop] Confirm your account"]

    def test_times_are_aware(self, provider: MailProvider) -> None:
        """C19."""
        self.deliver(self.recipient, "Confirm", "x")
        (message,) = provider.search(recipient=self.recipient)
        assert message.visible_at.utcoffset() is not None
        assert message.received_at.utcoffset() is not None

    def test_what_cannot_be_fetched_is_a_provider_error(self, provider: MailProvider) -> None:
        with pytest.raises(ProviderError):
            provider.fetch("there-is-no-such-message")

    def test_a_failure_is_no_empty_answer(self, provider: MailProvider) -> None:
        """B4: "nothing there" and "nothing known" are never blurred."""
        self.break_down()
        with pytest.raises(ProviderError):
            provider.search(recipient=self.recipient)

    def test_a_failure_has_a_short_code(self, provider: MailProvider) -> None:
        """B10."""
        error = self._failure(provider)
        assert 0 < len(error.code) <= LONGEST_CODE
        assert error.code.isprintable()
        assert error.retry_after is None or error.retry_after >= 0

    def test_a_failure_repeats_no_mail(self, provider: MailProvider) -> None:
        """B10: never the body."""
        self.deliver(self.recipient, "Confirm", CANARY)
        assert CANARY not in str(self._failure(provider))

    def test_a_signal_finds_the_mail_and_keeps_no_body(self, provider: MailProvider) -> None:
        """A3, B8, B10."""
        self.deliver(self.recipient, "Confirm", CANARY)
        store = MemoryStore()
        queue = SignalQueue(provider, store, RealClock(), run_id="contract", mailbox=self.recipient)
        signal = queue.expect("contract", subject="Confirm", since=datetime.now(UTC) - _A_DAY)
        result = queue.check(signal)
        assert (result.status, result.final) == (SignalStatus.FOUND, True)
        assert CANARY not in store.signals("contract")[0].body

    def _failure(self, provider: MailProvider) -> ProviderError:
        self.break_down()
        with pytest.raises(ProviderError) as caught:
            provider.search(recipient=self.recipient)
        return caught.value


_A_DAY = timedelta(days=1)


def _subjects(messages: Sequence[Message]) -> list[str]:
    return [message.subject for message in messages]
