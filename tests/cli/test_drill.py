"""What `mm2 drill` refuses, and what people read of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app


@pytest.mark.parametrize("words", [("--topic", "t"), ("--group", "g"), ("--limit-records", "5")])
def test_without_a_game_day(words: tuple[str, str], tmp_path: Path) -> None:
    """An option of game days without one: the next move says what to add."""
    told = CliRunner().invoke(app, ["drill", str(tmp_path / "flow.yaml"), *words, "--json"])
    assert told.exit_code == 2
    error = json.loads(told.stdout.splitlines()[-1])["error"]
    assert (error["kind"], error["facts"]["options"]) == ("OptionMissing", [words[0]])
    assert f"Next move: add --game-day, or leave {words[0]} out" in error["message"]
