"""Loading the plugin costs nothing (D8): no heavy module, and few of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys

HEAVY = {
    "pydantic", "pydantic_core", "aiosmtpd", "hypothesis", "freezegun", "dateutil", "asyncio",
    "ssl", "sqlite3", "smtplib", "concurrent.futures", "django", "email.policy",
}  # fmt: skip
PROBE = """
import json, sys
import pytest
class Dump:
    def pytest_unconfigure(self):
        open(sys.argv[1], "w").write(json.dumps(sorted(sys.modules)))
code = pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[2:]], plugins=[Dump()])
sys.exit(code)
"""


def modules_after_a_session(tmp_path, *args):
    (tmp_path / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    dump = tmp_path / "modules.json"
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(
        [sys.executable, "-c", PROBE, str(dump), *args, "test_nothing.py"],
        cwd=tmp_path, env=env, check=True, capture_output=True,
    )  # fmt: skip
    return set(json.loads(dump.read_text()))


def test_a_suite_that_does_not_use_it_pays_for_few_light_modules(tmp_path):
    without = modules_after_a_session(tmp_path)
    added = modules_after_a_session(tmp_path, "-p", "pytest_agentmail.plugin") - without

    ours = {name for name in added if name.startswith("pytest_agentmail")}
    assert added - ours == set()
    assert len(ours) <= 8
    assert not HEAVY & added
