"""Drills on the real pair: measured, passed or failed by limits, and without a trace afterwards."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll
from tests.conftest import TopicName
from tests.proof.conftest import SOAK
from tests.recovery.applications import LIMIT_S, commit_at_beginning, make_topic, write_flow

pytestmark = pytest.mark.broker

COMMAND = (sys.executable, "-m", "airflow_provider_mm2.cli.main")


@pytest.fixture
def flow(pair: LocalPair, topic_name: TopicName, tmp_path: Path) -> Path:
    """Give a flow with a topic of its own, which no drill touches."""
    topic = topic_name("orders")
    make_topic(pair.addresses["source"], topic, 1, records=5)
    return write_flow(tmp_path, topic, pair.addresses["source"], pair.addresses["target"])


def drill(flow: Path, *words: str, code: int = 0) -> dict[str, Any]:
    """``mm2 drill``; gives its document."""
    called = CliRunner().invoke(app, ["drill", str(flow), *words, "--json"])
    assert called.exit_code == code, [line for line in called.output.splitlines() if len(line) < 300]
    document: dict[str, Any] = json.loads(called.stdout.splitlines()[-1])
    return document


def everything(pair: LocalPair, flow: Path) -> dict[str, set[str]]:
    """All that has the flow's name on both clusters."""
    found: dict[str, set[str]] = {}
    for side in ("source", "target"):
        admin = AdminClient({**pair.addresses[side]})
        topics = {name for name in admin.list_topics(timeout=LIMIT_S).topics if flow.stem in name}
        groups = {
            each.group_id for each in admin.list_consumer_groups().result(LIMIT_S).valid if flow.stem in each.group_id
        }
        found[side] = topics | groups
    return found


def values(document: Mapping[str, Any], *names: str) -> list[Any]:
    """Several of them."""
    return [document[name] for name in names]


def test_planned(flow: Path, pair: LocalPair) -> None:
    """Nothing lost, repeated, skipped or out of order, in under a minute; home again; nothing is left."""
    before = everything(pair, flow)
    found = drill(flow, "--load", "3", "--failback")
    assert values(found, "passed", "lost", "repeated", "skipped", "reordered", "rpo_s") == [True, 0, 0, 0, 0, 0.0]
    assert found["mirrored"] == found["written"] > 500
    home = found["failback"]
    assert (home["records_wrong"], home["positions"], home["positions_wrong"]) == (0, 12, 0)
    assert home["records"] > 0
    assert 0 < found["rto_s"] < 60
    assert sum(phase["seconds"] for phase in found["phases"]) < 60
    assert found["left_behind"] == []
    assert everything(pair, flow) == before


def test_unplanned(flow: Path, pair: LocalPair) -> None:
    """The loss is what lies in the window that the failover told.

    K80: the offset syncs of a MirrorMaker 2 to the same target lie on the source, which a drill warns of.
    """
    alias = f"eu-{flow.stem[-8:]}"
    changed = json.loads(flow.read_text("utf-8"))
    changed["target"]["alias"] = alias
    flow.write_text(json.dumps(changed), "utf-8")
    make_topic(pair.addresses["source"], f"mm2-offset-syncs.{alias}.internal", 1)
    before = everything(pair, flow)
    found = drill(flow, "--load", "3", "--unplanned")
    assert values(found, "passed", "skipped", "reordered") == [True, 0, 0]
    assert found["lost"] == found["rpo_records"] > 0
    assert found["rpo_s"] > 0
    (warning,) = found["warnings"]
    assert f"mm2-offset-syncs.{alias}.internal on us" in warning
    assert "checkpoints alone" in warning
    assert {"name": "lost outside the window", "limit": 0, "value": 0, "passed": True} in found["limits"]
    assert everything(pair, flow) == before


def test_killed_anywhere(flow: Path, pair: LocalPair) -> None:
    """What a dead drill left the next one takes away; meanwhile a third is told that one is at work."""
    before = everything(pair, flow)
    chance = random.Random(3)  # noqa: S311
    for _ in range(8 if SOAK else 2):
        process = subprocess.Popen(
            [*COMMAND, "drill", str(flow), "--load", "3"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert poll(lambda: everything(pair, flow) != before, timeout_s=LIMIT_S)
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(1, 15))
        process.kill()
        process.wait()
    assert drill(flow, "--load", "1")["passed"]
    assert everything(pair, flow) == before


def test_source_down(flow: Path, pair: LocalPair) -> None:
    """A source that does not answer is told at once, and nothing is made on the target for it."""
    before = everything(pair, flow)
    changed = json.loads(flow.read_text("utf-8"))
    changed["source"]["settings"]["bootstrap.servers"] = "127.0.0.1:1"
    flow.write_text(json.dumps(changed), "utf-8")
    began = time.monotonic()
    refused = drill(flow, code=3)
    assert refused["error"]["kind"] == "ClusterUnreachable"
    assert "127.0.0.1:1" in refused["error"]["message"]
    assert time.monotonic() - began < 30
    assert everything(pair, flow) == before


def test_somebodys_own_topic_and_group(flow: Path, pair: LocalPair) -> None:
    """What has a drill's name and no drill made is not touched, and the drill is refused."""
    mine = f"mm2-drill.{flow.stem}.plain"
    make_topic(pair.addresses["source"], mine, 1, records=3)
    group, theirs = f"mm2-drill.{flow.stem}.classic", f"{flow.stem}-theirs"
    make_topic(pair.addresses["target"], theirs, 1)
    commit_at_beginning(pair.addresses["target"], group, theirs, 1)
    before = everything(pair, flow)
    refused = drill(flow, code=2)
    assert refused["error"]["kind"] == "DrillClash"
    assert refused["error"]["facts"]["topics"] == [f"{mine} on us"]
    assert refused["error"]["facts"]["groups"] == [f"{group} on eu"]
    assert everything(pair, flow) == before
