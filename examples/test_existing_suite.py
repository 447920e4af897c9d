"""Run the Django project as its team does: in its folder, with its own settings."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent / "existing_suite"


def test_the_django_project():
    pytest = [sys.executable, "-m", "pytest", "-v", "-rP", "--show-capture=stdout"]
    subprocess.run(pytest, cwd=PROJECT, check=True)
