"""News of mail: what has arrived, and what to sleep on until more may have."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from math import inf
from typing import TYPE_CHECKING

from pytest_agentmail.clock.pausing import Watch
from pytest_agentmail.errors import ProviderError
from pytest_agentmail.providers.protocol import WakingProvider

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_agentmail.mail.message import Message
    from pytest_agentmail.providers.protocol import MailProvider
    from pytest_agentmail.signals.notices import Notices
    from pytest_agentmail.signals.signal import Signal

__all__ = ["Lookout"]


class Lookout:
    """Hears of arrivals where the provider tells of them, and of notices.

    A provider that cannot tell for an address tells nothing; what is wrong is for a search to say.
    """

    def __init__(self, provider: MailProvider, notices: Notices) -> None:
        self._provider = provider
        self._notices = notices

    def arrived(self, signal: Signal) -> Sequence[Message] | None:
        """What has arrived for `signal`; None where the provider does not tell."""
        if not isinstance(self._provider, WakingProvider):
            return None
        try:
            return self._provider.arrived(signal.recipient)
        except (ProviderError, OSError):
            return None

    @contextmanager
    def watching(self, signal: Signal) -> Iterator[Watch]:
        """What to sleep on until there may be news for `signal`."""
        with ExitStack() as stack:
            watch = Watch(lambda: inf)
            if isinstance(self._provider, WakingProvider) and self.arrived(signal) is not None:
                watch = stack.enter_context(self._provider.watching(signal.recipient))
            stack.enter_context(self._notices.sleeping(signal.signal_id, watch.wakeup))
            yield watch

    def take_notice(self, signal: Signal) -> bool:
        """Whether there was a notice since the last time; there is none after."""
        return self._notices.take(signal.signal_id)
