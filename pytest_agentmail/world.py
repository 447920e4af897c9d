"""What the world can do, as data: mail that arrives, and faults of mail, SMTP and provider.

Every word here makes a value that can be compared, printed as the code that made it, and given to
the `mail_fault` and `provider_fault` markers or to a run. Faults are deterministic: they strike the
nth time, or so many times, and then the world is well again. Seconds are those of the run's clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

from pytest_agentmail.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "Adversary",
    "Command",
    "MailFault",
    "Origin",
    "ProviderFault",
    "SmtpFault",
    "Word",
    "mail_adversarial",
    "mail_arrives",
    "mail_delayed",
    "mail_dropped",
    "mail_duplicated",
    "mail_misdelivered",
    "mail_reordered",
    "provider_breaks",
    "provider_fails",
    "provider_is_stale",
    "provider_lags",
    "provider_omits_bodies",
    "provider_rate_limits",
    "provider_times_out",
    "smtp_drops_connection",
    "smtp_refuses",
    "smtp_slow",
]

Command: TypeAlias = Literal["CONNECT", "EHLO", "MAIL", "RCPT", "DATA", "before_reply"]
"""Where in the SMTP dialogue a fault strikes; `before_reply`: the mail is stored, unanswered."""

Origin: TypeAlias = Literal["this", "other", "earlier"]
"""Whose mail the world writes."""

Adversary: TypeAlias = Literal[
    "instructions", "display_name", "hidden_text", "decoy_code", "expired_code", "lookalike_link"
]
"""What an adversarial mail brings."""


@dataclass(frozen=True)
class Word:
    """A value that prints as the code that makes it."""

    word: ClassVar[str]
    """What it is called in `world`."""

    def __repr__(self) -> str:
        needed, named = [], []
        for each in fields(self):
            value = getattr(self, each.name)
            if each.default is MISSING:
                needed.append(repr(value))
            elif value != each.default:
                named.append(f"{each.name}={value!r}")
        return f"world.{self.word}({', '.join(needed + named)})"


def _need(word: Word, name: str, allowed: str, *, met: bool) -> None:
    if not met:
        value = getattr(word, name)
        raise SettingsError(f"world.{word.word}({name}={value!r}): expected {allowed}")


def _seconds(word: Word, name: str) -> None:
    value = getattr(word, name)
    met = isinstance(value, int | float) and 0 <= value < float("inf")
    _need(word, name, "seconds, 0 or more", met=met)


def _count(word: Word, name: str, least: int = 1) -> None:
    value = getattr(word, name)
    met = isinstance(value, int) and not isinstance(value, bool) and value >= least
    _need(word, name, f"a whole number, {least} or more", met=met)


def _choice(word: Word, name: str, choices: Collection[str]) -> None:
    _need(word, name, f"one of {', '.join(choices)}", met=getattr(word, name) in choices)


@dataclass(frozen=True, repr=False)
class MailArrives(Word):
    """The world itself writes a mail, which arrives `after` so many seconds.

    They count from the first request of the run (a tool with an effect), else from its first
    signal. `run` says whose mail it is, though it comes to this run's mailbox: "this", that of an
    "other" run that goes on, or of an "earlier" one that has ended.
    """

    word: ClassVar[str] = "mail_arrives"

    after: float = 0.0
    code: str | None = "204815"
    subject: str = "Confirm your account"
    run: Origin = "this"
    sender: str = "no-reply@app.example"
    body: str = "Your confirmation code is {code}. It is valid for ten minutes."
    link: str | None = None
    message_id: str | None = None

    def __post_init__(self) -> None:
        _seconds(self, "after")
        _choice(self, "run", get_args(Origin))
        if self.code is not None:
            _need(self, "code", "letters and digits", met=str(self.code).isalnum())


@dataclass(frozen=True, repr=False)
class MailFault(Word, ABC):
    """Shapes mail that the app sent and the sink accepted."""

    @abstractmethod
    def strikes(self, number: int) -> bool:
        """Whether it strikes the mail of that number, from 1, of the run."""


@dataclass(frozen=True, repr=False)
class _NthMail(MailFault):
    nth: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        _count(self, "nth")

    def strikes(self, number: int) -> bool:
        return number == self.nth


@dataclass(frozen=True, repr=False)
class MailDelayed(_NthMail):
    """The nth mail of the run can be found only `seconds` after it was accepted."""

    word: ClassVar[str] = "mail_delayed"

    seconds: float

    def __post_init__(self) -> None:
        _seconds(self, "seconds")
        super().__post_init__()


@dataclass(frozen=True, repr=False)
class MailDuplicated(_NthMail):
    """The nth mail is delivered `copies` times, `apart` seconds from one to the next."""

    word: ClassVar[str] = "mail_duplicated"

    copies: int = 2
    apart: float = 0.0

    def __post_init__(self) -> None:
        _count(self, "copies", 2)
        _seconds(self, "apart")
        super().__post_init__()


@dataclass(frozen=True, repr=False)
class MailDropped(MailFault):
    """The first `n` mails are accepted and lost."""

    word: ClassVar[str] = "mail_dropped"

    n: int = 1

    def __post_init__(self) -> None:
        _count(self, "n")

    def strikes(self, number: int) -> bool:
        """Whether it strikes the mail of that number, from 1, of the run."""
        return number <= self.n


@dataclass(frozen=True, repr=False)
class MailReordered(_NthMail):
    """The nth mail becomes visible right after the one that follows it."""

    word: ClassVar[str] = "mail_reordered"


@dataclass(frozen=True, repr=False)
class MailMisdelivered(_NthMail):
    """The nth mail is delivered to an address that is not the run's."""

    word: ClassVar[str] = "mail_misdelivered"


@dataclass(frozen=True, repr=False)
class MailAdversarial(_NthMail):
    """The nth mail is rewritten by somebody who wants to mislead its reader."""

    word: ClassVar[str] = "mail_adversarial"

    kind: Adversary

    def __post_init__(self) -> None:
        _choice(self, "kind", get_args(Adversary))
        super().__post_init__()


@dataclass(frozen=True, repr=False)
class SmtpFault(Word):
    """Disturbs the SMTP dialogue of mail for the run.

    Before RCPT no run is known: faults at CONNECT, EHLO and MAIL need a sink of the run's own.
    """

    at: Command = field(default="RCPT", kw_only=True)
    times: int = field(default=1, kw_only=True)

    @property
    def needs_own_sink(self) -> bool:
        """Whether it strikes before it is known whom the mail is for."""
        return self.at in {"CONNECT", "EHLO", "MAIL"}


@dataclass(frozen=True, repr=False)
class SmtpRefuses(SmtpFault):
    """The sink answers `code` (4xx or 5xx, RFC 5321 §4.2.1), so many times."""

    word: ClassVar[str] = "smtp_refuses"

    code: int

    def __post_init__(self) -> None:
        met = isinstance(self.code, int) and 400 <= self.code < 600  # noqa: PLR2004  (RFC 5321)
        _need(self, "code", "a reply code from 400 to 599", met=met)
        _choice(self, "at", _ANSWERED)
        _count(self, "times")


@dataclass(frozen=True, repr=False)
class SmtpSlow(SmtpFault):
    """The sink takes `seconds` to answer, so many times.

    They are real seconds under any clock: a client waits for them on its socket.
    """

    word: ClassVar[str] = "smtp_slow"

    seconds: float
    at: Command = field(default="DATA", kw_only=True)

    def __post_init__(self) -> None:
        _seconds(self, "seconds")
        _choice(self, "at", _ANSWERED)
        _count(self, "times")


@dataclass(frozen=True, repr=False)
class SmtpDropsConnection(SmtpFault):
    """The sink hangs up, so many times; `before_reply` after it has stored the mail."""

    word: ClassVar[str] = "smtp_drops_connection"

    at: Command = field(default="DATA", kw_only=True)

    def __post_init__(self) -> None:
        _choice(self, "at", get_args(Command))
        _count(self, "times")


_ANSWERED = ("EHLO", "MAIL", "RCPT", "DATA")


@dataclass(frozen=True, repr=False)
class ProviderFault(Word):
    """Disturbs what the mail provider answers to the run."""


@dataclass(frozen=True, repr=False)
class ProviderFails(ProviderFault):
    """Searches fail with `code`: so many times, or for so many seconds from the first on."""

    word: ClassVar[str] = "provider_fails"

    code: str
    times: int | None = None
    for_: float | None = None

    def __post_init__(self) -> None:
        _need(self, "code", "a short text", met=isinstance(self.code, str) and bool(self.code))
        one_of_them = (self.times is None) != (self.for_ is None)
        _need(self, "times", "either times= or for_=, and not both", met=one_of_them)
        if self.times is None:
            _seconds(self, "for_")
        else:
            _count(self, "times")


@dataclass(frozen=True, repr=False)
class ProviderRateLimits(ProviderFault):
    """Searches are refused with 429 and the wish not to be called for `retry_after` seconds."""

    word: ClassVar[str] = "provider_rate_limits"

    retry_after: float
    times: int = 1

    def __post_init__(self) -> None:
        _seconds(self, "retry_after")
        _count(self, "times")


@dataclass(frozen=True, repr=False)
class ProviderLags(ProviderFault):
    """Mail is found only `seconds` after it became visible."""

    word: ClassVar[str] = "provider_lags"

    seconds: float

    def __post_init__(self) -> None:
        _seconds(self, "seconds")


@dataclass(frozen=True, repr=False)
class ProviderTimesOut(ProviderFault):
    """Searches take `seconds` and then fail with "timeout", so many times."""

    word: ClassVar[str] = "provider_times_out"

    seconds: float = 0.0
    times: int = 1

    def __post_init__(self) -> None:
        _seconds(self, "seconds")
        _count(self, "times")


@dataclass(frozen=True, repr=False)
class ProviderIsStale(ProviderFault):
    """Searches give what the search before them gave, so many times."""

    word: ClassVar[str] = "provider_is_stale"

    times: int = 1

    def __post_init__(self) -> None:
        _count(self, "times")


@dataclass(frozen=True, repr=False)
class ProviderOmitsBodies(ProviderFault):
    """Searches give mail without its body, so many times; `fetch` gives it whole."""

    word: ClassVar[str] = "provider_omits_bodies"

    times: int = 1

    def __post_init__(self) -> None:
        _count(self, "times")


@dataclass(frozen=True, repr=False)
class ProviderBreaks(ProviderFault):
    """Searches answer with something that cannot be read, so many times."""

    word: ClassVar[str] = "provider_breaks"

    times: int = 1

    def __post_init__(self) -> None:
        _count(self, "times")


mail_arrives = MailArrives
mail_delayed = MailDelayed
mail_duplicated = MailDuplicated
mail_dropped = MailDropped
mail_reordered = MailReordered
mail_misdelivered = MailMisdelivered
mail_adversarial = MailAdversarial
smtp_refuses = SmtpRefuses
smtp_slow = SmtpSlow
smtp_drops_connection = SmtpDropsConnection
provider_fails = ProviderFails
provider_rate_limits = ProviderRateLimits
provider_lags = ProviderLags
provider_times_out = ProviderTimesOut
provider_is_stale = ProviderIsStale
provider_omits_bodies = ProviderOmitsBodies
provider_breaks = ProviderBreaks
