"""What people and other commands do to connectors meanwhile: nothing mirrors beside the engine on record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.connect.connectors import Part
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state.control import control_lease
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state_model import Engine
from tests.contract.lab import Side, messages
from tests.mirror.connect.stage import ConnectStage, stage_of, until

pytestmark = pytest.mark.broker


@pytest.fixture
def stage(pair: LocalPair, connect_url: str, tmp_path: Path) -> Iterator[ConnectStage]:
    """Give a flow that connectors mirror, ten records already."""
    changes: dict[str, Any] = {"emit_heartbeats": False, "emit_checkpoints": False, "lease_session_s": 6}
    with stage_of(pair, connect_url, tmp_path, on_gap="accept", lease_wait_s=7, **changes) as made:
        made.mm2("put", "--apply")
        made.await_mirrored(10)
        yield made


def engine(stage: ConnectStage) -> Engine:
    """What mirrors the flow by its record."""
    record = find_gate(stage.lab.pair.target, stage.name, lambda: None)
    assert record is not None
    return record.engine


def state(stage: ConnectStage) -> str:
    """How the connector that copies stands."""
    return str(stage.ask("GET", f"/{stage.connector(Part.SOURCE)}/status").json()["connector"]["state"])


def copied_by_connectors(stage: ConnectStage) -> int:
    """The next offset of the first partition, as Connect has it."""
    offsets = stage.ask("GET", f"/{stage.connector(Part.SOURCE)}/offsets").json()["offsets"]
    return max((int(each["offset"]["offset"]) + 1 for each in offsets), default=0)


def set_offset(stage: ConnectStage, topic: str, offset: int) -> None:
    """Set the offset of a partition of the stopped connector by hand."""
    place = {"cluster": "us", "partition": 0, "topic": topic}
    body = {"offsets": [{"partition": place, "offset": {"offset": offset}}]}
    stage.ask("PATCH", f"/{stage.connector(Part.SOURCE)}/offsets", json=body).raise_for_status()


def test_one_at_a_time(stage: ConnectStage) -> None:
    """While somebody decides about the flow no connector is resumed or put, and nobody hands over."""
    with control_lease(stage.flow, stage.lab.pair.target, "somebody", lambda: None):
        for action in (("resume",), ("put", "--apply")):
            assert stage.told(*action, code=3)["error"]["kind"] == "LeaseHeld"
        stage.document["engine"] = "bounded"
        assert stage.call("hand-over", "--apply", code=3)["error"]["kind"] == "LeaseHeld"
    assert (engine(stage), state(stage)) == (Engine.CONNECT, "RUNNING")


def test_the_connector_is_gone(stage: ConnectStage) -> None:
    """Deleted, nobody can say how far it was: neither a hand-over nor a failover takes that for nothing copied."""
    until(lambda: copied_by_connectors(stage) == 10, "ten copied records on record")
    stage.mm2("delete", "--apply")
    stage.document["engine"] = "bounded"
    unplanned = ("failover", "--unplanned")
    for command in (("hand-over",), ("hand-over", "--apply"), unplanned, (*unplanned, "--apply", "--yes")):
        assert stage.call(*command, code=4)["error"]["kind"] == "ConnectorMissing"
    assert stage.call("failover", "--status")["state"] == "none"
    assert engine(stage) is Engine.CONNECT
    stage.document["engine"] = "connect"
    stage.mm2("put", "--apply")
    stage.document["engine"] = "bounded"
    stage.call("hand-over", "--apply")
    assert stage.call("run")["records"] == 0
    assert stage.mirrored() == [message.value for message in messages(10)]
    (warning,) = [text for text in stage.call("verify")["warnings"] if "--by-order compares it" in text]
    assert f"{stage.topic}-0 before 10" in warning


def test_refused_it_goes_on_as_before(stage: ConnectStage) -> None:
    """An offset that what was copied contradicts hands nothing over, and the connectors do not stay stopped."""
    until(lambda: copied_by_connectors(stage) == 10, "ten copied records on record")
    stage.mm2("stop")
    set_offset(stage, stage.topic, 3)
    stage.document["engine"] = "bounded"
    assert stage.call("hand-over", code=1)["refused"]
    told = stage.call("hand-over", "--apply", code=4)["error"]
    assert (told["kind"], "once more" in str(told["facts"]["problems"])) == ("HandOverRefused", True)
    assert (engine(stage), state(stage)) == (Engine.CONNECT, "STOPPED")
    set_offset(stage, stage.topic, 9)
    stage.document["engine"] = "connect"
    stage.mm2("resume")
    stage.document["engine"] = "bounded"
    stage.lab.delete_records(Side.SOURCE, stage.source, 10)
    stage.document["source"]["alias"] = "us"
    running = stage.call("hand-over")
    assert [row["new"] for row in running["partitions"]] == [10]
    stage.call("hand-over", "--apply")
    assert stage.call("run")["records"] == 0


def test_left_running_beside_runs(stage: ConnectStage) -> None:
    """A connector that somebody resumed past the command is found and stopped by it, also once runs mirror the flow."""
    until(lambda: copied_by_connectors(stage) == 10, "ten copied records on record")
    stage.document["engine"] = "bounded"
    stage.call("hand-over", "--apply")
    stage.ask("PUT", f"/{stage.connector(Part.SOURCE)}/resume")
    until(lambda: state(stage) == "RUNNING", "a connector that somebody resumed")
    source = stage.told("status", code=1)["connectors"][0]
    assert (source["state"], source["tasks"]) == ("RUNNING", [])
    stage.lab.produce(Side.SOURCE, stage.source, *messages(5, first=10))
    assert stage.call("run")["records"] == 5
    assert stage.mirrored() == [message.value for message in messages(15)]
    assert stage.call("hand-over", "--apply")["done_already"]
    assert state(stage) == "STOPPED"
    stage.ask("PUT", f"/{stage.connector(Part.SOURCE)}/resume")
    until(lambda: state(stage) == "RUNNING", "a connector that somebody resumed")
    stage.mm2("stop")
    assert state(stage) == "STOPPED"


def test_offsets_of_another_time(stage: ConnectStage) -> None:
    """Offsets that Connect kept of a topic that no run knows are forgotten: made anew, it begins at its start."""
    until(lambda: copied_by_connectors(stage) == 10, "ten copied records on record")
    stage.document["engine"] = "bounded"
    stage.call("hand-over", "--apply")
    stage.call("run")
    later = f"{stage.topic}-later"
    set_offset(stage, later, 5)
    stage.document |= {"engine": "connect", "topics": [f"{stage.topic}.*"]}
    stage.call("hand-over", "--apply")
    stage.lab.create_topic(Side.SOURCE, later, settings={"retention.ms": "-1"})
    stage.lab.produce(Side.SOURCE, TopicPartition(later, 0), *messages(8))
    place = TopicPartition(f"us.{later}", 0)

    def arrived() -> list[Any]:
        there = place.topic in stage.lab.pair.target.list_topics()
        return [message.value for _, message in stage.lab.visible(Side.TARGET, place)] if there else []

    until(lambda: len(arrived()) >= 8, "the records of the later topic")
    assert arrived() == [message.value for message in messages(8)]
