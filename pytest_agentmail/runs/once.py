"""Making a function durable: performed once, over all lives of a run."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pytest_agentmail.errors import EffectUnknown, SettingsError
from pytest_agentmail.runs.effects import EffectState
from pytest_agentmail.runs.reconciling import Happened, MailProbe, described, rewound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_agentmail.runs.effects import Effect, EffectKey, EffectRecord
    from pytest_agentmail.runs.reconciling import MailAcceptanceLog

    Phase = Literal["before", "pending", "sent", "after"]

__all__ = ["Durable", "EffectLedger", "as_it_is"]


class EffectLedger(Protocol):
    """What a durable function needs of a ledger, or of something that stands in for one."""

    @property
    def mail_log(self) -> MailAcceptanceLog | None:
        """The mail server's log, where there is one."""
        ...

    def effect(
        self, name: str, step: int | str | None = None, args: Any = None, *, sends_mail: str | None
    ) -> Effect:
        """One effect; without a `step`, of the run's current one."""
        ...

    def effects(self) -> tuple[EffectRecord, ...]:
        """All effects of the run."""
        ...

    def expire_unknown(self) -> str:
        """End the run if its lease is over; say in words until when to wait."""
        ...

    def reached(self, phase: Phase, key: EffectKey) -> None:
        """A durable function reached an edge at which its life may die."""
        ...


def as_it_is(value: Any) -> Any:
    """`value`."""
    return value


@dataclass(frozen=True)
class Durable:
    """How a function is made durable.

    Attributes:
        ledger: Keeps the effect.
        name: What the effect is called.
        step: Which of the run's effects of that name; by default one per refused code.
        sends_mail: Criteria of the mail it sends; the mail server's log is then asked whether
            it was sent.
        reconcile: A probe that is asked instead.
        absent_means_no: A mail the log does not show was not sent.
        not_done: Exceptions of the function that prove it changed nothing.
        arguments: Turns a call's arguments into the JSON they are told apart by.
        encode: Turns a result into JSON.
        decode: Turns that JSON back.
    """

    ledger: EffectLedger
    name: str
    step: int | str | None = None
    sends_mail: Mapping[str, Any] | None = None
    reconcile: Callable[[EffectKey], Any] | None = None
    absent_means_no: bool = False
    not_done: tuple[type[Exception], ...] = ()
    arguments: Callable[..., Any] | None = None
    encode: Callable[[Any], Any] = as_it_is
    decode: Callable[[Any], Any] = as_it_is

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, made durable; name, docstring, signature and annotations are kept."""
        if inspect.iscoroutinefunction(function):
            return self._wrap_async(function)
        if inspect.iscoroutinefunction(self.reconcile):
            raise SettingsError(
                f"the probe of {self.name!r} is asynchronous, the function is not; "
                f"`reconcile=` needs a plain function here"
            )
        return self._wrap_sync(function)

    def _wrap_sync(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def durable(*args: Any, **kwargs: Any) -> Any:
            call = self._call(function, args, kwargs)
            if call.must_ask():
                call.reconcile(self._answer(call.effect.key))
            if call.settled:
                return call.hand_back()
            call.begin()
            try:
                result = function(*args, **kwargs)
            except self.not_done as error:
                call.effect.fail(error)
                raise
            except Exception as error:
                call.raised(error, self._answer(call.effect.key))
                raise
            return call.succeed(result)

        return durable

    def _wrap_async(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        async def durable(*args: Any, **kwargs: Any) -> Any:
            call = self._call(function, args, kwargs)
            if call.must_ask():
                call.reconcile(await self._answer_async(call.effect.key))
            if call.settled:
                return call.hand_back()
            call.begin()
            try:
                result = await function(*args, **kwargs)
            except self.not_done as error:
                call.effect.fail(error)
                raise
            except Exception as error:
                call.raised(error, await self._answer_async(call.effect.key))
                raise
            return call.succeed(result)

        return durable

    def _call(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> _Call:
        kind = None if self.sends_mail is None else described(self.sends_mail)
        identity = self._identity(function, args, kwargs)
        return _Call(self, self.ledger.effect(self.name, self.step, identity, sends_mail=kind))

    def _identity(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if self.arguments is not None:
            return self.arguments(*args, **kwargs)
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _answer(self, key: EffectKey) -> Happened:
        return self._default(key) if self.reconcile is None else _checked(self.reconcile(key))

    async def _answer_async(self, key: EffectKey) -> Happened:
        if self.reconcile is None:
            return self._default(key)
        answer = self.reconcile(key)
        return _checked(await answer if inspect.isawaitable(answer) else answer)

    def _default(self, key: EffectKey) -> Happened:
        if self.sends_mail is None:
            return Happened("unknown", why="there is no probe to ask; give `reconcile=`")
        if self.ledger.mail_log is None:
            return Happened("unknown", why="there is no mail server's log to ask")
        probe = MailProbe(self.ledger.mail_log, self.sends_mail, self.absent_means_no)
        return probe.ask(key, self.ledger.effects())


def _checked(answer: Any) -> Happened:
    if not isinstance(answer, Happened):
        raise SettingsError(
            f"a probe answered {answer!r}; "
            f"allowed: Happened.yes(result), Happened.no, Happened.unknown"
        )
    return answer


class _Call:
    """One call of a durable function."""

    def __init__(self, how: Durable, effect: Effect) -> None:
        self._how = how
        self.effect = effect
        how.ledger.reached("before", effect.key)

    @property
    def settled(self) -> bool:
        return self.effect.state is EffectState.SUCCESS

    def hand_back(self) -> Any:
        """What it returned when it happened; `None`, where only that it happened is known."""
        kept = self.effect.result
        result = None if kept is None else self._how.decode(kept)
        self._how.ledger.reached("after", self.effect.key)
        return result

    def must_ask(self) -> bool:
        """Whether it may have happened though nothing says so."""
        if self.effect.state is EffectState.PENDING:
            return True
        return not self.settled and self._set_back()

    def reconcile(self, answer: Happened) -> None:
        """Record what the probe said; raise if it could not tell."""
        if self.effect.state is not EffectState.PENDING:
            self.effect.begin()
        if answer.answer == "yes":
            self.effect.succeed(self._encoded(answer.result))
        elif answer.answer == "no":
            self.effect.fail(f"a probe answered: {answer}")
        else:
            self.effect.leave_unknown()
            raise EffectUnknown(
                f"nobody can tell whether {str(self.effect.key)!r} happened: "
                f"{answer.why or 'the probe answered unknown'}. It is not performed again; "
                f"{self._how.ledger.expire_unknown()}"
            )

    def begin(self) -> None:
        self.effect.begin()
        self._how.ledger.reached("pending", self.effect.key)

    def succeed(self, result: Any) -> Any:
        self._how.ledger.reached("sent", self.effect.key)
        self.effect.succeed(self._encoded(result))
        self._how.ledger.reached("after", self.effect.key)
        return result

    def raised(self, error: Exception, answer: Happened) -> None:
        """Record what the probe says of a call that ended with an exception."""
        if answer.answer == "yes":
            self.effect.succeed(self._encoded(answer.result))
        elif answer.answer == "no":
            self.effect.fail(error)
        else:
            self.effect.leave_unknown()

    def _encoded(self, result: Any) -> Any:
        return None if result is None else self._how.encode(result)

    def _set_back(self) -> bool:
        log, criteria = self._how.ledger.mail_log, self._how.sends_mail
        if log is None or criteria is None:
            return False
        run_id = self.effect.key.run_id
        mails = log.accepted(run_id, criteria)
        return rewound(run_id, self._how.ledger.effects(), mails, described(criteria)).rewound
