"""Each sensor on real clusters through Airflow's task runner, in each of its three modes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timezone
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.conditions import look as looking
from airflow_provider_mm2.mirror.flow_file import flow_from_mapping
from airflow_provider_mm2.mirror.group_model import GroupKind
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.run import run_mirror
from airflow_provider_mm2.sensors.flow_sensor import FlowSensor
from airflow_provider_mm2.sensors.groups import GroupCaughtUpSensor, GroupLeftSourceSensor
from airflow_provider_mm2.sensors.mirror import MirroredThroughSensor, MirrorLagSensor
from airflow_provider_mm2.triggers import condition as triggering
from tests.airflow_env import DATABASE, run_dag
from tests.cases.scenario import bounds
from tests.contract.lab import Side, messages
from tests.contract.real_lab import RealLab
from tests.proof.conftest import SOAK

pytestmark = [pytest.mark.airflow, pytest.mark.broker]

MODES = {"poke": {}, "reschedule": {"mode": "reschedule"}, "deferred": {"deferrable": True}}


class Stage:
    """A flow of its own over one topic with ten records, mirrored once; a group on both sides; Airflow connections."""

    def __init__(self, pair: LocalPair, lab: RealLab, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lab = lab
        self.topic, self.group = lab.new_name(), lab.new_name()
        self.source, self.target = TopicPartition(self.topic, 0), TopicPartition(f"us.{self.topic}", 0)
        for name, side in (("KAFKA_US", "source"), ("KAFKA_EU", "target")):
            connection = {"conn_type": "kafka", "extra": dict(pair.addresses[side])}
            monkeypatch.setenv(f"AIRFLOW_CONN_{name}", json.dumps(connection))
        self.flow: dict[str, Any] = {
            "name": lab.new_name(),
            "source": {"alias": "us", "connection": "kafka_us"},
            "target": {"alias": "eu", "connection": "kafka_eu"},
            "topics": [self.topic],
        }
        self._addresses = {"us": pair.addresses["source"], "eu": pair.addresses["target"]}
        lab.create_topic(Side.SOURCE, self.topic, settings={"retention.ms": "-1"})
        lab.produce(Side.SOURCE, self.source, *messages(10))
        self.mirror()

    def mirror(self, until: datetime | None = None) -> None:
        """Run the flow once."""
        flow = flow_from_mapping(self.flow)
        pair = connect(flow, settings=self._addresses)
        run_mirror(flow, pair, bounds=bounds(until))
        pair.close()


@pytest.fixture
def stage(pair: LocalPair, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Give a stage."""
    lab = RealLab(pair.addresses)
    yield Stage(pair, lab, monkeypatch)
    lab.close()


Prepared = tuple[FlowSensor, Callable[[], None]]


def through(stage: Stage, arguments: dict[str, Any]) -> Prepared:
    """A time that the next run is through."""
    until = datetime.now(timezone.utc)
    sensor = MirroredThroughSensor(until=until, offsets={stage.topic: {"0": 10}}, **arguments)
    return sensor, lambda: stage.mirror(until)


def lag(stage: Stage, arguments: dict[str, Any]) -> Prepared:
    """Five records that the next run copies."""
    stage.lab.produce(Side.SOURCE, stage.source, *messages(5, first=10))
    return MirrorLagSensor(below="{{ 1 }}", **arguments), stage.mirror


def caught_up(stage: Stage, arguments: dict[str, Any]) -> Prepared:
    """A group that commits the end."""
    stage.lab.commit_offsets(Side.TARGET, stage.group, {stage.target: 4})
    sensor = GroupCaughtUpSensor(group=stage.group, **arguments)
    return sensor, lambda: stage.lab.commit_offsets(Side.TARGET, stage.group, {stage.target: 10})


def left(stage: Stage, arguments: dict[str, Any]) -> Prepared:
    """A member that leaves."""
    member = ExitStack()
    member.enter_context(stage.lab.member(Side.SOURCE, stage.group, stage.topic, GroupKind.CLASSIC))
    return GroupLeftSourceSensor(group=stage.group, for_s=0.5, **arguments), member.close


SENSORS = (through, lag, caught_up, left)
PAIRS = [
    (prepare, mode)
    for number, prepare in enumerate(SENSORS)
    for turn, mode in enumerate(MODES)
    if SOAK or turn == number % len(MODES) or mode == "deferred"
]
"""Each sensor in each mode in a soak; else each of them deferred, and the two other modes in turn."""


@pytest.mark.parametrize(("prepare", "mode"), PAIRS, ids=[f"{prepare.__name__}-{mode}" for prepare, mode in PAIRS])
def test_it_waits_and_is_done(
    stage: Stage, prepare: Callable[[Stage, dict[str, Any]], Prepared], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not met at the first look; then it comes to be so, and the task ends well with the numbers of the last look."""
    with DAG(f"wait_{stage.flow['name']}", schedule=None) as dag:
        sensor, bring_about = prepare(
            stage, {"task_id": "wait", "flow": stage.flow, "poke_interval": 0.2, "timeout": 300, **MODES[mode]}
        )
    found: list[tuple[str, bool]] = []
    look = looking.look

    def looking_from(place: str) -> Callable[..., Any]:
        def look_and_bring_about(*arguments: Any, **more: Any) -> Any:
            finding = look(*arguments, **more)
            found.append((place, finding.met))
            if len(found) == 1:
                bring_about()
            return finding

        return look_and_bring_about

    monkeypatch.setattr(looking, "look", looking_from("worker"))
    monkeypatch.setattr(triggering, "look", looking_from("trigger"))
    run = run_dag(dag)
    assert run.state == "success"
    assert (found[0][1], found[-1]) == (False, ("trigger" if mode == "deferred" else "worker", True))
    with sqlite3.connect(DATABASE) as database:
        query = "SELECT value FROM xcom WHERE run_id = ? AND dag_id = ? AND key = 'return_value'"
        ((result,),) = database.execute(query, (run.run_id, run.dag_id))
    assert json.loads(result)
    assert isinstance(sensor, FlowSensor)
