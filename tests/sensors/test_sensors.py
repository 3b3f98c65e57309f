"""The sensors on the in-memory pair: what they wait for, how they defer, fail and stop."""

from __future__ import annotations

import json
import logging
from datetime import datetime, timezone
from typing import Any

import pytest
from airflow.sdk.bases.operator import TRIGGER_FAIL_REPR, TriggerFailureReason

from airflow_provider_mm2.mirror import errors
from airflow_provider_mm2.mirror.conditions.condition import (
    GroupCaughtUp,
    GroupLeftSource,
    LagBelow,
    MirroredThrough,
    condition_from_json,
)
from airflow_provider_mm2.mirror.flow_file import flow_from_mapping
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.sensors import flow_sensor
from airflow_provider_mm2.sensors.flow_sensor import FlowSensor
from airflow_provider_mm2.sensors.groups import GroupCaughtUpSensor, GroupLeftSourceSensor
from airflow_provider_mm2.sensors.mirror import MirroredThroughSensor, MirrorLagSensor
from airflow_provider_mm2.version_compat import AirflowFailException, AirflowSkipException
from tests.fakes.groups import FakeGroup
from tests.mirror.offsets.group_world import GroupWorld
from tests.operators.task_context import RUN_AFTER, task_context
from tests.sensors.airflow_exceptions import AirflowSensorTimeout, TaskDeferred

SECRET = "hunter2-of-orders"  # noqa: S105 # planted, to be looked for
LONG_AGO = datetime(2023, 1, 1, tzinfo=timezone.utc)

FLOW: dict[str, Any] = {
    "name": "f",
    "source": {"alias": "us", "settings": {"bootstrap.servers": "us:9092", "sasl.password": "${ORDERS_PASSWORD}"}},
    "target": {"alias": "eu", "connection": "kafka_eu"},
    "topics": ["orders.*"],
}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> GroupWorld:
    """Give a pair with one mirrored topic, and have the sensors connect to it."""
    fake = GroupWorld()
    monkeypatch.setattr(flow_sensor, "connect_pair", lambda flow, settings, stop: fake.pair)
    monkeypatch.setenv("ORDERS_PASSWORD", SECRET)
    extra = {"bootstrap.servers": "eu:9092", "sasl.password": SECRET}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_EU", json.dumps({"conn_type": "kafka", "extra": extra}))
    return fake


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give what the sensors log."""
    log, told = logging.getLogger("sensor"), list[str]()
    monkeypatch.setattr(log, "info", lambda text, *arguments: told.append(text % arguments))
    monkeypatch.setattr(FlowSensor, "log", log)
    return told


def lag(**arguments: Any) -> MirrorLagSensor:
    """Make a sensor that looks again at once and gives up soon."""
    given = {"task_id": "wait", "flow": FLOW, "below": 1, "poke_interval": 0.01, "timeout": 0.05, **arguments}
    return MirrorLagSensor(**given)


def deferred(sensor: FlowSensor) -> Any:
    """Execute a sensor, which defers, and give what it hands over."""
    with pytest.raises(TaskDeferred) as caught:
        sensor.execute(task_context())
    return caught.value


def test_each_look_tells_the_numbers(world: GroupWorld, lines: list[str]) -> None:
    """The line of each look has what was found and what was wanted; the last numbers are the result."""
    world.run()
    assert lag().execute(task_context()) == {"lag": 0, "partitions": 1, "held_back": 0, "worst": []}
    assert lines[0] == "0 offsets not mirrored yet on 1 partition, wanted: fewer than 1"


def test_it_looks_until_it_is_so(world: GroupWorld, monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> None:
    """In the mode ``poke`` the task looks again and again; here the mirror runs after the second look."""
    world.produce(3)

    def run_at_the_second_look(text: str, *arguments: object) -> None:
        lines.append(text % arguments)
        if len(lines) == 2:
            world.run()

    monkeypatch.setattr(FlowSensor.log, "info", run_at_the_second_look)
    assert lag(timeout=60).execute(task_context())["lag"] == 0
    assert [line.split(" ", 1)[0] for line in lines[:3]] == ["flow", "flow", "0"]


def test_time_outs_are_airflows(world: GroupWorld) -> None:
    """A condition that is not met in time fails the task for good, or skips it where ``soft_fail`` says so."""
    with pytest.raises(AirflowSensorTimeout):
        lag().execute(task_context())
    with pytest.raises(AirflowSkipException):
        lag(soft_fail=True).execute(task_context())
    kwargs = {"error": TriggerFailureReason.TRIGGER_TIMEOUT}
    with pytest.raises(AirflowSensorTimeout):
        lag(deferrable=True).resume_execution(TRIGGER_FAIL_REPR, kwargs, task_context())
    with pytest.raises(AirflowSkipException):
        lag(deferrable=True, soft_fail=True).resume_execution(TRIGGER_FAIL_REPR, kwargs, task_context())


def test_what_is_met_is_not_deferred(world: GroupWorld) -> None:
    """The first look is made in the worker, and often the last one."""
    world.run()
    assert lag(deferrable=True).execute(task_context())["lag"] == 0


def test_deferring_is_airflows_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """``[operators] default_deferrable`` decides where the argument is not given."""
    assert not lag().deferrable
    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", "True")
    assert lag().deferrable
    assert not lag(deferrable=False).deferrable


def test_the_payload_is_plain_and_without_secrets(world: GroupWorld) -> None:
    """K59: what is deferred is JSON, comes back equal, and has a connection's id and a variable's name at most."""
    offsets = {"orders": {0: 9007199254740993, 1: 5}}
    until = datetime(2026, 1, 1, tzinfo=timezone.utc)
    sensor = MirroredThroughSensor(
        task_id="wait", flow=FLOW, offsets=offsets, until=until, topics=("a", "b"), timeout=77, deferrable=True
    )
    handed = deferred(sensor)
    assert (handed.method_name, handed.timeout.total_seconds()) == ("execute_complete", 77)
    _, payload = handed.trigger.serialize()
    text = json.dumps(payload)
    assert json.loads(text) == payload
    assert SECRET not in text
    assert "${ORDERS_PASSWORD}" in text
    assert flow_from_mapping(payload["flow"]) == flow_from_mapping(FLOW)
    assert condition_from_json(payload["condition"]) == MirroredThrough(
        until=until, offsets=(("orders", 0, 9007199254740993), ("orders", 1, 5)), topics=("a", "b")
    )


def test_the_tasks_connections_are_deferred(world: GroupWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the task says in place of the flow's clusters holds in the triggerer, too."""
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "kafka", "extra": {"bootstrap.servers": "b:1"}}))
    sensor = lag(source_conn_id="other", target_conn_id="kafka_eu", deferrable=True)
    flow = deferred(sensor).trigger.flow
    assert (flow["source"], flow["target"]) == (
        {"alias": "us", "connection": "other"},
        {"alias": "eu", "connection": "kafka_eu"},
    )


def test_a_plain_secret_is_refused(world: GroupWorld, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an argument while the DAG is parsed, in a file when the task begins; nothing of it is deferred."""
    plain = {**FLOW, "source": {"alias": "us", "settings": {"bootstrap.servers": "a:1", "sasl.password": SECRET}}}
    with pytest.raises(errors.SecretInFlow):
        lag(flow=plain)
    (tmp_path / "f.yaml").write_text(json.dumps(plain))
    monkeypatch.setenv("MM2_FLOWS", str(tmp_path))
    with pytest.raises(AirflowFailException) as caught:
        GroupLeftSourceSensor(task_id="wait", flow="f", group="app", deferrable=True).execute(task_context())
    assert SECRET not in str(caught.value)


def test_what_the_trigger_found_is_the_result() -> None:
    """The numbers of the last look are the task's result, as without deferring."""
    event = {"status": "met", "text": "it is so", "facts": {"lag": 0}}
    assert lag().execute_complete(task_context(), event) == {"lag": 0}


def test_what_the_trigger_met_fails_the_task() -> None:
    """An error that may pass fails it plainly, any other for good; ``never_fail`` skips both."""
    passing = {"status": "failed", "message": "it is down", "retriable": True}
    lasting = {"status": "failed", "message": "the sensor is wrong", "retriable": False}
    with pytest.raises(errors.WaitBroken, match="in the triggerer: it is down"):
        lag().resume_execution("execute_complete", {"event": passing}, task_context())
    with pytest.raises(AirflowFailException, match="the sensor is wrong"):
        lag().resume_execution("execute_complete", {"event": lasting}, task_context())
    with pytest.raises(errors.WaitBroken):
        lag(soft_fail=True).resume_execution("execute_complete", {"event": passing}, task_context())
    with pytest.raises(AirflowSkipException):
        lag(soft_fail=True).resume_execution("execute_complete", {"event": lasting}, task_context())
    for event in (passing, lasting):
        with pytest.raises(AirflowSkipException):
            lag(never_fail=True).resume_execution("execute_complete", {"event": event}, task_context())
    for odd in (None, {}, {"status": "soon"}):
        with pytest.raises(AirflowFailException, match="which this sensor does not know"):
            lag().execute_complete(task_context(), odd)


@pytest.mark.parametrize("deferrable", [False, True])
def test_errors_of_a_look(world: GroupWorld, deferrable: bool) -> None:
    """In a worker, deferred later or not, a look fails alike; ``silent_fail`` waits on, ``never_fail`` skips."""
    world.run()
    world.pair.us.reachable = False
    with pytest.raises(errors.ClusterUnreachable):
        lag(deferrable=deferrable).execute(task_context())
    with pytest.raises(AirflowSkipException):
        lag(deferrable=deferrable, never_fail=True).execute(task_context())
    with pytest.raises(TaskDeferred if deferrable else AirflowSensorTimeout):
        lag(deferrable=deferrable, silent_fail=True).execute(task_context())
    world.pair.us.reachable = True
    unknown = {"task_id": "wait", "flow": FLOW, "group": "ap", "for_s": 0, "deferrable": deferrable}
    with pytest.raises(AirflowFailException, match="no sign of group 'ap'"):
        GroupLeftSourceSensor(**unknown).execute(task_context())
    with pytest.raises(AirflowSkipException):
        GroupLeftSourceSensor(**unknown, soft_fail=True).execute(task_context())


@pytest.mark.parametrize(
    "sensor",
    [
        lag(below=0),
        lag(topics=5),
        MirroredThroughSensor(task_id="wait", flow=FLOW, until="2026-01-01"),
        MirroredThroughSensor(task_id="wait", flow=FLOW, offsets="latest"),
        GroupCaughtUpSensor(task_id="wait", flow=FLOW, group=" "),
        GroupLeftSourceSensor(task_id="wait", flow=FLOW, group="app", for_s="soon"),
    ],
    ids=lambda sensor: type(sensor).__name__,
)
@pytest.mark.parametrize("deferrable", [False, True])
def test_a_bad_argument_is_refused_before_anything_is_asked(
    sensor: FlowSensor, deferrable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task fails for good, and no cluster was contacted."""
    monkeypatch.setattr(flow_sensor, "connect_pair", None)
    monkeypatch.setattr(sensor, "deferrable", deferrable)
    with pytest.raises(AirflowFailException, match="is refused"):
        sensor.execute(task_context())


def test_conditions_come_from_the_arguments() -> None:
    """Text, as templates render to, is taken as what it stands for."""
    flow: dict[str, Any] = {"task_id": "wait", "flow": FLOW}
    context = task_context()
    assert lag(below="7", topics="orders").condition(context) == LagBelow(below=7, topics=("orders",))
    assert GroupCaughtUpSensor(**flow, group="app").condition(context) == GroupCaughtUp(group="app", below=1)
    left = GroupLeftSourceSensor(**flow, group="app", for_s="2")
    assert left.condition(context) == GroupLeftSource(group="app", for_s=2)
    through = MirroredThroughSensor(**flow, until="", offsets='{"orders": {"0": 9007199254740993}}')
    assert through.condition(context) == MirroredThrough(offsets=(("orders", 0, 9007199254740993),))


def test_the_runs_own_end_is_waited_for(lines: list[str]) -> None:
    """Without a time and offsets: the end of the data interval, or the trigger time where there is none."""
    sensor = MirroredThroughSensor(task_id="wait", flow=FLOW)
    assert sensor.condition(task_context()) == MirroredThrough(until=RUN_AFTER)
    interval = (LONG_AGO, datetime(2023, 1, 2, tzinfo=timezone.utc))
    assert sensor.condition(task_context(interval=interval)) == MirroredThrough(until=interval[1])
    assert lines[0].startswith("waiting for 2026-01-01T01:00:00Z: the run's trigger time")


def test_every_argument_is_a_template() -> None:
    """Whatever is told of the condition can come from parameters or other tasks."""
    for kind in (MirroredThroughSensor, MirrorLagSensor, GroupCaughtUpSensor, GroupLeftSourceSensor):
        own = set(kind.__init__.__annotations__) - {"return", "kwargs"}
        assert {"flow", "source_conn_id", "target_conn_id", *own} == set(kind.template_fields)


def test_a_killed_task_ends_its_look(world: GroupWorld) -> None:
    """Asked to stop, it leaves at its next chance, also when it was asked before it began."""
    world.pair.us.said["app"] = FakeGroup(members=["billing-1 (10.0.0.1)"])
    sensor = GroupLeftSourceSensor(task_id="wait", flow=FLOW, group="app", for_s=0)
    sensor.on_kill()
    with pytest.raises(errors.Stopped):
        sensor.execute(task_context())


def test_each_sensor_sees_its_own(world: GroupWorld) -> None:
    """The four of them on one pair, each met."""
    world.produce(5)
    world.commit("app", 5)
    world.run()
    world.pair.eu.commit_offsets("app", {TopicPartition("us.orders", 0): 5})
    common: dict[str, Any] = {"task_id": "wait", "flow": FLOW, "timeout": 0.05, "poke_interval": 0.01}
    sensors = [
        MirroredThroughSensor(**common, until=LONG_AGO, offsets={"orders": 5}),
        MirrorLagSensor(**common, below=1),
        GroupCaughtUpSensor(**common, group="app"),
        GroupLeftSourceSensor(**common, group="app", for_s=0.02),
    ]
    for sensor in sensors:
        assert sensor.execute(task_context())
