"""What the world does in a run, in time order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentmail.errors import SettingsError
from pytest_agentmail.world import MailArrives, MailFault, ProviderFault, SmtpFault, Word

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MailHistory"]

_HAPPENINGS = (MailArrives, MailFault, SmtpFault, ProviderFault)


class MailHistory:
    """Arrivals in the order of their time, and faults; prints as the code that makes it.

    Args:
        *happenings: Values made by `pytest_agentmail.world`.

    Raises:
        SettingsError: One of them is something else.
    """

    def __init__(self, *happenings: Word) -> None:
        for happening in happenings:
            if not isinstance(happening, _HAPPENINGS):
                raise SettingsError(f"{happening!r} is nothing the world does: expected world.…")
        arrivals = [each for each in happenings if isinstance(each, MailArrives)]
        self.arrivals: tuple[MailArrives, ...] = tuple(sorted(arrivals, key=_time))
        """The mail the world writes, earliest first; at one time in the order given."""
        self.mail_faults: tuple[MailFault | SmtpFault, ...] = tuple(
            h for h in happenings if isinstance(h, MailFault | SmtpFault)
        )
        """What goes wrong with the run's mail."""
        self.provider_faults: tuple[ProviderFault, ...] = tuple(
            h for h in happenings if isinstance(h, ProviderFault)
        )
        """What goes wrong with the provider's answers."""

    def __iter__(self) -> Iterator[Word]:
        yield from self.arrivals
        yield from self.mail_faults
        yield from self.provider_faults

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MailHistory) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"MailHistory({', '.join(map(repr, self))})"


def _time(arrival: MailArrives) -> float:
    return arrival.after
