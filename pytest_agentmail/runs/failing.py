"""What cannot be understood is never taken for a first run."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_agentmail.errors import IllegalTransition, StoreCorrupt

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["fail_closed"]


@contextmanager
def fail_closed(run_id: str) -> Iterator[None]:
    """Say that what is stored of a run cannot be read, if reading it fails."""
    try:
        yield
    except (ValueError, IllegalTransition) as error:
        raise StoreCorrupt(f"what is stored of run {run_id!r} cannot be read: {error}") from error
