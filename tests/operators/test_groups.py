"""The task that ends a run, on the in-memory pair: what it does, returns, and how it fails."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import GroupsIncomplete
from airflow_provider_mm2.operators import flow_task
from airflow_provider_mm2.operators.groups import SyncGroupOffsetsOperator
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.fakes.groups import FakeGroup
from tests.mirror.offsets.group_world import GroupWorld
from tests.mirror.offsets.mm2_world import Mm2World
from tests.operators.task_context import task_context


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> GroupWorld:
    """Give a mirrored topic of ten records with a group at 4, and have the operator connect to it."""
    made = GroupWorld()
    made.produce(10)
    made.commit("app", 4)
    made.run(emit_checkpoints=False)
    monkeypatch.setattr(flow_task, "_connect", lambda flow, settings: made.pair)
    return made


def operator(world: GroupWorld, **arguments: Any) -> SyncGroupOffsetsOperator:
    """Make the operator."""
    return SyncGroupOffsetsOperator(**{"task_id": "groups", "flow": world.flow, **arguments})


def test_checkpoints_are_published(world: GroupWorld) -> None:
    """It publishes, and returns how many groups came to what; nothing is committed that the flow does not ask for."""
    result = operator(world).execute(task_context())
    assert (result["groups"], result["results"], result["checkpoints"]) == (1, {"not written": 1}, 1)
    assert world.checkpoints() == [("app", 0, 4, 4)]
    assert world.target_offsets("app") == {}


def test_committing_is_switched_on_by_the_argument(world: GroupWorld) -> None:
    """The argument wins over the flow, in both directions."""
    operator(world, sync_group_offsets=True).execute(task_context())
    assert world.target_offsets("app") == {0: 4}
    world.commit("app", 6)
    world.flow = world.flow.model_copy(update={"sync_group_offsets": True})
    operator(world, sync_group_offsets=False).execute(task_context())
    assert world.target_offsets("app") == {0: 4}


def test_a_failed_group_fails_the_task_in_the_end(world: GroupWorld) -> None:
    """The others are done, the failure is worth a retry, and what came to what is in XCom all the same."""
    world.commit("bad", 1)
    world.pair.us.said["bad"] = FakeGroup(away=True)
    context = task_context()
    with pytest.raises(GroupsIncomplete, match=r"1 of 2 groups failed \(bad\)"):
        operator(world, sync_group_offsets=True).execute(context)
    assert world.target_offsets("app") == {0: 4}
    pushed: Any = context["ti"]
    assert pushed.pushed["groups"]["failed"] == ["bad"]


def test_a_flow_that_never_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to translate by: the task fails for good, and says what to run."""
    world = GroupWorld()
    monkeypatch.setattr(flow_task, "_connect", lambda flow, settings: world.pair)
    with pytest.raises(AirflowFailException, match="Next move: "):
        operator(world).execute(task_context())


def test_beside_connectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a flow that connectors mirror it tells where groups stand, and commits where asked; it publishes nothing."""
    world = Mm2World(syncs_on="eu", engine="connect", connect={"url": "http://c"})
    world.numbers(20)
    world.copy(0, 20, synced=(10,))
    world.commit("app", 10)
    monkeypatch.setattr(flow_task, "_connect", lambda flow, settings: world.pair)
    result = operator(world).execute(task_context())
    assert (result["results"], result["checkpoints"], world.target_offsets("app")) == ({"not written": 1}, 0, {})
    operator(world, sync_group_offsets=True).execute(task_context())
    assert world.target_offsets("app") == {0: 10}
    assert "us.checkpoints.internal" not in world.pair.eu.topics
