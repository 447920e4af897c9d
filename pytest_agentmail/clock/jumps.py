"""How often time moved on while nothing happened that anybody waited for."""

from __future__ import annotations

from collections import Counter

__all__ = ["Jumps"]

_MOST_KINDS = 100


class Jumps:
    """Counts jumps, and what they led to.

    Attributes:
        total: The jumps since something happened that somebody waited for.
    """

    def __init__(self) -> None:
        self.total: int = 0
        self._kinds: Counter[str] = Counter()

    def count(self, what: str) -> None:
        """Note a jump to the time of `what`; of too many kinds, only the first are told apart."""
        self.total += 1
        if what in self._kinds or len(self._kinds) < _MOST_KINDS:
            self._kinds[what] += 1

    def clear(self) -> None:
        """Begin anew."""
        if self.total:
            self.total = 0
            self._kinds.clear()

    def most_common(self, most: int) -> list[tuple[str, int]]:
        """What time moved on to most often, and how often."""
        return self._kinds.most_common(most)
