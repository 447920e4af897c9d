"""A provider that misbehaves as told, in front of one that works."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime, timedelta
from math import inf
from typing import TYPE_CHECKING

from pytest_agentmail import world
from pytest_agentmail.errors import ProviderError
from pytest_agentmail.mail.content import Content
from pytest_agentmail.mail.message import Message
from pytest_agentmail.providers.protocol import Knowing
from pytest_agentmail.scenarios.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_agentmail.clock.pausing import Watch
    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.providers.protocol import MailProvider, WakingProvider
    from pytest_agentmail.scenarios.plan import Planned
    from pytest_agentmail.world import ProviderFault

__all__ = ["FaultyProvider", "WakingFaultyProvider"]


class FaultyProvider:
    """Searches `provider` with faults in the way; `fetch` always works.

    Faults strike in the order in which they were given, one a search: the first that still has a
    turn. A lag holds all the time beside them.

    Args:
        provider: The one that works.
        clock: Whose time faults last.
        faults: What goes wrong.
    """

    def __init__(
        self, provider: MailProvider, clock: Clock, faults: Iterable[ProviderFault] = ()
    ) -> None:
        self._provider = provider
        self._clock = clock
        self._plan = Plan(faults)
        self._since: dict[Planned[ProviderFault], datetime] = {}
        self._latest: Sequence[Message] = ()

    def add(self, faults: Iterable[ProviderFault]) -> None:
        """Let these go wrong too."""
        self._plan.add(faults)

    def pending(self) -> list[ProviderFault]:
        """The faults that never struck."""
        return self._plan.pending()

    def search(
        self, *, recipient: str, subject: str | None = None, after: datetime | None = None
    ) -> Sequence[Message]:
        """As the provider's, unless a fault strikes."""
        fault = self._plan.strike_first(self._has_a_turn)
        match fault:
            case world.ProviderFails(code):
                raise ProviderError(code)
            case world.ProviderRateLimits(retry_after):
                raise ProviderError("429", retry_after, "too many requests")
            case world.ProviderTimesOut(seconds):
                self._clock.sleep(seconds)
                raise ProviderError("timeout")
            case world.ProviderBreaks():
                raise ProviderError("malformed_answer")
            case world.ProviderIsStale():
                return self._latest
        found = self._provider.search(recipient=recipient, subject=subject, after=after)
        self._latest = self._indexed(found)
        if isinstance(fault, world.ProviderOmitsBodies):
            return [_without_body(message) for message in self._latest]
        return self._latest

    def fetch(self, message_id: str) -> Message:
        """As the provider's."""
        return self._provider.fetch(message_id)

    @property
    def immediate(self) -> bool:
        """Whether it answers at once."""
        slow = any(isinstance(fault, world.ProviderTimesOut) for fault in self._plan)
        return not slow and getattr(self._provider, "immediate", False)

    def exclusive(self, recipient: str) -> bool:
        """As the provider's where it knows."""
        return isinstance(self._provider, Knowing) and self._provider.exclusive(recipient)

    def foreign(self, message: Message) -> str | None:
        """As the provider's where it knows."""
        return self._provider.foreign(message) if isinstance(self._provider, Knowing) else None

    def _has_a_turn(self, planned: Planned[ProviderFault]) -> bool:
        match planned.fault:
            case world.ProviderLags():
                return False
            case world.ProviderFails(times=None, for_=seconds):
                now = self._clock.now()
                since = self._since.setdefault(planned, now)
                return now < since + timedelta(seconds=seconds or 0)
        return planned.struck < (getattr(planned.fault, "times", None) or 0)

    def _indexed(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Those that a lag lets be found."""
        now = self._clock.now()
        found = [message for message in messages if message.visible_at + self._lag() <= now]
        if len(found) < len(messages):
            self._plan.strike_all(lambda planned: isinstance(planned.fault, world.ProviderLags))
        return found

    def _lag(self) -> timedelta:
        lags = (fault.seconds for fault in self._plan if isinstance(fault, world.ProviderLags))
        return timedelta(seconds=sum(lags))


class WakingFaultyProvider(FaultyProvider):
    """A faulty provider in front of one that tells of arrivals; a lag delays what it tells."""

    def __init__(
        self, provider: WakingProvider, clock: Clock, faults: Iterable[ProviderFault] = ()
    ) -> None:
        super().__init__(provider, clock, faults)
        self._waking = provider

    @contextmanager
    def watching(self, recipient: str) -> Iterator[Watch]:
        """What to sleep on until there may be more for `recipient`."""
        with self._waking.watching(recipient) as watch:
            yield watch.or_in(lambda: self._until_indexed(recipient))

    def arrived(self, recipient: str) -> Sequence[Message]:
        """What has arrived, as far as it can be known."""
        return self._indexed(self._waking.arrived(recipient))

    def _until_indexed(self, recipient: str) -> float:
        now, lag = self._clock.now(), self._lag()
        due = (message.visible_at + lag for message in self._waking.arrived(recipient))
        return min(((at - now).total_seconds() for at in due if at > now), default=inf)


def _without_body(message: Message) -> Message:
    head, end, _ = message.raw.partition(b"\r\n\r\n")
    return Message(
        Content(head + end),
        id=message.id,
        seq=message.seq,
        envelope_from=message.envelope_from,
        envelope_to=message.envelope_to,
        received_at=message.received_at,
        visible_at=message.visible_at,
    )
