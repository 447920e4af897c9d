"""A mailbox leased to one run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypedDict

from pytest_agentmail.clock.pausing import Wait, Watch, finish, ring
from pytest_agentmail.clock.tasks import finish_async
from pytest_agentmail.errors import LeaseExpired
from pytest_agentmail.mail.explaining import nothing_matched, something_arrived
from pytest_agentmail.mail.matching import Criteria

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from datetime import datetime, timedelta
    from typing import Unpack

    from pytest_agentmail.clock.protocol import Clock
    from pytest_agentmail.mail.matching import After, Text
    from pytest_agentmail.mail.message import Message

__all__ = ["Mailbox", "Surroundings"]


class Wanted(TypedDict, total=False):
    """The criteria of `Criteria`, as keywords."""

    subject: Text
    sender: Text
    body: Text
    header: Mapping[str, Text] | None
    after: After


class Surroundings(NamedTuple):
    """What was seen outside a mailbox and may explain why it is empty."""

    strays: Sequence[Message] = ()
    """Mail the sink took for addresses that nobody has."""
    hints: Sequence[str] = ()
    """Sentences about settings that keep mail away."""
    happened: Sequence[str] = ()
    """Sentences about what was done to this run's mail."""


LookAround: TypeAlias = Callable[[], Surroundings]


class Mailbox:
    """A disposable address, leased to one run until an absolute time, with all its mail.

    Everything is in order of acceptance (`seq`). Safe to use from several threads and tasks.
    """

    def __init__(  # noqa: PLR0913  (made in one place only)
        self,
        address: str,
        *,
        run_id: str,
        clock: Clock,
        lease: timedelta,
        fixed: bool = False,
        look_around: LookAround = Surroundings,
    ) -> None:
        self.address = address
        """The address to give to the app."""
        self.run_id = run_id
        """The run it is leased to."""
        self.leased_at: datetime = clock.now()
        """When the lease began (UTC)."""
        self.lease_expires_at: datetime = self.leased_at + lease
        """When the lease ends (UTC)."""
        self.fixed = fixed
        """Whether the address was chosen by the caller, so that others may have used it before."""
        self.clock = clock
        """The time of its run."""
        self._ended = False
        self._look_around = look_around
        self._lock = threading.Lock()
        self._messages: list[Message] = []
        self._unannounced: set[str] = set()
        self._handed_out: set[str] = set()
        self._waiters: set[Future[None]] = set()

    def __repr__(self) -> str:
        return f"<Mailbox {self.address} of {self.run_id}, {len(self._messages)} messages>"

    @property
    def expired(self) -> bool:
        """Whether the lease has ended."""
        return self._ended or self.clock.now() >= self.lease_expires_at

    def tagged(self, tag: str) -> str:
        """The address with `+tag` (RFC 5233); its mail comes to this mailbox too.

        Raises:
            ValueError: The tag holds characters that a local part cannot have.
        """
        if not tag or any(c.isspace() or c in '@<>()[]:;,\\"' for c in tag):
            raise ValueError(f"{tag!r} is no tag: expected letters, digits and . _ - only")
        local, _, domain = self.address.rpartition("@")
        return f"{local}+{tag}@{domain}"

    @property
    def messages(self) -> list[Message]:
        """All mail that is visible now, in order of acceptance."""
        now = self.clock.now()
        with self._lock:
            return [m for m in self._messages if m.visible_at <= max(now, m.received_at)]

    def search(self, **criteria: Unpack[Wanted]) -> list[Message]:
        """All visible mail that meets the criteria, handed out before or not.

        Args:
            **criteria: `subject`, `sender`, `body`, `header` (name to text), `after`; see
                `Criteria`.
        """
        wanted = Criteria(**criteria)
        return [message for message in self.messages if wanted.met_by(message)]

    def wait(self, *, timeout: float = 10, **criteria: Unpack[Wanted]) -> Message:
        """The newest message that meets the criteria and was not handed out before.

        Woken by arrival, once the sender was told that the mail is accepted.

        Args:
            timeout: Seconds to wait at most.
            **criteria: As for `search`.

        Raises:
            NoMatchingMail: None came in time; says what did and why it did not count.
            LeaseExpired: The lease has ended.
        """
        __tracebackhide__ = True
        return finish(self.clock, self._waiting(Criteria(**criteria), timeout))

    async def wait_async(self, *, timeout: float = 10, **criteria: Unpack[Wanted]) -> Message:
        """As `wait`, without blocking the event loop."""
        __tracebackhide__ = True
        return await finish_async(self.clock, self._waiting(Criteria(**criteria), timeout))

    def expect_none(self, *, within: float = 1.0, **criteria: Unpack[Wanted]) -> None:
        """Make sure that no message meets the criteria for `within` seconds.

        Messages that were handed out before do not count.

        Raises:
            UnexpectedMail: One does; raised at once.
            LeaseExpired: The lease has ended.
        """
        __tracebackhide__ = True
        finish(self.clock, self._staying_empty(Criteria(**criteria), within))

    async def expect_none_async(self, *, within: float = 1.0, **criteria: Unpack[Wanted]) -> None:
        """As `expect_none`, without blocking the event loop."""
        __tracebackhide__ = True
        await finish_async(self.clock, self._staying_empty(Criteria(**criteria), within))

    def get(self, message_id: str) -> Message | None:
        """The message with this `id`, if it is here."""
        with self._lock:
            return next((m for m in self._messages if m.id == message_id), None)

    # What the post office calls.

    def deliver(self, message: Message) -> None:
        """Keep `message`; it can be found now, and wakes waiters when it is announced."""
        with self._lock:
            self._messages.append(message)
            self._unannounced.add(message.id)

    def announce(self, message: Message) -> None:
        """Wake whoever waits: the sender of `message` was told that it is accepted."""
        with self._lock:
            self._unannounced.discard(message.id)
            waiters = list(self._waiters)
        for waiter in waiters:
            ring(waiter)

    def end(self) -> None:
        """End the lease before its time: its run is over, and whoever still waits is told."""
        with self._lock:
            self._ended = True
            waiters = list(self._waiters)
        for waiter in waiters:
            ring(waiter)

    @contextmanager
    def watching(self) -> Iterator[Watch]:
        """What to sleep on until there may be more to see."""
        watch = Watch(self._until_next_visible)
        with self._lock:
            self._waiters.add(watch.wakeup)
        try:
            yield watch
        finally:
            with self._lock:
                self._waiters.discard(watch.wakeup)

    def _until_next_visible(self) -> float:
        """Seconds until a message that is here already can be found."""
        now = self.clock.now()
        with self._lock:
            hidden = [
                m.visible_at for m in self._messages if m.visible_at > max(now, m.received_at)
            ]
        return (min(hidden) - now).total_seconds() if hidden else inf

    # The two waits, written once for threads and tasks.

    def _waiting(self, wanted: Criteria, timeout: float) -> Wait[Message]:
        __tracebackhide__ = True
        deadline = self._deadline(timeout)
        while True:
            with self.watching() as watch:
                message = self._take(wanted)
                if message is not None:
                    return message
                self._refuse_if_ended()
                left = deadline - self.clock.monotonic()
                if left <= 0:
                    raise nothing_matched(
                        self, wanted, timeout, self._handed_out, self._look_around()
                    )
                yield watch.pause(left)

    def _staying_empty(self, wanted: Criteria, within: float) -> Wait[None]:
        __tracebackhide__ = True
        deadline = self._deadline(within)
        while True:
            with self.watching() as watch:
                message = self._take(wanted)
                if message is not None:
                    raise something_arrived(self, wanted, message)
                self._refuse_if_ended()
                left = deadline - self.clock.monotonic()
                if left <= 0:
                    return
                yield watch.pause(left)

    def _deadline(self, timeout: float) -> float:
        if not timeout >= 0:
            raise ValueError(f"{timeout!r} is no time to wait: expected seconds, 0 or more")
        self._refuse_if_ended()
        if self.expired:
            raise LeaseExpired(
                f"the lease of {self.address} ended at {self.lease_expires_at.isoformat()}; "
                f"lease another mailbox with run.lease()"
            )
        return self.clock.monotonic() + timeout

    def _refuse_if_ended(self) -> None:
        if self._ended:
            raise LeaseExpired(
                f"the lease of {self.address} ended with its run, {self.run_id}; "
                f"read mailbox.messages, or wait while the run is open"
            )

    def _take(self, wanted: Criteria) -> Message | None:
        candidates = [m for m in self.messages if m.id not in self._handed_out and wanted.met_by(m)]
        with self._lock:
            for message in reversed(candidates):
                if message.id not in self._unannounced and message.id not in self._handed_out:
                    self._handed_out.add(message.id)
                    return message
        return None
