"""Every code block a reader may copy is run, and every table a reader looks up is true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_agentmail import plugin
from pytest_agentmail.settings import SETTINGS, Settings

ROOT = Path(__file__).parents[1]
CI_RUN = ROOT / ".ci" / "run"
CI_COMMANDS = ROOT / ".ci" / "readme-commands"
README = ROOT / "README.md"
READMES = [README, *sorted(ROOT.glob("examples/[a-z]*/README.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXCERPT = re.compile(r"# (examples/\S+)\n")


class Block(NamedTuple):
    readme: Path
    line: int
    language: str
    code: str
    shown: str | None
    """The `text` block after it: what running it shows."""

    @property
    def name(self) -> str:
        return f"{self.readme.relative_to(ROOT)}:{self.line}"


def blocks_of(readme: Path) -> list[Block]:
    text = readme.read_text("utf-8")
    blocks = []
    for fenced in FENCED.finditer(text):
        language, code = fenced.groups()
        if language == "text" and blocks:
            blocks[-1] = blocks[-1]._replace(shown=code)
        blocks.append(Block(readme, text.count("\n", 0, fenced.start(2)) + 1, language, code, None))
    return blocks


BLOCKS = [block for readme in READMES for block in blocks_of(readme)]
PYTHON = [block for block in BLOCKS if block.language == "python"]
EXCERPTS = [block for block in PYTHON if EXCERPT.match(block.code)]
TESTS = [block for block in PYTHON if block not in EXCERPTS]
INI_FILES = [block for block in BLOCKS if block.language == "ini"]
COMMANDS = [block for block in BLOCKS if block.language == "sh"]


def each(blocks):
    """One test for each block."""
    return pytest.mark.parametrize(
        "block", [pytest.param(block, id=block.name) for block in blocks]
    )


@pytest.fixture
def pytest_run(pytester, monkeypatch):
    """Run a pytest of its own with our plugin and no other."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return lambda *args: pytester.runpytest_inprocess("-p", "agentmail", *args)


def test_every_block_is_of_a_kind_that_is_checked():
    assert {block.language for block in BLOCKS} == {"python", "sh", "text", "ini"}
    for before, block in pairwise(BLOCKS):
        assert block.language != "text" or before.language == "python"


@each(TESTS)
def test_python_is_tests_that_do_what_is_said(block, pytester, pytest_run):
    whole = "\n\n".join(other.code for other in TESTS if other.readme == block.readme)
    pytester.makepyfile(test_copied=whole)
    tests = re.findall(r"^def (test_\w+)", block.code, re.MULTILINE)
    assert tests

    result = pytest_run(*(f"test_copied.py::{test}" for test in tests))

    if block.shown is None:
        result.assert_outcomes(passed=len(tests))
    else:
        result.assert_outcomes(failed=len(tests))
        shown = block.shown.replace("…", "*").splitlines()
        result.stdout.fnmatch_lines([f"E * {line}" for line in shown], consecutive=True)


@each(EXCERPTS)
def test_an_excerpt_is_in_the_file_it_names(block):
    heading, code = block.code.split("\n", maxsplit=1)
    assert code.strip() in (ROOT / heading.removeprefix("# ")).read_text("utf-8")


@each(INI_FILES)
def test_an_ini_file_sets_what_it_names(block, pytester, pytest_run):
    pytester.makefile(".ini", pytest=block.code)
    given = re.findall(r"^agentmail_(\w+) = (\S+)$", block.code, re.MULTILINE)
    assert given

    header = pytest_run().stdout.str()

    for name, value in given:
        assert f"{name}={SETTINGS[name].read(value)}" in header


@each([block for block in COMMANDS if block.readme != README])
def test_the_command_of_an_example_runs(block):
    scripts = Path(sys.executable).parent
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
        check=True,
    )


def test_ci_runs_the_two_commands_of_the_readme_as_they_stand():
    commands = [block.code for block in COMMANDS if block.readme == README]
    extracted = subprocess.check_output([CI_COMMANDS], cwd=ROOT, text=True)

    assert extracted == "".join(commands)
    assert len(extracted.splitlines()) == 2
    assert "\n.ci/readme-commands | while read -r command; do\n" in CI_RUN.read_text("utf-8")


def table(*header: str) -> list[tuple[str, ...]]:
    """The rows under that header, each cell without its back-quotes."""
    lines = iter(README.read_text("utf-8").splitlines())
    for line in lines:
        if cells(line) == header:
            next(lines)
            break
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(cells(line))
    return rows


def cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip().strip("`") for cell in line.strip("|").split("|"))


def test_the_fixtures_table_has_every_public_fixture():
    fixtures = {name for name in plugin.__all__ if not name.startswith("_")}
    assert {row[0] for row in table("fixture", "scope", "gives")} == fixtures


def test_the_fixtures_table_has_their_scopes(pytester, pytest_run):
    shown = pytest_run("--fixtures").stdout.str()
    for name, scope, _ in table("fixture", "scope", "gives"):
        mark = "" if scope == "function" else rf" \[{scope} scope\]"
        assert re.search(rf"^{name}{mark} -- ", shown, re.MULTILINE)


def test_the_settings_table_is_that_of_the_code():
    documented = [
        (row[0].split("`")[0], *row[1:])
        for row in table("setting", "command line", "ini", "marker", "default")
    ]
    assert documented == [
        (
            name,
            f"--agentmail-{name.replace('_', '-')}" if setting.option else "",
            f"agentmail_{name}",
            f"{name}=" if setting.per_run else "",
            _written(getattr(Settings(), name)),
        )
        for name, setting in SETTINGS.items()
    ]


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
