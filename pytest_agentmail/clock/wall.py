"""Real time, whatever a suite or a drive has done to the module `time`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WALL", "unfrozen"]


def unfrozen(name: str) -> Any:
    """A function of `time`, even if this module is first imported while time is frozen."""
    return getattr(sys.modules.get("freezegun.api"), f"real_{name}", getattr(time, name))


class _Wall:
    """An object, since freezegun replaces clocks that stand alone in a module."""

    __slots__ = ("monotonic", "sleep")

    def __init__(self) -> None:
        self.monotonic: Callable[[], float] = unfrozen("monotonic")
        self.sleep: Callable[[float], None] = unfrozen("sleep")


WALL = _Wall()
