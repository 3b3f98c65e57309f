"""What people wait for of a flow that connectors mirror, on the in-memory pair: by what is next to copy."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event

from airflow_provider_mm2.mirror.conditions.condition import GroupCaughtUp, LagBelow, MirroredThrough
from airflow_provider_mm2.mirror.conditions.finding import Finding
from airflow_provider_mm2.mirror.conditions.judge import judge_lag
from airflow_provider_mm2.mirror.conditions.look import look
from airflow_provider_mm2.mirror.conditions.on_connect import copied, judge_progress
from airflow_provider_mm2.mirror.connect.standing import source_logs
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.fakes.log import Message, Outcome
from tests.mirror.offsets.group_world import BASE_MS, GroupWorld

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("us.orders", 0)
ABORTED = Message(key=b"k", value=b"v", timestamp_ms=BASE_MS)


def world_of(records: int) -> GroupWorld:
    """A flow that connectors mirror, with so many records and an aborted one behind them."""
    world = GroupWorld(engine="connect", connect={"url": "http://c"})
    world.produce(records)
    world.pair.us.transaction("orders", 0, ABORTED, outcome=Outcome.ABORTED)
    return world


def ends(world: GroupWorld, progress: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Below which offsets all is copied."""
    return copied(progress, source_logs(world.flow, world.pair.source), world.pair.source, lambda: None)


def test_the_lag() -> None:
    """Offsets behind the next record to copy count; where only markers and aborted records follow there is none."""
    world = world_of(10)
    logs = source_logs(world.flow, world.pair.source)
    lags = [judge_lag(LagBelow(below=1), ends(world, found), logs) for found in ({}, {ORDERS: 4}, {ORDERS: 10})]
    assert [(found.met, found.facts["lag"]) for found in lags] == [(False, 12), (False, 8), (True, 0)]


def through(world: GroupWorld, progress: int, *offsets: tuple[str, int | None, int]) -> Finding:
    """Whether connectors that are so far have copied what lies below offsets."""
    logs = source_logs(world.flow, world.pair.source)
    return judge_progress(MirroredThrough(offsets=offsets), [], logs, ends(world, {ORDERS: progress}))


def test_through_offsets() -> None:
    """All below an offset is copied, a marker counted, once no visible record is left there; what is not is named."""
    world = world_of(10)
    assert [through(world, 10, ("orders", None, offset)).met for offset in (10, 12, 13)] == [True, True, False]
    behind = through(world, 4, ("orders", 0, 10), ("orders", 3, 1), ("stock", None, 1))
    assert behind.text == (
        "not mirrored through offset 10 of orders-0 and offset 1 of orders-3 and offset 1 of stock yet: "
        "orders-0 is at 4 of 10, orders-3 is not mirrored yet, stock is not mirrored yet"
    )
    assert behind.facts["progress"] == [{"topic": "orders", "partition": 0, "next_offset": 4}]


def test_a_group_that_reads_the_copies() -> None:
    """What lies on the target before a group is counted there; without offsets it has not caught up."""
    world = world_of(10)
    world.pair.eu.create_topic(COPY.topic)
    world.pair.eu.produce(*COPY, *(Message(value=b"v") for _ in range(10)))

    def seen(**fields: object) -> Finding:
        condition = GroupCaughtUp(**{"group": "app", **fields})
        return look(condition, world.flow, world.pair, stop=Event())

    assert seen().text == "group 'app' has no offsets of mirrored topics on the target"
    for offset, before in ((0, 10), (7, 3), (10, 0)):
        world.pair.eu.commit_offsets("app", {COPY: offset})
        assert (seen().facts["lag"], seen().met) == (before, before == 0)
    assert seen(topics=("stock",)).text.endswith("; the target has no copy of stock")
    world.pair.eu.produce(*COPY, *[ABORTED] * 10_050)
    assert (seen(below=10_020).met, seen().facts["lag"]) == (False, 10_050)
