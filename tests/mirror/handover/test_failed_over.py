"""Failovers of a flow that connectors mirror, on a real Connect worker: they are stopped, and nobody skips a record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state_model import ActiveSide, Engine
from tests.contract.lab import Side, messages
from tests.mirror.connect.stage import ConnectStage, stage_of, until

pytestmark = pytest.mark.broker
UP_TO_DATE, BEHIND = "-up-to-date", "-behind"


@pytest.fixture
def stage(pair: LocalPair, connect_url: str, tmp_path: Path) -> Iterator[ConnectStage]:
    """Give a flow that connectors mirror: forty records, a group that has read them all, and one that lags behind."""
    changes = {"on_gap": "accept", "emit_heartbeats": False, "lease_session_s": 6}
    with stage_of(pair, connect_url, tmp_path, count=40, **changes) as made:
        made.document["groups"] = [f"{made.topic}.*"]
        made.mm2("put", "--apply")
        made.await_mirrored(40)
        for name, offset in ((UP_TO_DATE, 40), (BEHIND, 25)):
            made.lab.commit_offsets(Side.SOURCE, made.topic + name, {made.source: offset})
        yield made


def state(stage: ConnectStage) -> tuple[Engine, ActiveSide]:
    """What mirrors the flow, and which side is active, by its record."""
    record = find_gate(stage.lab.pair.target, stage.name, lambda: None)
    assert record is not None
    return record.engine, record.active_side


def unread(stage: ConnectStage, group: str) -> list[Any]:
    """What a group reads from where it stands on the target."""
    name = stage.topic + group
    found: Any = stage.lab.pair.target.group_offsets([name], lambda: None)[name]
    return [
        message.value
        for at, message in stage.lab.visible(Side.TARGET, stage.target)
        if at >= found.offsets[stage.target]
    ]


def test_planned(stage: ConnectStage) -> None:
    """Connectors are stopped, the rest is copied by a run, groups go on; taken back, the connectors mirror again."""
    for partial in (("--group", stage.topic + BEHIND), ("--topic", stage.topic)):
        assert stage.call("failover", *partial, code=4)["error"]["kind"] == "FailoverRefused"
    preview = stage.call("failover")
    assert {each["group"] for each in preview["groups"]} == {stage.topic + UP_TO_DATE, stage.topic + BEHIND}
    assert state(stage) == (Engine.CONNECT, ActiveSide.SOURCE)
    stage.lab.produce(Side.SOURCE, stage.source, *messages(5, first=40))
    stage.lab.commit_offsets(Side.SOURCE, stage.topic + UP_TO_DATE, {stage.source: 45})
    done = stage.call("failover", "--apply", "--yes", "--quiet", "1")
    assert state(stage) == (Engine.BOUNDED, ActiveSide.TARGET)
    assert {each["state"] for each in stage.status()["connectors"]} == {"STOPPED"}
    assert stage.mirrored() == [message.value for message in messages(45)]
    assert unread(stage, UP_TO_DATE) == []
    lagging = unread(stage, BEHIND)
    assert lagging[-20:] == [message.value for message in messages(20, first=25)]
    rows = {each["group"]: (each["exact"], each["reread"], each["lag"]) for each in done["groups"]}
    assert rows == {stage.topic + UP_TO_DATE: (True, 0, 0), stage.topic + BEHIND: (False, None, None)}
    digest = stage.call("failover", "--status")["plan_digest"]
    stage.call("failover", "--reopen", "--approve", digest)
    assert stage.told("resume", code=4)["error"]["kind"] == "EngineDiffers"
    stage.call("hand-over", "--apply")
    stage.lab.produce(Side.SOURCE, stage.source, *messages(5, first=45))
    assert stage.await_mirrored(50) == [message.value for message in messages(50)]


def test_unplanned(stage: ConnectStage, pair: LocalPair) -> None:
    """The source is never spoken to: what the connectors have copied, and where groups stood, is told by the target."""
    wanted = {stage.topic + UP_TO_DATE, stage.topic + BEHIND}
    until(lambda: {row["group"] for row in checkpointed(stage)} == wanted, "checkpoints of both groups")
    stage.document["source"]["settings"] = {"bootstrap.servers": "127.0.0.1:1"}
    preview = stage.call("failover", "--unplanned")
    assert {each["group"] for each in preview["groups"]} == wanted
    stage.call("failover", "--unplanned", "--apply", "--yes")
    assert state(stage) == (Engine.BOUNDED, ActiveSide.TARGET)
    assert unread(stage, UP_TO_DATE)[-1:] in ([], [messages(40)[-1].value])
    lagging = unread(stage, BEHIND)
    assert lagging[-15:] == [message.value for message in messages(15, first=25)]
    ledger = read_shards(stage.lab.pair.target, stage.name, 1, lambda: None)[stage.source]
    end = stage.lab.pair.target.log_offsets([stage.target])[stage.target].end
    assert (ledger.latest.next_offset, ledger.latest.target_end) == (40, end)
    stage.document["source"]["settings"] = dict(pair.addresses["source"])
    stage.lab.produce(Side.TARGET, stage.target, *messages(3, first=100))
    home = stage.call("failback", "--prepare")
    assert home is not None
    stage.document["engine"] = "bounded"
    stage.call("failback", "--apply", "--yes", "--quiet", "1")
    came = [message.value for _, message in stage.lab.visible(Side.SOURCE, stage.source)]
    assert came == [message.value for message in (*messages(40), *messages(3, first=100))]
    behind: Any = stage.lab.pair.source.group_offsets([stage.topic + BEHIND], lambda: None)[stage.topic + BEHIND]
    assert behind.offsets[stage.source] <= 25
    assert stage.call("run")["records"] == 0


def checkpointed(stage: ConnectStage) -> list[Any]:
    """Rows of groups with a checkpoint on the target at what they have committed."""
    there = stage.document["source"]["settings"]
    stage.document["source"]["settings"] = {"bootstrap.servers": "127.0.0.1:1"}
    try:
        found = stage.call("failover", "--unplanned", code=None)
    finally:
        stage.document["source"]["settings"] = there
    places = {stage.topic + UP_TO_DATE: 40, stage.topic + BEHIND: 25}
    return [row for row in found.get("groups", []) if row["source_offset"] == places.get(row["group"])]
