"""What ``mm2 status`` says of a flow that the next run would stop at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_provider_mm2.mirror.interval import health
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import PartitionLedger
from airflow_provider_mm2.mirror.status import FlowStatus, flow_status
from tests.fakes.log import Message
from tests.mirror.offsets.group_world import GroupWorld


def remake(world: GroupWorld, cluster: str, topic: str) -> None:
    """Delete a topic and make it anew."""
    getattr(world.pair, cluster).delete_topic(topic)
    getattr(world.pair, cluster).create_topic(topic)


FAULTS: dict[str, Callable[[GroupWorld], None]] = {
    "ForeignWrites": lambda world: world.pair.eu.produce("us.orders", 0, Message(value=b"foreign")) and None,
    "SourceTopicRecreated": lambda world: remake(world, "us", "orders"),
    "TargetTopicRecreated": lambda world: remake(world, "eu", "us.orders"),
    "TargetTopicGone": lambda world: world.pair.eu.delete_topic("us.orders"),
    "TargetLostData": lambda world: world.pair.eu.truncate("us.orders", 0, 5),
}
ON_TARGET = sorted(FAULTS.keys() - {"SourceTopicRecreated"})


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> GroupWorld:
    """Give a flow that has mirrored ten records; nothing moves between two looks."""
    monkeypatch.setattr(health, "SECOND_LOOK_S", 0.0)
    made = GroupWorld()
    made.produce(10)
    made.run()
    return made


def look(world: GroupWorld) -> FlowStatus:
    """Where the flow stands."""
    return flow_status(world.flow, world.pair, tick=lambda: None)


def test_nothing_is_wrong(world: GroupWorld) -> None:
    """A flow in order has no problems, with records still to be mirrored or none."""
    assert look(world).health.problems == ()
    world.produce(3)
    assert look(world).health.problems == ()


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_what_would_stop_a_run(world: GroupWorld, kind: str) -> None:
    """What stops the next run is told before it: lag 0 alone would look well."""
    FAULTS[kind](world)
    assert [type(error).__name__ for error in look(world).health.problems] == [kind]
    assert [problem["kind"] for problem in look(world).to_json()["problems"]] == [kind]


@pytest.mark.parametrize("kind", ON_TARGET)
def test_without_the_source(world: GroupWorld, kind: str) -> None:
    """What is wrong on the target is told when the source is gone, and nothing that only the source knows."""
    world.pair.us.reachable = False
    assert look(world).health.problems == ()
    FAULTS[kind](world)
    assert [type(error).__name__ for error in look(world).health.problems] == [kind]


def test_a_run_in_between_is_no_problem(world: GroupWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run wrote while the status was read is not taken for a stranger's."""
    world.produce(5)
    read = health.gather_facts
    ran: list[bool] = []

    def run_first(*arguments: object, **named: object) -> object:
        if not ran:
            ran.append(True)
            world.run()
        return read(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(health, "gather_facts", run_first)
    assert look(world).health.problems == ()
    assert ran
    assert world.pair.eu.log(TopicPartition("us.orders", 0)).end > 0


@pytest.mark.parametrize("kind", ["left out", "not on the source"])
def test_what_is_not_mirrored_any_more(world: GroupWorld, kind: str) -> None:
    """It stops no run and holds no claim back, whatever became of its copy; that its progress stays is told."""
    world.pair.us.create_topic("orders2", 1)
    world.produce(3, topic="orders2")
    world.run()
    world.pair.eu.delete_topic("us.orders2")
    if kind == "left out":
        world.flow = world.flow.model_copy(update={"topics_exclude": ("orders2",)})
    else:
        world.pair.us.delete_topic("orders2")
    world.run()
    found = flow_status(world.flow, world.pair, tick=lambda: None)
    assert found.health.problems == ()
    part = TopicPartition("orders2", 0)
    old = PartitionLedger(entries=(replace(found.ledger[part].latest, through_ms=1000),))
    aged = replace(found, ledger={**found.ledger, part: old})
    assert aged.rpo_s == found.rpo_s is not None
    assert replace(aged, retired={}).rpo_s > 1_000_000_000  # type: ignore[operator]
    (told,) = (warning for warning in found.warnings if "orders2" in warning)
    assert "mm2 forget --topic orders2" in told
