"""What the plugin costs a suite, each figure beside something timed in the same run.

Run it with `python -m tests.benchmarks.bench_plugin`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

PAIRS = 15
TESTS = 2000
NO_OP = "def pytest_configure(config):\n    pass\n"
EMPTY = "def test_it():\n    pass\n"
BARE = "import pytest\n@pytest.fixture\ndef bare():\n    yield\n"


def seconds(folder, *args):
    """Wall time of one pytest process."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(folder)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def alternating(folder, variants, rounds):
    """The times of each variant, taken in turns and in alternating order."""
    times = {name: [] for name in variants}
    for number in range(rounds):
        names = list(variants) if number % 2 else list(reversed(variants))
        for name in names:
            times[name].append(seconds(folder, *variants[name]))
    return times


def load():
    """Loading the plugin, against loading one that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "no_op.py").write_text(NO_OP)
        (path / "test_it.py").write_text(EMPTY)
        times = alternating(
            path,
            {
                "none": ["--collect-only"],
                "no-op": ["--collect-only", "-p", "no_op"],
                "ours": ["--collect-only", "-p", "pytest_agentmail.plugin"],
            },
            PAIRS,
        )
    base = median(times["none"])
    for name in ("no-op", "ours"):
        added = median(b - a for a, b in zip(times["none"], times[name], strict=True))
        print(f"load, {name}: {added * 1000:+.1f} ms, {median(times[name]) / base:.3f} x no plugin")


def lease():
    """A lease and its release per test, against a fixture that only yields."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "conftest.py").write_text(BARE)
        for name, fixture in (("bare", "bare"), ("ours", "mailbox")):
            (path / f"test_{name}.py").write_text(
                "import pytest\n"
                f"@pytest.mark.parametrize('n', range({TESTS}))\n"
                f"def test_it(n, {fixture}):\n    pass\n"
            )
        ours = ["-p", "pytest_agentmail.plugin"]
        times = alternating(
            path,
            {
                "bare": [*ours, "test_bare.py"],
                "ours": [*ours, "test_ours.py"],
                "once": [*ours, "test_ours.py", "-k", "test_it[0]"],
                "collected": [*ours, "test_bare.py", "-k", "test_it[0]"],
            },
            5,
        )
    base = median(times["bare"]) - median(times["collected"])
    all_of_it = median(times["ours"]) - median(times["once"])
    print(
        f"lease and release: {all_of_it / TESTS * 1000:.3f} ms a test, "
        f"{all_of_it / base:.2f} x a fixture that only yields ({base / TESTS * 1000:.3f} ms)"
    )


if __name__ == "__main__":
    load()
    lease()
