"""``mm2 status`` and its like of a flow that connectors mirror: on a real worker, and where Connect does not answer."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from airflow_provider_mm2.cli.connect_standing import show_connect_standing
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.conditions.condition import Condition, GroupCaughtUp, LagBelow, MirroredThrough
from airflow_provider_mm2.mirror.conditions.look import look
from airflow_provider_mm2.mirror.connect.access import connectors_at
from airflow_provider_mm2.mirror.connect.connectors import Part
from airflow_provider_mm2.mirror.connect.report import ConnectorState, StatusReport
from airflow_provider_mm2.mirror.connect.standing import connect_standing
from airflow_provider_mm2.mirror.moments import from_ms
from airflow_provider_mm2.mirror.state_model import ActiveSide, Engine, FlowRecord
from airflow_provider_mm2.mirror.status import flow_status
from tests.contract.lab import Side, messages
from tests.mirror.connect.stage import ConnectStage, stage_of, until
from tests.mirror.handover.load import loading
from tests.mirror.offsets.mm2_world import Mm2World


def seen(stage: ConnectStage, condition: Condition) -> bool:
    """Whether a condition is met now."""
    found = look(condition, stage.flow, stage.lab.pair, stop=Event(), connectors=connectors_at(stage.flow))
    return found.met


@pytest.mark.broker
def test_from_running_to_paused_and_on(stage: ConnectStage) -> None:
    """Status, sensors, verification and groups of one flow: while it runs, paused with records left, and caught up."""
    stage.lab.commit_offsets(Side.SOURCE, stage.topic, {stage.source: 4})
    assert (
        f"can be compared: not on the target: {stage.target.topic}\n"
        in stage.call("verify", code=4)["error"]["message"]
    )
    stage.mm2("put", "--apply")
    stage.await_mirrored(10)
    stage.await_running()
    until(lambda: stage.call("status")["partitions"][0]["lag"] == 0, "nothing left to copy")
    status = stage.call("status")
    (part,) = status["partitions"]
    assert (part["progress"], part["source_end"], part["target_topic"]) == (10, 10, stage.target.topic)
    assert (part["target_end"] >= 10, part["mirrored_through"] is not None, status["rpo_s"] < 60) == (True, True, True)
    assert {each["state"] for each in status["connectors"]} == {"RUNNING"}
    assert seen(stage, LagBelow(below=1))
    until(lambda: stage.call("status")["groups"] is not None, "a checkpoint")
    assert stage.call("groups", "--refine")["groups"][0]["target_offset"] == 4
    stage.call("groups", "--refine", "--apply")
    caught_up = GroupCaughtUp(group=stage.topic, below=7)
    assert (seen(stage, caught_up), seen(stage, GroupCaughtUp(group=stage.topic, below=6))) == (True, False)
    stage.mm2("pause")
    stage.lab.produce(Side.SOURCE, stage.source, *messages(5, first=10))
    status = stage.call("status", code=1)
    assert (status["partitions"][0]["lag"], status["problems"][0]["kind"]) == (5, "ConnectIdle")
    assert "does not run: " in status["problems"][0]["message"]
    later = messages(15)[12].timestamp_ms
    behind = (MirroredThrough(offsets=((stage.topic, None, 12),)), MirroredThrough(until=from_ms(later)))
    assert [seen(stage, each) for each in (LagBelow(below=5), LagBelow(below=6), *behind)] == [
        False,
        True,
        False,
        False,
    ]
    verified = stage.call("verify")
    assert (verified["mode"], verified["records"], verified["mismatches"]) == ("order", 10, [])
    assert verified["warnings"] == [f"{stage.source}: 5 record(s) at its end were not copied yet, and are not missed"]
    stage.mm2("resume")
    stage.await_mirrored(15)
    until(lambda: all(seen(stage, each) for each in behind), "what is waited for")
    assert (stage.call("verify")["records"], stage.call("verify")["warnings"]) == (15, [])
    stage.document["engine"] = "bounded"
    (warning,) = stage.call("status")["warnings"]
    assert "the flow's file names engine: bounded, and by its record engine: connect mirrors it" in warning
    assert stage.call("verify")["mode"] == "order"
    stage.document["engine"] = "connect"
    stage.lab.produce(Side.TARGET, stage.target, *messages(1, first=900))
    assert [each["kind"] for each in stage.call("verify", code=1)["mismatches"]] == ["foreign"]


@pytest.mark.broker
def test_proved_while_it_is_written_to(pair: LocalPair, connect_url: str, tmp_path: Path) -> None:
    """Plain, committed and aborted records all the time: what the connectors have not copied yet is never missed."""
    with stage_of(pair, connect_url, tmp_path, 3, count=0) as stage:
        stage.mm2("put", "--apply")
        with loading(pair.addresses["source"], stage.topic, 3, 1):
            stage.await_mirrored(50)
            reports = [stage.call("verify") for _ in range(3)]
        assert [report["mismatches"] for report in reports] == [[], [], []]
        assert 0 < reports[0]["records"] <= reports[2]["records"]


@pytest.fixture
def world() -> Mm2World:
    """Give a pair that connectors mirror whose REST interface nobody answers at."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    made = Mm2World(syncs_on="eu", engine="connect", connect={"url": url, "wait_s": 0.1}, partitions=2)
    made.numbers(50)
    made.copy(0, 40, synced=(30,))
    return made


def standing(world: Mm2World) -> dict[str, Any]:
    """What ``mm2 status --json`` says."""
    return connect_standing(world.flow, world.pair, connectors_at(world.flow), tick=no_tick).to_json()


def test_what_kafka_knows(world: Mm2World, capsys: pytest.CaptureFixture[str]) -> None:
    """Where Connect does not answer both ends are told, how far it is at least by syncs, and groups by checkpoints."""
    world.publish("app", 20, 20)
    told = standing(world)
    rows = [(each["progress"], each["at_least"], each["source_end"], each["lag"]) for each in told["partitions"]]
    assert rows == [(None, 31, 50, None), (None, None, 0, None)]
    assert [each["target_end"] for each in told["partitions"]] == [40, 0]
    assert (told["connectors"], told["rpo_s"], told["problems"][0]["kind"]) == (None, None, "EndpointUnreachable")
    assert (told["groups"]["groups"], told["groups"]["positions"]) == (1, 1)
    show_connect_standing(told)
    assert "the Connect cluster cannot be asked: GET http://127" in capsys.readouterr().err


def test_without_the_source(world: Mm2World) -> None:
    """The target's side is told, and why nothing is known of the source."""
    world.pair.us.reachable = False
    told = standing(world)
    assert [(each["source_end"], each["target_end"]) for each in told["partitions"]] == [(None, 40), (None, 0)]
    assert told["source_problem"] is not None


def test_while_a_failover_has_it(world: Mm2World) -> None:
    """Connectors that a failover has stopped are no problem; that the target is the active side is told."""
    record = FlowRecord(
        flow="f",
        source_alias="us",
        target_alias="eu",
        policy="default",
        separator=".",
        source_cluster_id="a",
        target_cluster_id="b",
        shards=1,
        engine=Engine.CONNECT,
        active_side=ActiveSide.TARGET,
    )
    stopped = StatusReport(
        flow="f", connectors=(ConnectorState(name="f.s", part=Part.SOURCE, state="STOPPED"),), progress={}
    )
    told = connect_standing(world.flow, world.pair, connectors_at(world.flow), tick=no_tick)
    told = replace(told, connectors=stopped, connect_problem=None)
    assert [type(each).__name__ for each in told.problems] == ["ConnectIdle"]
    away = replace(told, record=record)
    assert (away.problems, away.to_json()["active_side"]) == ((), "target")
    assert away.to_json()["warnings"][0].startswith("the target is the active side: nothing is due to be copied, and")


def test_the_keys_of_runs(world: Mm2World) -> None:
    """What means the same for a run has the same key, so that one reader does for both."""
    other = Mm2World()
    other.pair.eu.delete_topic("us.orders")
    other.run()
    of_runs, told = flow_status(other.flow, other.pair, tick=no_tick).to_json(), standing(world)
    assert of_runs.keys() <= told.keys()
    assert of_runs["partitions"][0].keys() <= told["partitions"][0].keys()
