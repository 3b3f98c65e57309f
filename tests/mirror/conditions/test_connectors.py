"""Whether connectors are caught up through a time, on the in-memory source: what is next to copy decides."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from threading import Event

import pytest

from airflow_provider_mm2.mirror.conditions.condition import ConnectRunning, LagBelow, MirroredThrough
from airflow_provider_mm2.mirror.conditions.connectors import judge_running, reached
from airflow_provider_mm2.mirror.conditions.finding import Finding
from airflow_provider_mm2.mirror.conditions.look import look
from airflow_provider_mm2.mirror.connect.connectors import Part
from airflow_provider_mm2.mirror.connect.report import ConnectorState, StatusReport, TaskState
from airflow_provider_mm2.mirror.errors import NotAConnectFlow, RunsOnConnect
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import from_ms
from tests.fakes.log import Message, Outcome
from tests.mirror.offsets.group_world import BASE_MS, GroupWorld

ORDERS = TopicPartition("orders", 0)
BASE = from_ms(BASE_MS)
RUNNING = TaskState(number=0, state="RUNNING", worker="w")


def status_of(*tasks: TaskState, progress: Mapping[TopicPartition, int] | None = None) -> StatusReport:
    """A connector that copies, with these tasks."""
    connector = ConnectorState(name="s", part=Part.SOURCE, state="RUNNING", tasks=tasks)
    return StatusReport(flow="f", connectors=(connector,), progress=progress or {})


def found_at(world: GroupWorld, position: int | None, through_ms: int, **asked: tuple[str, ...]) -> Finding:
    """What is found where MirrorMaker 2 goes on at this offset."""
    condition = ConnectRunning(until=BASE + timedelta(milliseconds=through_ms), **asked)
    progress = {} if position is None else {ORDERS: position}
    found = reached(condition, world.flow, world.pair.source, progress, lambda: None)
    return judge_running(condition, status_of(RUNNING, progress=progress), found)


def test_the_next_record_decides() -> None:
    """All before the time is copied once the next record is stamped at or after it, or there is none."""
    world = GroupWorld()
    world.produce(10)
    assert [found_at(world, position, 5).met for position in (None, 4, 5, 10)] == [False, False, True, True]
    goal = "2023-11-14T22:13:20.005000Z"
    assert (
        found_at(world, 4, 5).text == f"1 connectors run with 1 tasks, not through {goal} yet: orders-0 is at 4 of 10"
    )
    assert found_at(world, 5, 5).facts["mirrored_through"] == goal
    assert [found_at(world, position, 60_000).met for position in (9, 10)] == [False, True]


def test_what_nobody_copies() -> None:
    """Markers and aborted records behind the last copied one are not waited for; what retention took is neither."""
    world = GroupWorld()
    world.produce(10)
    message = Message(key=b"k", value=b"v", timestamp_ms=BASE_MS)
    world.pair.us.transaction("orders", 0, message, outcome=Outcome.ABORTED)
    assert found_at(world, 10, 60_000).met is True
    world.pair.us.advance_log_start("orders", 0, 12)
    assert found_at(world, None, 60_000).met is True


def test_an_open_transaction_may_hide_records() -> None:
    """Behind one nobody knows what is stamped before the time, and the text says where it is."""
    world = GroupWorld()
    world.produce(10)
    message = Message(key=b"k", value=b"v", timestamp_ms=BASE_MS)
    world.pair.us.transaction("orders", 0, message, outcome=Outcome.OPEN)
    held = found_at(world, 10, 60_000)
    assert (held.met, "orders-0 is held at 10 by an open transaction on the source" in held.text) == (False, True)
    assert found_at(world, 5, 5).met is True


def test_topics_that_are_asked_for() -> None:
    """One that the flow does not mirror is waited for by its name; a flow that mirrors nothing is never through."""
    world = GroupWorld()
    world.produce(1)
    assert found_at(world, 1, 9, topics=("orders",)).met is True
    assert "stock-0 is not mirrored" in found_at(world, 1, 9, topics=("orders", "stock")).text
    world.pair.us.delete_topic("orders")
    assert found_at(world, 1, 9).text.endswith("yet: nothing is mirrored")


def test_running_is_enough_without_a_time() -> None:
    """All connectors and tasks run, or what does not is named."""
    running = judge_running(ConnectRunning(), status_of(RUNNING), [])
    assert (running.met, running.text) == (True, "1 connectors run with 1 tasks")
    paused = judge_running(ConnectRunning(), status_of(TaskState(number=0, state="PAUSED", worker="w")), [])
    assert paused.text == "1 of 1 connectors or their tasks do not run: task 0 of s is PAUSED"
    early = judge_running(ConnectRunning(until=BASE), status_of(RUNNING), [], is_early=True)
    assert (early.met, early.text.endswith("and it is not 2023-11-14T22:13:20Z yet")) == (False, True)


def test_each_engine_has_its_conditions() -> None:
    """A flow that runs mirror has no connectors to wait for; of one that connectors mirror they have to be asked."""
    world = GroupWorld()
    with pytest.raises(NotAConnectFlow):
        look(ConnectRunning(), world.flow, world.pair, stop=Event())
    connected = GroupWorld(engine="connect", connect={"url": "http://c"})
    for condition in (MirroredThrough(until=BASE), LagBelow(below=1)):
        with pytest.raises(RunsOnConnect):
            look(condition, connected.flow, connected.pair, stop=Event())
