"""Tell of mail that came after its test: a warning, or a failure where warnings are errors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_agentmail.mail.post_office import Late

__all__ = ["LATE_MAIL", "explain", "take_over", "warn"]

LATE_MAIL = pytest.StashKey["list[Late]"]()
"""Where late mail is kept on the config until the session ends."""

_FAILED = pytest.StashKey[bool]()
"""Whether late mail was an error, here or in a worker of xdist."""

_KEY = "agentmail_late_failed"


def warn(session: pytest.Session) -> None:
    """Warn of each late mail, under the test it was for; the suite's filters decide what follows.

    Where they make it an error, a session that would have passed fails.
    """
    config = session.config
    for late in config.stash.get(LATE_MAIL, []):
        _warn_of(config, late)
    if config.stash.get(_FAILED, False):
        getattr(config, "workeroutput", {})[_KEY] = True
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def take_over(config: pytest.Config, worker: Any) -> None:
    """Take from a worker of xdist whether late mail was an error; one that crashed has no say."""
    if getattr(worker, "workeroutput", {}).get(_KEY):
        config.stash[_FAILED] = True


def explain(reporter: pytest.TerminalReporter) -> None:
    """Say why a session fails in which no test did."""
    if reporter.config.stash.get(_FAILED, False):
        reporter.write_line(
            "agentmail: the session fails because of late mail, which is an error here "
            "(filterwarnings); the warnings above name the tests",
            red=True,
        )


def _warn_of(config: pytest.Config, late: Late) -> None:
    from pytest_agentmail.errors import LateMail
    from pytest_agentmail.mail.masking import masked

    warning = LateMail(
        f"mail {masked(late.message.subject)!r} came for {late.test} after it had ended; wait for "
        f"it with mailbox.wait(), or stop what sends it"
    )
    file = late.test.partition("::")[0]
    with warnings.catch_warnings(record=True) as caught:
        try:
            # Without a registry, so that each mail counts, whatever was warned of before.
            warnings.warn_explicit(warning, LateMail, file, 0)
        except LateMail:
            config.stash[_FAILED] = True
            caught.append(warnings.WarningMessage(warning, LateMail, file, 0))
    for message in caught:
        config.hook.pytest_warning_recorded.call_historic(
            kwargs={
                "warning_message": message,
                "nodeid": late.test,
                "when": "runtest",
                "location": None,
            }
        )
