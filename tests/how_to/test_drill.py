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

SCRIPT = Path(__file__).parents[2] / "docs" / "ci" / "drill.sh"
STRICT = """name: strict
source: {alias: us, settings: {bootstrap.servers: "${MM2_SOURCE}"}}
target: {alias: eu, settings: {bootstrap.servers: "${MM2_TARGET}"}}
topics: ["flights"]
drill: {rto_s: 0.001}
"""


def run_script(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it with the ``mm2`` of this environment."""
    mm2 = folder / "mm2"
    mm2.write_text(f'#!/bin/sh\nexec {sys.executable} -m airflow_provider_mm2.cli.main "$@"\n')
    mm2.chmod(0o755)
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "MM2": str(mm2), "PYTHONPATH": path, "TMPDIR": str(folder), **variables}
    return subprocess.run([SCRIPT, *words], env=environment, cwd=folder, capture_output=True, text=True, timeout=300)


def test_it_passes_and_fails(kafka_folder: Path) -> None:
    """A drill that keeps its limits ends with 0, one that does not with 1; both leave their files, and no broker."""
    passed = run_script(kafka_folder, "reports", "--load", "1")
    assert passed.returncode == 0, passed.stderr[-2000:]
    flow = kafka_folder / "strict.yaml"
    flow.write_text(STRICT)
    failed = run_script(kafka_folder, "strict", "--load", "1", FLOW=str(flow))
    assert failed.returncode == 1, failed.stderr[-2000:]
    for name, result in (("reports", True), ("strict", False)):
        folder = kafka_folder / name
        assert json.loads((folder / "drill.json").read_text("utf-8"))["passed"] is result
        cases = list(ElementTree.parse(folder / "drill.xml").iter("failure"))  # noqa: S314 - our own
        assert bool(cases) is not result
        assert "<!doctype html>" in (folder / "drill.html").read_text("utf-8")
        assert len((folder / "drills.jsonl").read_text("utf-8").splitlines()) == 1
