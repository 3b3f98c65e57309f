"""Runs of a flow that connectors mirror: each is refused before anything is asked of a cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.mirror import run
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import RunsOnConnect
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.offsets.seed import Seed

FLOW: dict[str, Any] = {
    "name": "orders",
    "source": {"alias": "us", "settings": {"bootstrap.servers": "127.0.0.1:1"}},
    "target": {"alias": "eu", "settings": {"bootstrap.servers": "127.0.0.1:1"}},
    "topics": ["orders"],
    "engine": "connect",
    "connect": {"url": "http://127.0.0.1:1"},
}
BOUNDS = RunBounds(until=None, since=None, started=datetime.now(timezone.utc))
NO_PAIR: Any = None


@pytest.mark.parametrize(
    "call",
    [
        lambda flow: run.run_mirror(flow, NO_PAIR, bounds=BOUNDS),
        lambda flow: run.prepare(flow, NO_PAIR, bounds=BOUNDS),
        lambda flow: run.mirror_shard(flow, NO_PAIR, 0, bounds=BOUNDS),
        lambda flow: run.mirror_groups(flow, NO_PAIR),
        lambda flow: run.plan_flow(flow, NO_PAIR, bounds=BOUNDS),
        lambda flow: run.seed_progress(flow, NO_PAIR, Seed.parse("earliest")),
        lambda flow: run.drain(flow, NO_PAIR, tick=no_tick, owner="me", lease=NO_PAIR),
    ],
)
def test_no_run_beside_connectors(call: Callable[[MirrorFlow], object]) -> None:
    """Whatever part of a run is asked for, by a failover too, the flow's engine is looked at first."""
    with pytest.raises(RunsOnConnect, match="so connectors mirror it, and no run does"):
        call(MirrorFlow.model_validate(FLOW))


@pytest.mark.parametrize(
    "command",
    [["run"], ["plan"], ["drill", "--game-day"]],
    ids=" ".join,
)
def test_on_the_command_line(command: list[str], tmp_path: Path) -> None:
    """``mm2 run`` ends with 2 and says which command it is instead; so does what would run or rests on runs."""
    file = tmp_path / "orders.yaml"
    file.write_text(json.dumps(FLOW), encoding="utf-8")
    result = CliRunner().invoke(app, [command[0], str(file), *command[1:]])
    assert (result.exit_code, "`mm2 connect orders`, ConnectMirrorOperator" in result.output) == (2, True)
