"""Faults that were planned, and how often each struck."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Plan", "Planned"]

F = TypeVar("F")


@dataclass(eq=False, slots=True)
class Planned(Generic[F]):
    """One fault of a plan; equal ones are counted apart."""

    fault: F
    struck: int = 0
    """How often it struck."""


class Plan(Generic[F]):
    """Faults in the order in which they were planned. Safe to use from several threads.

    Args:
        faults: The first of them.
    """

    def __init__(self, faults: Iterable[F] = ()) -> None:
        self._lock = threading.RLock()
        self._all = [Planned(fault) for fault in faults]

    def __iter__(self) -> Iterator[F]:
        with self._lock:
            return iter([planned.fault for planned in self._all])

    def add(self, faults: Iterable[F]) -> None:
        """Plan these too."""
        with self._lock:
            self._all += [Planned(fault) for fault in faults]

    def strike_first(self, is_due: Callable[[Planned[F]], bool]) -> F | None:
        """Let the first that is due strike, and give it; None where none is."""
        with self._lock:
            for planned in filter(is_due, self._all):
                planned.struck += 1
                return planned.fault
        return None

    def strike_all(self, is_due: Callable[[Planned[F]], bool]) -> list[F]:
        """Let all that are due strike, and give them."""
        with self._lock:
            due = [planned for planned in self._all if is_due(planned)]
            for planned in due:
                planned.struck += 1
        return [planned.fault for planned in due]

    def pending(self) -> list[F]:
        """Those that never struck."""
        with self._lock:
            return [planned.fault for planned in self._all if not planned.struck]

    def told(self, note: Callable[[F, int], str]) -> list[str]:
        """A sentence for each that struck, made of it and how often it did."""
        with self._lock:
            struck = [planned for planned in self._all if planned.struck]
        return [note(planned.fault, planned.struck) for planned in struck]
