"""The comparison benchmark's quick form: what it measures, not how fast that was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from tests.bench.verify import WAYS, main

pytestmark = pytest.mark.broker


def test_quick_form(pair: LocalPair, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every record is read by each of the three ways, and every figure of the table is there."""
    out = tmp_path / "verify.json"
    assert main(["--share", "0", "--rounds", "1", "--load", "1 kB", "--json-out", str(out)], pair=pair) == 0
    (row,) = json.loads(out.read_text(encoding="utf-8"))["loads"]
    assert (row["load"], row["records"]) == ("1 kB", 2_000)
    table = capsys.readouterr().out
    for way in WAYS:
        assert row["medians"][way] > 0
        assert row["peak_bytes"][way] < 400_000_000
        assert f"{way} " in table
