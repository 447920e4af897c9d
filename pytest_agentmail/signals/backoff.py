"""How long to wait before asking again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

__all__ = ["Backoff"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Short, growing, capped pauses (B12), spread out by a jitter that each signal repeats.

    Args:
        first: The pause after the first check, in seconds.
        factor: By how much each pause is longer than the one before.
        cap: The longest pause, in seconds.
        jitter: The largest share by which a pause is made longer.
        seed: What spreads the pauses of one run from those of another.
    """

    first: float = 0.5
    factor: float = 2.0
    cap: float = 15.0
    jitter: float = 0.1
    seed: str = ""

    def __post_init__(self) -> None:
        if not (0 < self.first <= self.cap and self.factor >= 1 and 0 <= self.jitter <= 1):
            raise ValueError(
                f"{self!r}: expected 0 < first <= cap, factor >= 1 and 0 <= jitter <= 1"
            )

    def delay(self, kind: str, checks: int) -> float:
        """Seconds to wait after that many checks for a kind of mail; the same in every life."""
        pause = min(self.cap, self.first * self.factor ** min(checks - 1, 64))
        digest = hashlib.sha256(f"{self.seed} {kind} {checks}".encode()).digest()
        return pause * (1 + self.jitter * int.from_bytes(digest[:4]) / 2**32)
