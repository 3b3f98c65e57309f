"""Drills of a flow that connectors mirror, on a real Connect worker: with connectors of their own, and no trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.connect.connectors import Part
from tests.mirror.connect.stage import ConnectStage, stage_of, until

pytestmark = pytest.mark.broker
LIMIT_S = 30.0


@pytest.fixture
def stage(pair: LocalPair, connect_url: str, tmp_path: Path) -> Iterator[ConnectStage]:
    """Give a flow that connectors mirror, with limits that MirrorMaker 2's positions keep."""
    changes: dict[str, Any] = {"lease_session_s": 6, "drill": {"repeated": 10_000}}
    with stage_of(pair, connect_url, tmp_path, **changes) as made:
        made.mm2("put", "--apply")
        made.await_mirrored(10)
        yield made


def everything(pair: LocalPair, flow: str) -> dict[str, set[str]]:
    """All topics of a flow and of its drills on both clusters."""
    return {
        side: {name for name in AdminClient({**addresses}).list_topics(timeout=LIMIT_S).topics if flow in name}
        for side, addresses in pair.addresses.items()
    }


def test_planned_and_unplanned(stage: ConnectStage, pair: LocalPair) -> None:
    """Nothing is lost or skipped by a planned one; the real connectors go on, and of the drill's nothing is left.

    The first one is killed when its connectors are there; the next one takes away what it left.
    """
    before = everything(pair, stage.name)
    file = stage.folder / f"{stage.name}.yaml"
    command = (sys.executable, "-m", "airflow_provider_mm2.cli.main", "drill", str(file), "--load", "60")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as dead:
        until(lambda: any(".drill." in name for name in stage.names()), "connectors of the drill")
        dead.kill()
    planned = stage.call("drill", "--load", "3")
    assert [planned[name] for name in ("passed", "lost", "skipped", "reordered", "left_behind")] == [True, 0, 0, 0, []]
    assert planned["mirrored"] == planned["written"] > 100
    unplanned = stage.call("drill", "--unplanned", "--load", "5", code=None)
    assert [unplanned[name] for name in ("skipped", "reordered", "left_behind")] == [0, 0, []]
    assert unplanned["lost"] == unplanned["rpo_records"]
    assert everything(pair, stage.name) == before
    assert stage.names() == sorted(stage.connector(part) for part in Part)
    assert stage.await_running()["running"]
    assert "drill" not in json.dumps(stage.ask("GET", "").json())
