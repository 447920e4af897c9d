"""The names a suite imports: fixed, and imported when first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pytest_agentmail
from pytest_agentmail import errors


def test_all_is_pinned():
    assert set(pytest_agentmail.__all__) == {
        "AgentRun",
        "CheckResult",
        "Evidence",
        "Happened",
        "Ledger",
        "MailHistory",
        "MailWorld",
        "Mailbox",
        "Message",
        "RunReport",
        "Signal",
        "SignalQueue",
        "SignalStatus",
        "Snapshot",
        "VirtualClock",
        "world",
        *errors.__all__,
    }


@pytest.mark.parametrize("name", pytest_agentmail.__all__)
def test_every_name_is_there(name):
    assert getattr(pytest_agentmail, name).__name__.endswith(name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Postbox'"):
        pytest_agentmail.Postbox  # noqa: B018


def test_importing_the_package_imports_nothing_else_of_it():
    code = (
        "import sys, pytest_agentmail;"
        "print(sorted(m for m in sys.modules if m.startswith('pytest_agentmail')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['pytest_agentmail']\n"
