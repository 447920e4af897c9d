"""The layers: which part may import what."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import pytest_agentmail

PACKAGE = Path(pytest_agentmail.__file__).parent
KNOWS_PYTEST = ("plugin", "reporting", "contracts")
PURE = ("signals", "runs", "scenarios", "mail", "clock")
DOES_IO = {
    "signals/waiting.py",
    "mail/smtp/sink.py",
    "mail/smtp/serving.py",
    "mail/smtp/connection.py",
    "mail/smtp/conversation.py",
    "mail/smtp/engine.py",
    "mail/smtp/tls.py",
    "clock/real.py",
    "clock/tasks.py",
    "clock/loop.py",
    "clock/sharing.py",
    "clock/frozen.py",
    "clock/driven.py",
    "clock/virtual.py",
}
IO = {"asyncio", "sqlite3", "aiosmtpd", "hypothesis", "freezegun", "socket", "ssl", "smtplib"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The top-level packages that the module imports anywhere, for types apart."""
    tree = ast.parse(path.read_text())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_layers(path):
    where = path.relative_to(PACKAGE)
    names = imported(path)
    if where.parts[0] not in KNOWS_PYTEST:
        assert "pytest" not in names
        assert "_pytest" not in names
    if where.parts[0] in PURE and str(where) not in DOES_IO:
        assert not names & IO


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_stay_readable(path):
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_every_module_says_what_it_gives(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = import_module(".".join(part for part in parts if part != "__init__"))
    assert module.__doc__
    assert all(hasattr(module, name) for name in getattr(module, "__all__", ()))
