"""Groups of a flow that connectors mirror: the map as far as it goes, MirrorMaker 2's state beyond it."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import ClusterUnreachable, ConnectLeftNothing
from airflow_provider_mm2.mirror.offsets.commit import Outcome
from airflow_provider_mm2.mirror.run import locate_groups
from airflow_provider_mm2.mirror.state.engines import tell_engine
from airflow_provider_mm2.mirror.state_model import Engine
from tests.fakes.log import Message
from tests.mirror.offsets.mm2_world import Mm2World

ON_TARGET = "offset syncs on target"


def on_connect(**options: Any) -> Mm2World:
    """A pair that connectors mirror, which keep their offset syncs on the target."""
    world = Mm2World(syncs_on="eu", **options)
    world.mirrored_by(Engine.CONNECT)
    return world


def handed_over(**options: Any) -> Mm2World:
    """A pair whose first 60 records a run mirrored, connectors the next 40, one further, with syncs at 60 and 80."""
    world = Mm2World(syncs_on="eu")
    world.numbers(60)
    world.run(**options)
    world.numbers(40)
    world.copy(60, 100, synced=(80,))
    world.mirrored_by(Engine.CONNECT)
    return world


def at(world: Mm2World, offset: int, *, refine: bool = False) -> Any:
    """Target offset, whether it is exact, and what it follows from."""
    row = world.at(offset, refine=refine)
    return row["target_offset"], row["exact"], row["source"]


@pytest.mark.parametrize(
    ("offset", "told", "refined"),
    [
        (30, (30, True, "offset map"), 30),
        (60, (60, True, "offset map"), 60),
        (70, (62, False, ON_TARGET), 71),
        (80, (81, True, ON_TARGET), 81),
        (100, (82, False, ON_TARGET), 101),
    ],
)
def test_on_both_sides_of_a_hand_over(offset: int, told: Any, refined: int) -> None:
    """Up to the map's end it is exact by the map; beyond it the connectors' syncs answer, exactly with refine."""
    world = handed_over()
    assert at(world, offset) == told
    assert at(world, offset, refine=True) == (refined, True, told[2])


def test_never_before_the_map_s_end() -> None:
    """A sync from before the hand-over does not take a group back behind what the map knows that it has read."""
    world = handed_over(emit_offset_syncs=False)
    world._cluster.delete_topic(world._topic)
    world.sync(20, 20)
    assert at(world, 70) == (60, False, ON_TARGET)
    assert at(world, 70, refine=True) == (71, True, ON_TARGET)
    assert world.at(70)["reason"] == "by MirrorMaker 2's syncs, not exact"
    world._cluster.delete_topic(world._topic)
    assert at(world, 70) == (60, False, "offset map")


def test_the_file_is_ahead_of_a_hand_over() -> None:
    """What mirrors the flow stands on record: where that is runs, a group that is ahead of them is told as before."""
    world = handed_over()
    world.mirrored_by(Engine.BOUNDED)
    world.flow = world.flow.model_copy(update={"engine": "connect"})
    assert world.at(70)["reason"] == "ahead of the mirror by 10"
    assert "by its record engine: bounded mirrors it" in tell_engine(world.flow, Engine.BOUNDED)[0]
    assert tell_engine(world.flow, Engine.CONNECT) == ()
    assert "a hand-over is half done" in tell_engine(world.flow, Engine.TO_CONNECT)[0]


def test_a_topic_that_came_after_the_hand_over() -> None:
    """What no run has mirrored goes by the connectors' syncs, every partition of it told."""
    world = handed_over()
    world.pair.us.create_topic("orders-new", 2)
    world.pair.eu.create_topic("us.orders-new", 2)
    world.produce(9, topic="orders-new")
    world.pair.eu.produce("us.orders-new", 0, *(Message(value=b"v") for _ in range(9)))
    world.sync(4, 4, topic="orders-new")
    world.commit("new", 4, topic="orders-new")
    rows = [row for row in world.look().to_json()["groups"] if row["group"] == "new"]
    assert [(row["partition"], row["target_offset"], row["reason"]) for row in rows] == [
        (0, 4, None),
        (1, None, "no commit on source"),
    ]


def test_without_any_record_of_the_flow() -> None:
    """A flow that connectors have mirrored always needs no gate, to be told of or to be written, and is never ahead."""
    world = on_connect()
    world.numbers(50)
    world.copy(0, 50, synced=(20,))
    world.commit("app", 30)
    report = world.locate(apply=True)
    assert (report.outcomes["app"].outcome, world.target_offsets("app")) == (Outcome.WRITTEN, {0: 21})
    locate_groups(world.flow, world.pair, refine=True, apply=True)
    assert (world.target_offsets("app"), world.look().told) == ({0: 30}, ())
    assert {"mm2-flow.f.internal", "mm2-offset-map.f.internal"}.isdisjoint(world.pair.eu.topics)


def test_connectors_that_have_left_nothing() -> None:
    """There is nothing to go by, and the message says where to look."""
    world = on_connect()
    world.commit("app", 0)
    for apply in (False, True):
        with pytest.raises(
            ConnectLeftNothing, match="neither an offset sync nor a checkpoint of the topics of flow 'f'"
        ):
            world.locate(apply=apply)
    world.pair.us.reachable = False
    with pytest.raises(ClusterUnreachable):
        world.locate()


def test_when_the_source_is_gone() -> None:
    """Checkpoints on the target tell where groups stood on both sides; inside the map the source side is exact."""
    world = handed_over()
    world.publish("app", 90, 85)
    world.publish("mapped", 30, 25)
    world.publish("console-consumer-1", 30, 25)
    world.pair.us.reachable = False
    document = world.look().to_json()
    rows = {row["group"]: row for row in document["groups"]}
    assert {name: (row["source_offset"], row["target_offset"], row["exact"]) for name, row in rows.items()} == {
        "app": (90, 85, False),
        "mapped": (30, 30, True),
    }
    assert (rows["app"]["source"], rows["mapped"]["source"]) == ("checkpoints", "offset map")
    assert (
        "so this is what MirrorMaker 2's checkpoints on eu say of its groups, the newest of" in document["warnings"][0]
    )
    assert [row["group"] for row in world.locate("mapped").to_json()["groups"]] == ["mapped"]
