"""The task that tells where groups would go on: live or from the target alone, failing for inexact places or not."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.operators import translate
from airflow_provider_mm2.operators.translate import TranslateOffsetsOperator
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.fakes.groups import FakeGroup
from tests.mirror.offsets.group_world import GroupWorld
from tests.mirror.offsets.mm2_world import Mm2World
from tests.mirror.recovery.failover_world import FailoverWorld, PairWithout
from tests.operators.task_context import task_context


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> FailoverWorld:
    """Give a flow that has mirrored, and have the operator connect to its pair; without its source where told so."""
    made = FailoverWorld()

    def connect(flow: Any, settings: Any, stop: Any, *, target_only: bool = False) -> Any:
        return PairWithout(made) if target_only else made.pair

    monkeypatch.setattr(translate, "connect_pair", connect)
    return made


def translated(world: GroupWorld, **arguments: Any) -> dict[str, Any]:
    """Run the task; gives what it leaves in XCom."""
    context = task_context()
    task = TranslateOffsetsOperator(**{"task_id": "translate", "flow": world.flow, **arguments})
    result: dict[str, Any] = task.execute(context)
    assert context["ti"].pushed["translated"] == result
    return result


def places(result: dict[str, Any]) -> dict[str, int | None]:
    """Give the offsets on the target by group."""
    return {row["group"]: row["target_offset"] for row in result["listed"]}


def test_where_groups_stand_now(world: FailoverWorld) -> None:
    """The source is asked, and nothing is written; only the groups and topics that are named are told."""
    world.commit("app", 70)
    result = translated(world)
    assert (places(result), result["groups"], result["exact"]) == ({"app": 71, "idle": 101}, 2, 2)
    assert places(translated(world, groups='["idle"]')) == {"idle": 101}
    assert places(translated(world, topics=["orders"], groups=["app"])) == {"app": 71}
    assert world.offsets() == {}
    assert world.is_runnable()


def test_as_the_last_run_read_them(world: FailoverWorld) -> None:
    """Without the source the positions of the last run count."""
    world.commit("app", 70)
    assert places(translated(world, live=False)) == {"app": 61, "idle": 101}


def test_inexact_places_fail_or_not(world: FailoverWorld) -> None:
    """A group that is further than the mirror has no exact place: told with its reason, in XCom in either case."""
    world.produce(10)
    world.commit("app", 105)
    context = task_context()
    task = TranslateOffsetsOperator(task_id="translate", flow=world.flow)
    with pytest.raises(AirflowFailException, match=r"1 position\(s\) of flow 'f' .*: app on orders-0 \("):
        task.execute(context)
    assert context["ti"].pushed["translated"]["exact"] == 1
    assert translated(world, exact="false")["exact"] == 1


def test_a_group_that_cannot_be_read(world: FailoverWorld) -> None:
    """It has no place that could be exact."""
    world.pair.eu.said["app"] = FakeGroup(away=True)
    assert len(translated(world, exact=False)["problems"]) == 1
    with pytest.raises(AirflowFailException, match="group app: "):
        translated(world)


def test_unknown_names(world: FailoverWorld) -> None:
    """A group that the flow does not have is refused."""
    with pytest.raises(AirflowFailException, match="has no group aap"):
        translated(world, groups=["aap"])


def test_of_a_flow_that_connectors_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    """MirrorMaker 2's syncs tell it live, its checkpoints without the source; unknown names are refused."""
    world = Mm2World(syncs_on="eu", engine="connect", connect={"url": "http://c"})
    world.numbers(20)
    monkeypatch.setattr(translate, "connect_pair", lambda *arguments, **options: world.pair)
    with pytest.raises(AirflowFailException, match="neither an offset sync nor a checkpoint"):
        translated(world, live=False)
    world.copy(0, 20, synced=(10,))
    for group, offset in (("app", 10), ("behind", 15)):
        world.commit(group, offset)
    world.publish("behind", 12, 11)
    assert places(translated(world, exact=False)) == {"app": 10, "behind": 11}
    assert translated(world, groups=["app"])["exact"] == 1
    with pytest.raises(AirflowFailException, match=r"1 position\(s\) of flow 'f' .*: behind on orders-0 \(by Mirror"):
        translated(world)
    assert places(translated(world, live=False, exact=False)) == {"behind": 11}
    for arguments in ({"groups": ["aap"]}, {"topics": ["stock"]}):
        with pytest.raises(AirflowFailException, match=r"has no (group aap|topic stock)"):
            translated(world, **arguments)
