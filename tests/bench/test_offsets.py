"""The offsets benchmark's quick form: ours are exact, and every figure is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from tests.bench.offset_topics import Shape
from tests.bench.offsets import main

pytestmark = pytest.mark.broker

NOTHING = {"median": 0, "max": 0}


@pytest.mark.slow
def test_quick_form(pair: LocalPair, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each of our positions is answered, nothing read again, skipped or missing; MirrorMaker 2 stands beside it."""
    out = tmp_path / "offsets.json"
    assert main(["--quick", "--json-out", str(out)], pair=pair) == 0
    topics = json.loads(out.read_text(encoding="utf-8"))["topics"]
    assert [(topic["topic"], topic["who"]) for topic in topics] == [
        (shape.value, who) for shape in Shape for who in ("ours", "mm2")
    ]
    for topic in topics:
        assert topic["copied_once_and_in_order"]
        assert topic["positions"] == len(topic["answers"]) == 10
        assert topic["missing"] == NOTHING
        if topic["who"] == "ours":
            assert topic["without_an_answer"] == 0
            assert topic["again"] == topic["skipped"] == NOTHING
    table = capsys.readouterr().out
    assert all(shape.value in table for shape in Shape)
