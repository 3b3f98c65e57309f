"""What `mm2 drill` refuses, and what people read of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli import output
from airflow_provider_mm2.cli.drill_output import show_drill
from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.mirror.drill.home import Home
from airflow_provider_mm2.mirror.drill.report import GroupPlace, Played
from tests.mirror.drill.test_page import report


@pytest.mark.parametrize("words", [("--topic", "t"), ("--group", "g"), ("--limit-records", "5")])
def test_without_a_game_day(words: tuple[str, str], tmp_path: Path) -> None:
    """An option of game days without one: the next move says what to add."""
    told = CliRunner().invoke(app, ["drill", str(tmp_path / "flow.yaml"), *words, "--json"])
    assert told.exit_code == 2
    error = json.loads(told.stdout.splitlines()[-1])["error"]
    assert (error["kind"], error["facts"]["options"]) == ("OptionMissing", [words[0]])
    assert f"Next move: add --game-day, or leave {words[0]} out" in error["message"]


LONG = "billing-and-everything-else-that-has-a-long-name-in-this-company"
TOPIC = "orders.of.all.customers.in.the.whole.wide.world.version-17"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Give what a terminal of 80 columns shows of a game day with long names and large offsets."""
    monkeypatch.setattr(output, "PIPE_WIDTH", 80)
    places = [
        *(
            GroupPlace(
                group=LONG,
                topic=TOPIC,
                partition=partition,
                source_offset=9_876_543_210,
                target_offset=9_876_540_000,
                exact=False,
                reason="behind the mirror's start by 123456",
                played=Played(
                    source_now=9_876_543_299,
                    compared=10_000,
                    read=10_000,
                    lost=1_234_567,
                    repeated=2_345_678,
                    skipped=0,
                    reordered=0,
                    unlike=3,
                    digest=None,
                    cut=False,
                ),
            )
            for partition in range(2)
        ),
        GroupPlace(
            group=LONG,
            topic=TOPIC,
            partition=2,
            source_offset=None,
            target_offset=None,
            exact=False,
            reason="no commit on source",
        ),
    ]
    made = report(mode="game-day")
    tally = replace(made.groups[0], group=LONG)
    made = replace(made, groups=(tally,), places=tuple(places), left_behind=("topic t on us",))
    show_drill(made.to_json())
    return capsys.readouterr().out.splitlines()


def test_a_game_day_in_80_columns(told: list[str]) -> None:
    """No line is longer, names stand whole in lines of their own, and no number is broken."""
    tables = [line for line in told if not line.startswith(("group ", "may not", "left"))]
    assert max(len(line.rstrip()) for line in tables if "records to be mirrored" not in line) <= 80
    assert f"group {LONG}, topic {TOPIC}:" in told
    assert f"group {LONG}:" in told
    text = "\n".join(told)
    for number in ("9,876,543,210", "9,876,543,299", "9,876,540,000", "1,234,567", "2,345,678"):
        assert text.count(number) == 2, text
    assert "  partition 0, 1: behind the mirror's start by 123456" in told
    assert "  partition 2: no commit on source" in told


def test_words_of_a_game_day(told: list[str]) -> None:
    """It is no drill: nothing was written, and what was read of the source was compared."""
    text = "\n".join(told)
    assert "game day of flow orders: phases" in text
    assert "counts for rto" in text
    assert "1,000 records to be mirrored, 1,000 mirrored; RPO 0 record(s)" in text
    assert "compared" in text
    assert "may not be on the target: records stamped at some time or later" in told
    assert "left behind: topic t on us" in told
    assert "records written" not in text
    assert "read before" not in text


def test_a_drill_that_came_home(capsys: pytest.CaptureFixture[str]) -> None:
    """What was judged at home is told in one line."""
    show_drill(replace(report(), home=Home(records=60, records_wrong=1, positions=12, positions_wrong=0)).to_json())
    told = capsys.readouterr().out
    assert "planned drill of flow orders: phases" in told
    assert "home again: 60 records written on the target, 1 of them not at home once and in order; 12 group" in told
