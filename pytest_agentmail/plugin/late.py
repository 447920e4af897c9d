"""Warn of mail that came after its test."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_agentmail.mail.post_office import Late

__all__ = ["LATE_MAIL", "warn"]

LATE_MAIL = pytest.StashKey["list[Late]"]()
"""Where late mail is kept on the config until the session ends."""


def warn(config: pytest.Config) -> None:
    """Put one warning a mail into the summary, under the test it was for."""
    for late in config.stash.get(LATE_MAIL, []):
        _warn_of(config, late)


def _warn_of(config: pytest.Config, late: Late) -> None:
    from pytest_agentmail.errors import LateMail
    from pytest_agentmail.mail.masking import masked

    text = (
        f"mail {masked(late.message.subject)!r} came for {late.test} after it had ended; wait for "
        f"it with mailbox.wait(), or stop what sends it"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LateMail)
        warnings.warn(LateMail(text), stacklevel=1)
    for warning in caught:
        config.hook.pytest_warning_recorded.call_historic(
            kwargs={
                "warning_message": warning,
                "nodeid": late.test,
                "when": "runtest",
                "location": None,
            }
        )
