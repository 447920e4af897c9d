"""Attributes that are replaced for a while."""

from __future__ import annotations

from typing import Any

__all__ = ["Patches"]

_ABSENT = object()


class Patches:
    """Puts values in the place of attributes, and takes all of them back."""

    def __init__(self) -> None:
        self._before: dict[tuple[int, str], tuple[Any, Any]] = {}

    def put(self, owner: Any, name: str, value: object) -> None:
        """Set `owner.name`; what stood there last is what comes back."""
        self._before[id(owner), name] = owner, vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)

    def take_back(self) -> None:
        """Restore all of it."""
        for (_, name), (owner, value) in self._before.items():
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._before.clear()
