"""The CI recipe of docs/how-to/drill.md, run as it is: real clusters, a drill, its files, its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = [pytest.mark.broker, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "ci" / "drill.sh"
STRICT = """name: strict
source: {alias: us, settings: {bootstrap.servers: "${MM2_SOURCE}"}}
target: {alias: eu, settings: {bootstrap.servers: "${MM2_TARGET}"}}
topics: ["flights"]
drill: {rto_s: 0.001}
"""


def built_wheel(folder: Path) -> Path:
    """The package as it would be published, built from what is here."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(folder: Path) -> dict[str, str]:
    """What the package needs is this environment's, the package itself is not: it has to be installed."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    python = programs / "python3"
    if not python.exists():
        python.symlink_to(sys.executable)
    without_ours = [path for path in sys.path if not (Path(path or ".") / "airflow_provider_mm2").exists()]
    return {
        **{name: value for name, value in os.environ.items() if name != "MM2"},
        "PATH": os.pathsep.join((str(programs), os.environ["PATH"])),
        "PYTHONPATH": os.pathsep.join(without_ours),
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "TMPDIR": str(folder),
    }


def run_script(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it."""
    given = {**environment(folder), **variables}
    return subprocess.run([SCRIPT, *words], env=given, cwd=folder, capture_output=True, text=True, timeout=300)


def test_it_passes_and_fails(kafka_folder: Path) -> None:
    """A drill that keeps its limits ends with 0, one that does not with 1; both leave their files, and no broker.

    The first one installs the built package into an environment that it makes; the second uses that ``mm2``.
    """
    wheel = built_wheel(kafka_folder)
    passed = run_script(kafka_folder, "reports", "--load", "1", FLOW="sample", PACKAGE=f"{wheel}[drill,local]")
    assert passed.returncode == 0, passed.stderr[-2000:]
    python = kafka_folder / ".mm2-venv" / "bin" / "python"
    where = [python, "-c", "import airflow_provider_mm2; print(airflow_provider_mm2.__file__)"]
    used = subprocess.run(where, env=environment(kafka_folder), cwd=kafka_folder, capture_output=True, text=True)
    assert Path(used.stdout.strip()).is_relative_to(kafka_folder / ".mm2-venv"), used.stdout + used.stderr
    flow = kafka_folder / "strict.yaml"
    flow.write_text(STRICT)
    mm2 = kafka_folder / ".mm2-venv" / "bin" / "mm2"
    failed = run_script(kafka_folder, "strict", "--load", "1", FLOW=str(flow), MM2=str(mm2))
    assert failed.returncode == 1, failed.stderr[-2000:]
    for name, result in (("reports", True), ("strict", False)):
        folder = kafka_folder / name
        assert json.loads((folder / "drill.json").read_text("utf-8"))["passed"] is result
        cases = list(ElementTree.parse(folder / "drill.xml").iter("failure"))  # noqa: S314 - our own
        assert bool(cases) is not result
        assert "<!doctype html>" in (folder / "drill.html").read_text("utf-8")
        assert len((folder / "drills.jsonl").read_text("utf-8").splitlines()) == 1
