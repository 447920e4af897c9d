"""Names in modules that stand for a function of `time`, as after `from time import sleep`."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    Function = Callable[..., Any]

__all__ = ["Aliases"]

_UNTOUCHED = frozenset({"builtins", "freezegun", "pytest_agentmail", "time", "time_machine"})


class Aliases:
    """Finds aliases and covers them. Each module is searched once, when it is first seen.

    Only what a module's dictionary holds is looked at, so that lazy modules stay lazy.

    Args:
        untouched: Top-level packages to leave alone.
    """

    def __init__(self, untouched: frozenset[str]) -> None:
        self._untouched = untouched | _UNTOUCHED
        self._names: dict[int, str] = {}
        self._known: list[Function] = []
        self._searched: dict[str, int] = {}
        self._found: list[tuple[weakref.ref[ModuleType], str, str]] = []
        self._before: dict[tuple[int, str], tuple[dict[str, Any], Function]] = {}

    def know(self, name: str, *functions: Function) -> None:
        """Look for these as `name`, in modules not searched yet."""
        for function in functions:
            if id(function) not in self._names:
                self._names[id(function)] = name
                self._known.append(function)

    def cover(self, covers: Mapping[str, Function]) -> None:
        """Put `covers` in the place of every alias."""
        self._search(self._names)
        for reference, key, name in self._found:
            module = reference()
            there = {} if module is None else vars(module)
            value = there.get(key)
            if callable(value) and value is not covers[name] and id(value) in self._names:
                self._before[id(there), key] = there, value
                there[key] = covers[name]

    def uncover(self, covers: Mapping[str, Function], originals: Mapping[str, Function]) -> None:
        """Put back what was there; modules imported meanwhile get `originals`."""
        for (_, key), (there, value) in self._before.items():
            there[key] = value
        self._before.clear()
        for module, key, name in self._search({id(covers[name]): name for name in covers}):
            setattr(module, key, originals[name])

    def _search(self, names: Mapping[int, str]) -> list[tuple[ModuleType, str, str]]:
        fresh = []
        for module in self._new_modules():
            for key, value in tuple(vars(module).items()):
                if (name := names.get(id(value))) is not None:
                    fresh.append((module, key, name))
        self._found += [(weakref.ref(module), key, name) for module, key, name in fresh]
        return fresh

    def _new_modules(self) -> Iterator[ModuleType]:
        for name, module in tuple(sys.modules.items()):
            if self._searched.get(name) != id(module):
                self._searched[name] = id(module)
                if hasattr(module, "__dict__") and name.partition(".")[0] not in self._untouched:
                    yield module
