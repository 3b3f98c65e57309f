"""``mm2 groups`` for a pair that MirrorMaker 2 filled, as a shell sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli import groups
from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.mirror.flow import MirrorFlow
from tests.mirror.offsets.mm2_world import Mm2World

Run = Callable[..., Any]


@pytest.fixture
def world() -> Mm2World:
    """Give a pair of 50 records with one offset sync, and a group in the midst of them."""
    made = Mm2World()
    made.numbers(50)
    made.copy(0, 50)
    made.commit("app", 20)
    return made


@pytest.fixture
def run(world: Mm2World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give ``mm2 groups`` on that pair."""

    @contextmanager
    def clusters(flow: MirrorFlow) -> Iterator[Any]:
        yield world.pair

    monkeypatch.setattr(groups, "clusters", clusters)
    path = tmp_path / "flow.yaml"
    path.write_text(json.dumps(world.flow.model_dump(mode="json", exclude_defaults=True)))  # JSON is YAML
    return lambda *arguments: CliRunner().invoke(app, ["groups", str(path), *arguments])


def test_refine(run: Run) -> None:
    """With ``--refine --json`` the one document has the exact place, how it was come by, and as of when."""
    told = run("--refine", "--json")
    assert told.exit_code == 0, told.output
    (line,) = told.stdout.splitlines()
    document = json.loads(line)
    assert document["as_of"]
    assert document["groups"] == [
        {
            "group": "app",
            "topic": "orders",
            "partition": 0,
            "source_offset": 20,
            "target_topic": "us.orders",
            "target_offset": 20,
            "exact": True,
            "reason": None,
            "on_target": None,
            "source": "offset syncs on source",
        }
    ]


def test_without_refine(run: Run) -> None:
    """Without it the place is MirrorMaker 2's, and people read so."""
    (row,) = json.loads(run("--json").stdout)["groups"]
    assert (row["target_offset"], row["exact"]) == (1, False)
    told = run().stdout
    assert "by MirrorMaker 2's syncs, not exact" in told
    assert "offset syncs on source" in told


def test_neither_ours_nor_mm2s(run: Run, world: Mm2World) -> None:
    """Where there is nothing to go by the command fails for good, and says that the flow never ran."""
    world.pair.us.delete_topic("mm2-offset-syncs.eu.internal")
    told = run("--refine", "--json")
    assert told.exit_code == 4
    assert json.loads(told.stdout)["error"]["kind"] == "FlowNotPrepared"
