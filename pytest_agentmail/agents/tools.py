"""The tools an agent calls: counted, and given time for their effect to show."""

from __future__ import annotations

import functools
import inspect
import re
import threading
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from pytest_agentmail.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from pytest_agentmail.agents.timing import Hold
    from pytest_agentmail.mail.post_office import RunMail

__all__ = ["CallCount", "Tools"]

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_STEP_LIMIT = float("inf")


@dataclass(frozen=True, slots=True)
class CallCount:
    """How often a step was called."""

    attempted: int = 0
    """Calls that began."""
    completed: int = 0
    """Calls that returned."""
