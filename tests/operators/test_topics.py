"""The task that only makes topics, on the in-memory pair."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from airflow_provider_mm2.operators import flow_task
from airflow_provider_mm2.operators.topics import SyncTopicsOperator
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.mirror.offsets.group_world import GroupWorld
from tests.operators.task_context import task_context


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> GroupWorld:
    """Give a topic with an override and ten records, and have the operator connect to it."""
    made = GroupWorld()
    made.pair.us.topics["orders"].settings["retention.bytes"] = "7"
    made.produce(10)
    monkeypatch.setattr(flow_task, "_connect", lambda flow, settings: made.pair)
    return made


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give what the task logs."""
    log, found = logging.getLogger("operator"), []
    monkeypatch.setattr(log, "info", lambda text, *given: found.append(text % (given[0] if "%(" in text else given)))
    monkeypatch.setattr(SyncTopicsOperator, "log", log)
    return found


def execute(world: GroupWorld, **arguments: Any) -> dict[str, Any]:
    """Do the task."""
    operator = SyncTopicsOperator(**{"task_id": "topics", "flow": world.flow, **arguments})
    result: dict[str, Any] = operator.execute(task_context())
    return result


def test_topics_are_made_and_nothing_is_copied(world: GroupWorld, lines: list[str]) -> None:
    """It creates, grows and alters, returns what it did, and copies no record."""
    first = execute(world)
    assert (first["created"], first["nothing_changed"]) == (["us.orders"], False)
    assert world.pair.eu.visible("us.orders", 0) == []
    world.pair.us.grow_topic("orders", 3)
    world.pair.us.topics["orders"].settings["retention.bytes"] = "8"
    second = execute(world)
    assert (second["grown"], second["altered"]) == (
        ["us.orders"],
        [{"topic": "us.orders", "setting": "retention.bytes", "value": "8"}],
    )
    assert "us.orders: retention.bytes is now 8" in lines


def test_the_second_time_it_says_so(world: GroupWorld, lines: list[str]) -> None:
    """Nothing is to change, and no request that alters is made."""
    execute(world)
    again = execute(world)
    assert (again["nothing_changed"], again["created"], again["altered"], again["acls"]) == (True, [], [], [])
    assert lines[-1] == "1 topics: nothing to change"
    assert world.pair.eu.altered == []


def test_a_refusal_fails_it_for_good(world: GroupWorld) -> None:
    """What a run would refuse it refuses, with the next move."""
    flow = world.flow.model_copy(update={"topics": ("orders", "billing.internal")})
    world.pair.us.create_topic("billing.internal")
    with pytest.raises(AirflowFailException, match="Next move: "):
        execute(world, flow=flow)
