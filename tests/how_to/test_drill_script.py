"""What the CI recipe of docs/how-to/drill.md refuses, and what it installs; no broker is started."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = """#!/bin/sh
# stands for python3 and for the python of the environment that it makes
echo "$@" >> "$CALLS"
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; exit 0; fi
exit 9
"""


def run_script(script: Path, folder: Path, **variables: str) -> tuple[int, str, list[str]]:
    """Run it; gives its exit code, what it says and what Python was called with."""
    programs, calls = folder / "programs", folder / "calls"
    programs.mkdir()
    python = programs / "python3"
    python.write_text(PYTHON)
    python.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name not in ("MM2", "PACKAGE", "FLOW")}
    given = {**kept, "PATH": os.pathsep.join((str(programs), os.environ["PATH"])), "CALLS": str(calls), **variables}
    done = subprocess.run([script], env=given, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr, calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def script() -> Path:
    """Give the script in its checkout."""
    return ROOT / "docs" / "ci" / "drill.sh"


@pytest.mark.parametrize(
    ("variables", "told"),
    [({}, "Next move: set FLOW to your flow's file, or to sample"), ({"FLOW": "nowhere.yaml"}, "no file nowhere.yaml")],
)
def test_no_flow(script: Path, tmp_path: Path, variables: dict[str, str], told: str) -> None:
    """The sample flow is drilled only when it is asked for: without a flow it ends with 2, and installs nothing."""
    code, said, calls = run_script(script, tmp_path, **variables)
    assert (code, calls) == (2, [])
    assert told in said


def test_from_its_checkout(script: Path, tmp_path: Path) -> None:
    """Without MM2 and PACKAGE the checkout that it lies in is installed, with both extras; a PACKAGE wins."""
    code, _, calls = run_script(script, tmp_path, FLOW="sample")
    assert (code, calls[-1]) == (9, f"-m pip install --quiet {ROOT}[drill,local]")
    other = tmp_path / "other"
    other.mkdir()
    _, _, calls = run_script(script, other, FLOW="sample", PACKAGE="some.whl[drill,local]")
    assert calls[-1] == "-m pip install --quiet some.whl[drill,local]"


def test_copied_out(script: Path, tmp_path: Path) -> None:
    """A copy elsewhere has nothing to install from, and says what to set."""
    copy = tmp_path / "repository" / "ci" / "drill.sh"
    copy.parent.mkdir(parents=True)
    shutil.copy(script, copy)
    code, said, calls = run_script(copy, tmp_path, FLOW="sample")
    assert (code, calls) == (2, [])
    assert "Next move: set MM2 to an installed mm2, or PACKAGE to what pip shall install" in said
