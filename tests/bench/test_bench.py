"""The benchmark's quick form: what it measures, not how fast that was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.children import ROOT
from tests.bench.loads import LOADS
from tests.proof.conftest import SOAK

pytestmark = pytest.mark.broker

SHARE = 0.002
TRIED = LOADS if SOAK else tuple(load for load in LOADS if load.name in ("100 B", "1 kB"))


@pytest.mark.slow
def test_quick_form(tmp_path: Path) -> None:
    """Each load is copied whole by the mirror and by the plain loop, and every figure of the table is there."""
    out = tmp_path / "bench.json"
    options = ["--quick", "--share", str(SHARE), "--footprint", "3000", "--dir", str(tmp_path), "--json-out", str(out)]
    options += ["--load", *(load.name for load in TRIED)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", *options], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(out.read_text(encoding="utf-8"))
    assert [load["load"] for load in measured["loads"]] == [load.name for load in TRIED]
    for load in measured["loads"]:
        for copy in (*load["ours"], *load["plain"]):
            assert copy["records"] == copy["counted"] == load["records"]
            assert copy["seconds"] > 0
            assert copy["cpu_s"] > 0
            assert copy["peak_bytes"] < 400_000_000
        assert load["ratios"]["ours/plain"] > 0
    assert [load["load"] for load in measured["loads"] if "mm2_tuned" in load] == ["1 kB"]
    (footprint,) = measured["footprints"]
    assert footprint["records"] == 3000
    assert footprint["peak_bytes"] < 400_000_000
    for load in TRIED:
        assert load.name in done.stdout
