"""The trigger behind the sensors: it never blocks the loop that it shares, holds nothing open, and fires once."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Coroutine
from importlib import import_module
from threading import Event
from typing import Any
from weakref import WeakSet

import pytest
from airflow.sdk import BaseHook

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.ports import pick_ports
from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.conditions.condition import (
    Condition,
    GroupCaughtUp,
    GroupLeftSource,
    LagBelow,
    condition_to_json,
)
from airflow_provider_mm2.mirror.conditions.finding import Finding
from airflow_provider_mm2.mirror.errors import ClusterUnreachable
from airflow_provider_mm2.triggers import condition as module
from airflow_provider_mm2.triggers.condition import ConditionTrigger
from tests.contract.real_lab import RealLab
from tests.fakes.groups import FakeGroup
from tests.mirror.offsets.group_world import GroupWorld

FLOW: dict[str, Any] = {
    "name": "f",
    "source": {"alias": "us", "connection": "kafka_us"},
    "target": {"alias": "eu", "connection": "kafka_eu"},
    "topics": ["orders.*"],
}
LAG = LagBelow(below=1)
LIMIT_S = 60.0
DRIFT_S = 0.5
"""How late the sleeper beside twenty triggers may be."""


def trigger(condition: Condition = LAG, *, flow: dict[str, Any] = FLOW, **more: Any) -> ConditionTrigger:
    """Make a trigger that looks again at once."""
    given = {"condition": condition_to_json(condition), "poke_interval_s": 0.01, **more}
    return ConditionTrigger(flow=flow, **given)


@pytest.fixture(autouse=True)
def _async_look_up_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have two connections, and fail the test when one is asked for in the way that blocks."""

    def refuse(*arguments: object) -> None:
        raise AssertionError("a connection was looked up in the blocking way")

    for name in ("KAFKA_US", "KAFKA_EU"):
        extra = {"bootstrap.servers": f"{name}:9092"}
        monkeypatch.setenv(f"AIRFLOW_CONN_{name}", json.dumps({"conn_type": "kafka", "extra": extra}))
    monkeypatch.setattr(BaseHook, "get_connection", refuse)


class Connected:
    """A pair that counts how often it was made and closed, and does something at each look."""

    def __init__(self, at_look: Callable[[int], None] = lambda number: None) -> None:
        self.world = GroupWorld()
        self.made = 0
        self.closed = 0
        self._at_look = at_look

    def connect(self, flow: object, settings: Any, stop: Event) -> Connected:
        """Stand in for ``connect_pair``."""
        assert settings["us"] == {"bootstrap.servers": "KAFKA_US:9092"}
        self.made += 1
        self._at_look(self.made)
        return self

    def __getattr__(self, name: str) -> Any:
        """Be the fake pair."""
        return getattr(self.world.pair, name)

    def close(self) -> None:
        """Count."""
        self.closed += 1


async def event_of(made: ConditionTrigger) -> dict[str, Any]:
    """Run a trigger to its event, which must be its only one and plain JSON."""
    events = [event.payload async for event in made.run()]
    assert json.loads(json.dumps(events)) == events
    (event,) = events
    assert isinstance(event, dict)
    return event


def in_time(work: Coroutine[Any, Any, Any]) -> Any:
    """Run something on a loop of its own, within a limit."""

    async def limited() -> Any:
        return await asyncio.wait_for(work, LIMIT_S)

    return asyncio.run(limited())


def test_it_comes_back_equal() -> None:
    """K59: made anew from what it gives, after a round through JSON, it is the same trigger."""
    made = trigger(GroupLeftSource(group="app", for_s=5), silent_fail=True)
    path, arguments = json.loads(json.dumps(made.serialize()))
    home, _, name = path.rpartition(".")
    again = getattr(import_module(home), name)(**arguments)
    assert type(again) is ConditionTrigger
    assert again.serialize() == made.serialize()


def test_it_looks_until_the_condition_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look has clients of its own; the event has the numbers of the last one."""
    connected = Connected(lambda number: connected.world.run() and None if number == 3 else None)
    monkeypatch.setattr(module, "connect_pair", connected.connect)
    event = in_time(event_of(trigger()))
    assert event["status"] == "met"
    assert event["facts"]["lag"] == 0
    assert event["text"].startswith("0 offsets not mirrored yet")
    assert (connected.made, connected.closed) == (3, 3)


def test_a_trigger_started_anew_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """K59: a triggerer that restarts runs it a second time, which finds the same and changes nothing."""
    connected = Connected()
    connected.world.run()
    monkeypatch.setattr(module, "connect_pair", connected.connect)
    made = trigger()
    assert in_time(event_of(made)) == in_time(event_of(ConditionTrigger(**made.serialize()[1])))


def test_a_condition_has_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that is seen begins the count anew."""
    seen: list[int] = []

    def come_back_once(number: int) -> None:
        seen.append(number)
        members = ["billing-1 (10.0.0.1)"] if number == 2 else []
        connected.world.pair.us.said["app"] = FakeGroup(members=members)

    connected = Connected(come_back_once)
    connected.world.commit("app", 0)
    monkeypatch.setattr(module, "connect_pair", connected.connect)
    event = in_time(event_of(trigger(GroupLeftSource(group="app", for_s=0.3))))
    assert event["status"] == "met"
    assert len(seen) >= 4


@pytest.mark.parametrize("silent_fail", [False, True])
def test_an_error_that_may_pass(monkeypatch: pytest.MonkeyPatch, silent_fail: bool) -> None:
    """It is told as such, or with ``silent_fail`` logged, and looked again."""

    def fail_once(number: int) -> None:
        connected.world.pair.us.reachable = number > 1

    connected = Connected(fail_once)
    connected.world.run()
    monkeypatch.setattr(module, "connect_pair", connected.connect)
    event = in_time(event_of(trigger(silent_fail=silent_fail)))
    if silent_fail:
        assert (event["status"], connected.closed) == ("met", 2)
    else:
        assert (event["status"], event["retriable"], connected.closed) == ("failed", True, 1)
        assert "Next move" in event["message"]


def test_an_error_that_lasts() -> None:
    """A connection that is not there, or a condition of another version, ends the wait whatever is set."""
    flow = {**FLOW, "target": {"alias": "eu", "connection": "kafka_nowhere"}}
    event = in_time(event_of(trigger(flow=flow, silent_fail=True)))
    assert (event["status"], event["retriable"]) == ("failed", False)
    assert "'kafka_nowhere' cannot be used: it is not defined" in event["message"]
    odd = ConditionTrigger(flow=FLOW, condition={"kind": "later"}, poke_interval_s=1)
    assert "it cannot be read" in in_time(event_of(odd))["message"]


async def worst_drift(stop: asyncio.Event) -> float:
    """Sleep a tenth of a second again and again, and give by how much the latest came too late."""
    worst = 0.0
    while not stop.is_set():
        before = time.monotonic()
        await asyncio.sleep(0.1)
        worst = max(worst, time.monotonic() - before - 0.1)
    return worst


async def beside_a_sleeper(*triggers: ConditionTrigger, for_s: float) -> float:
    """Run triggers for a time beside a sleeper, cancel them, and give the sleeper's drift."""
    done = asyncio.Event()
    sleeper = asyncio.create_task(worst_drift(done))
    tasks = [asyncio.create_task(event_of(each)) for each in triggers]
    await asyncio.sleep(for_s)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    done.set()
    return await sleeper


@pytest.mark.thorough
def test_twenty_triggers_do_not_block_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """K58: every look blocks for a second in its thread, and the sleeper on the loop is on time."""
    nothing = Event()
    connected = Connected(lambda number: nothing.wait(1) and None)
    monkeypatch.setattr(module, "connect_pair", connected.connect)
    assert in_time(beside_a_sleeper(*(trigger() for _ in range(20)), for_s=2)) < DRIFT_S
    assert connected.made >= 16


def test_a_cancelled_trigger_closes_its_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """K58: the look that is under way ends at its next chance, and nothing is left open."""
    looking, closed = Event(), Event()

    def look_for_ever(condition: object, flow: object, pair: object, *, stop: Event, connectors: object) -> Finding:
        looking.set()
        assert stop.wait(LIMIT_S)
        raise ClusterUnreachable(alias="us", servers="", seconds=0, problem="it was stopped")

    connected = Connected()
    monkeypatch.setattr(connected, "close", closed.set)
    monkeypatch.setattr(module, "connect_pair", connected.connect)
    monkeypatch.setattr(module, "look", look_for_ever)
    in_time(beside_a_sleeper(trigger(), for_s=0.5))
    assert looking.is_set()
    assert closed.wait(LIMIT_S)


def test_clients_end_in_the_thread_that_made_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """K58: an error that reaches the loop holds no client; one that ends there, of a dead cluster, blocks it."""
    ended: list[str] = []

    class Client:
        def __del__(self) -> None:
            ended.append(threading.current_thread().name)

    def fail(condition: object, flow: object, pair: object, *, stop: Event, connectors: object) -> Finding:
        client = Client()
        try:
            raise ValueError(f"{client is not None}")
        except ValueError as error:
            raise ClusterUnreachable(alias="us", servers="", seconds=0, problem="it is down") from error

    monkeypatch.setattr(module, "connect_pair", Connected().connect)
    monkeypatch.setattr(module, "look", fail)
    event = in_time(event_of(trigger()))
    assert event["status"] == "failed"
    assert [name.startswith("mm2-trigger") for name in ended] == [True]


@pytest.mark.broker
def test_twenty_triggers_on_real_clusters(pair: LocalPair, monkeypatch: pytest.MonkeyPatch) -> None:
    """K58: half of them on a source that nobody listens at; the sleeper is on time, and no group is left or joined."""
    nobody = pick_ports(1)[0].client
    dead = {**pair.addresses["source"], "bootstrap.servers": f"127.0.0.1:{nobody}"}
    connections = {"KAFKA_US": pair.addresses["source"], "KAFKA_EU": pair.addresses["target"], "KAFKA_DEAD": dead}
    for name, extra in connections.items():
        monkeypatch.setenv(f"AIRFLOW_CONN_{name}", json.dumps({"conn_type": "kafka", "extra": dict(extra)}))
    lab, made, counted = RealLab(pair.addresses), WeakSet[Any](), list[int]()
    connect = module.connect_pair

    def connect_and_remember(*arguments: Any) -> Any:
        connected = connect(*arguments)
        counted.append(1)
        made.update((connected.source.admin.client, connected.target.admin.client))
        return connected

    monkeypatch.setattr(module, "connect_pair", connect_and_remember)
    before = {side: {group.name for group in getattr(lab.pair, side).list_groups()} for side in ("source", "target")}
    name = lab.new_name()
    alive = {**FLOW, "name": name}
    gone = {**alive, "source": {"alias": "us", "connection": "kafka_dead"}}
    left = GroupLeftSource(group=name, for_s=60)
    many = [trigger(flow=alive, poke_interval_s=0.5) for _ in range(5)]
    many += [trigger(GroupCaughtUp(group=name), flow=alive, poke_interval_s=0.5) for _ in range(5)]
    many += [trigger(left, flow=gone, poke_interval_s=0.5, silent_fail=True) for _ in range(10)]
    drift = in_time(beside_a_sleeper(*many, for_s=6))
    assert drift < DRIFT_S
    assert poll(lambda: not made, timeout_s=LIMIT_S, interval_s=0.1), "clients outlive their triggers"
    assert counted
    after = {side: {group.name for group in getattr(lab.pair, side).list_groups()} for side in ("source", "target")}
    assert {side: [g for g in after[side] - before[side] if name in g] for side in after} == {
        "source": [],
        "target": [],
    }
    lab.close()
