"""Effects: what a run does to the outside world, once."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydantic import AwareDatetime, BaseModel

from pytest_agentmail.errors import EffectConflict, SettingsError, StaleVersion
from pytest_agentmail.runs.events import PendingEffect
from pytest_agentmail.runs.masking import Identifier, Name, ShortText, one_line
from pytest_agentmail.stores.protocol import EffectRow

if TYPE_CHECKING:
    from datetime import datetime


__all__ = ["Effect", "EffectKey", "EffectLog", "EffectRecord", "EffectState", "fingerprint"]


class EffectKey(NamedTuple):
    """What an effect is known by, here and in the app it is performed on."""

    run_id: str
    name: str
    step: str

    def __str__(self) -> str:
        """The idempotency key to hand to an app that takes one."""
        return f"{self.run_id}/{self.name}/{self.step}"


class EffectState(StrEnum):
    """How far an effect has come."""

    PENDING = "pending"
    """It was begun, and may have happened."""
    SUCCESS = "success"
    """It happened; it is never performed again."""
    FAILED = "failed"
    """It did not happen; it may be tried again."""


class EffectRecord(BaseModel, frozen=True, extra="forbid"):
    """What is kept of an effect. The arguments are not, only their fingerprint."""

    name: Name
    step: Identifier
    revision: int = 1
    state: EffectState = EffectState.PENDING
    fingerprint: Identifier
    tries: int = 1
    """How often it was begun."""
    sends_mail: Identifier | None = None
    """What the mail it sends looks like, in words; `None` if it sends none."""
    result: str | None = None
    """What came of it, as JSON text."""
    error: ShortText = ""
    unknown: bool = False
    """A probe was asked and could not tell."""
    life: int
    begun_at: AwareDatetime
    settled_at: AwareDatetime | None = None

    @classmethod
    def of(cls, row: EffectRow) -> EffectRecord:
        """The record in a store's row."""
        return cls.model_validate_json(row.body)

    def row(self) -> EffectRow:
        """The store's row of this record."""
        body = self.model_dump_json()
        return EffectRow(self.name, self.step, self.revision, self.state.value, body)

    @property
    def pending(self) -> PendingEffect:
        """How a snapshot shows it while it is pending."""
        return PendingEffect(name=self.name, step=self.step, unknown=self.unknown)


def fingerprint(args: Any) -> str:
    """The sha256 of `args` as canonical JSON: equal arguments, equal fingerprint, in any process.

    Raises:
        SettingsError: If `args` is not JSON; then pass what identifies them instead.
    """
    try:
        canonical = json.dumps(
            args, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        )
    except (TypeError, ValueError) as error:
        raise SettingsError(
            f"the arguments of an effect must be JSON, so that they can be told apart: {error}; "
            f"pass what identifies them (`args=` of an effect, `arguments=` of `once`)"
        ) from error
    return hashlib.sha256(canonical.encode()).hexdigest()


class EffectLog(Protocol):
    """Where the records of effects are kept."""

    def read(self, key: EffectKey) -> EffectRecord | None:
        """The record of that key."""
        ...

    def write(self, record: EffectRecord) -> None:
        """Make the next revision of a record durable; `StaleVersion` if it is not the next."""
        ...

    def stamp(self) -> tuple[int, datetime]:
        """The life that writes, and the time."""
        ...


class Effect:
    """One effect of a run, known by (run, name, step): `pending`, then `success` or `failed`.

    Every change is durable before the method returns. What was begun and never settled stays
    `pending`: a later life must find out whether it happened before it may begin it again.

    Raises:
        EffectConflict: On looking it up, if it is known with other arguments.
    """

    def __init__(
        self, log: EffectLog, key: EffectKey, args: Any = None, *, sends_mail: str | None = None
    ) -> None:
        self.key = key
        self._log = log
        self._fingerprint = fingerprint(args)
        self._sends_mail = sends_mail
        self._known = log.read(key)
        if self._known is not None and self._known.fingerprint != self._fingerprint:
            raise EffectConflict(
                f"effect {str(key)!r} was begun with other arguments: their fingerprint was "
                f"{self._known.fingerprint[:12]}, now it is {self._fingerprint[:12]}; "
                f"another effect needs another name or step"
            )

    @property
    def state(self) -> EffectState | None:
        """`None` before it was begun, then `pending`, `success` or `failed`."""
        return None if self._known is None else self._known.state

    @property
    def record(self) -> EffectRecord | None:
        """All that is kept of it."""
        return self._known

    @property
    def result(self) -> Any:
        """What `succeed` was given; `None` before."""
        kept = None if self._known is None else self._known.result
        return None if kept is None else json.loads(kept)

    def begin(self) -> None:
        """Record the intent. Only then perform it.

        Raises:
            StaleVersion: If it is pending or happened already, here or in another process.
        """
        life, now = self._log.stamp()
        before = self._known
        if before is not None and before.state is not EffectState.FAILED:
            raise StaleVersion(before.revision - 1, before.revision)
        self._put(
            EffectRecord(
                name=self.key.name,
                step=self.key.step,
                revision=1 if before is None else before.revision + 1,
                tries=1 if before is None else before.tries + 1,
                fingerprint=self._fingerprint,
                sends_mail=self._sends_mail,
                life=life,
                begun_at=now,
            )
        )

    def succeed(self, result: Any = None) -> None:
        """Record that it happened, and what came of it.

        Raises:
            SettingsError: If `result` is not JSON, or the effect is not pending.
        """
        self._settle(EffectState.SUCCESS, result=self._exact(result))

    def fail(self, error: BaseException | str) -> None:
        """Record that it did not happen; it may be begun again.

        Raises:
            SettingsError: If the effect is not pending.
        """
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        self._settle(EffectState.FAILED, error=one_line(text))

    def leave_unknown(self) -> None:
        """Record that nobody can tell whether it happened; it stays pending."""
        record = self._pending()
        if not record.unknown:
            self._put(changed(record, unknown=True))

    def _settle(self, state: EffectState, **changes: Any) -> None:
        record = self._pending()
        _, now = self._log.stamp()
        self._put(changed(record, state=state, settled_at=now, unknown=False, **changes))

    def _pending(self) -> EffectRecord:
        if self._known is None or self._known.state is not EffectState.PENDING:
            raise SettingsError(
                f"effect {str(self.key)!r} is {self.state or 'not begun'}; "
                f"only a pending one can be settled"
            )
        return self._known

    def _put(self, record: EffectRecord) -> None:
        self._log.write(record)
        self._known = record

    def _exact(self, result: Any) -> str:
        try:
            text = json.dumps(result, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise self._not_json(result) from error
        if json.loads(text) != result:
            raise self._not_json(result)
        return text

    def _not_json(self, result: Any) -> SettingsError:
        return SettingsError(
            f"effect {str(self.key)!r} happened, but its result, a {type(result).__name__}, is "
            f"not JSON and could not be handed back exactly; give `encode=` and `decode=`"
        )


def changed(record: EffectRecord, **changes: Any) -> EffectRecord:
    """The next revision of `record`, with `changes`, checked like a new one."""
    return EffectRecord.model_validate({**dict(record), "revision": record.revision + 1, **changes})
