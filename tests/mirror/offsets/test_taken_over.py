"""Groups that lag behind the place where this flow took over from MirrorMaker 2."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import NotAuthorized
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.offsets.by_mm2 import completed_by_mm2
from airflow_provider_mm2.mirror.offsets.commit import Outcome
from airflow_provider_mm2.mirror.offsets.mm2_positions import Mm2State
from airflow_provider_mm2.mirror.offsets.positions import locate
from airflow_provider_mm2.mirror.offsets.reading import read_mirror
from airflow_provider_mm2.mirror.offsets.seed import Seed
from airflow_provider_mm2.mirror.offsets.translate import Policy
from airflow_provider_mm2.mirror.run import locate_groups, seed_progress
from airflow_provider_mm2.mirror.status import read_record
from tests.mirror.offsets.mm2_world import SOURCE, Mm2World


def taken_over(**options: Any) -> Mm2World:
    """A pair whose first 60 records MirrorMaker 2 copied, with syncs at 0, 20 and 40, and we the rest."""
    made = Mm2World(**options)
    made.numbers(60)
    made.copy(0, 60, synced=(20, 40))
    seed_progress(made.flow, made.pair, Seed.parse("match"), topics=(), force=False, apply=True, owner="me")
    made.numbers(40)
    made.run()
    return made


@pytest.fixture
def world() -> Mm2World:
    """Give such a pair with the syncs on the source."""
    return taken_over()


def at(world: Mm2World, offset: int, *, refine: bool = False) -> Any:
    """Target offset, whether it is exact, and what it follows from."""
    row = world.at(offset, refine=refine)
    return row["target_offset"], row["exact"], row["source"]


def test_behind_the_take_over(world: Mm2World) -> None:
    """Behind it MirrorMaker 2's syncs answer, exactly where the record is looked for; from it on the map does."""
    assert at(world, 50) == (41, False, "offset syncs on source")
    assert at(world, 50, refine=True) == (50, True, "offset syncs on source")
    assert at(world, 80) == (80, True, "offset map")


def test_without_mirror_maker_2_s_state(world: Mm2World) -> None:
    """Where its syncs are gone the position is behind the mirror's start, and says by how much."""
    world.pair.us.delete_topic("mm2-offset-syncs.eu.internal")
    world.commit("app", 50)
    (row,) = world.look().to_json()["groups"]
    assert (row["target_offset"], row["reason"]) == (None, "behind the mirror's start by 10")


def test_the_group_sync_of_a_run(world: Mm2World) -> None:
    """A run publishes and commits what MirrorMaker 2's syncs give, never takes a found place back, and says nothing."""
    world.commit("app", 50)
    assert world.run(sync_group_offsets=True).groups.outcomes["app"].outcome is Outcome.WRITTEN
    assert (world.target_offsets("app"), world.checkpoints()) == ({0: 41}, [("app", 0, 50, 41)])
    locate_groups(world.flow, world.pair, refine=True, apply=True)
    assert world.target_offsets("app") == {0: 50}
    for options in ({"sync_group_offsets": True}, {}):
        assert world.run(**options).to_json()["warnings"] == []
    assert (world.target_offsets("app"), world.look().told) == ({0: 50}, ())


@pytest.mark.parametrize(("syncs_on", "place"), [("eu", 41), ("us", None)])
def test_from_the_target_alone(syncs_on: str, place: int | None) -> None:
    """Without the source the syncs on the target answer for what the last run read; those on the source cannot."""
    world = taken_over(syncs_on=syncs_on)
    world.commit("app", 50)
    world.run(emit_checkpoints=False)
    world.pair.us.reachable = False
    (row,) = world.look().to_json()["groups"]
    assert (row["target_offset"], row["exact"]) == (place, False)
    world.publish("app", 45, 45)
    assert world.look().to_json()["groups"][0]["target_offset"] == 45


def test_syncs_that_contradict_the_map(world: Mm2World) -> None:
    """A place behind the first record of our own map is not taken: all before it is still to be read."""
    world.sync(45, 61)
    world.commit("app", 50)
    assert world.look().to_json()["groups"][0]["target_offset"] is None
    world.sync(46, 59)
    assert world.look().to_json()["groups"][0]["target_offset"] == 60


def test_a_policy_is_no_answer(world: Mm2World) -> None:
    """Before the first sync nobody knows more than the map, which tells how far before its start a group stands."""
    world._cluster.delete_topic(world._topic)
    world.sync(30, 30)
    world.commit("app", 10)
    world.flow = world.flow.model_copy(update={"behind_start": "earliest"})
    for _ in range(2):
        (row,) = world.look().to_json()["groups"]
        told = (row["target_offset"], row["reason"], row["source"])
        assert told == (0, "behind the mirror's start by 50", "offset map")
        world.run()
    assert world.checkpoints() == [("app", 0, 10, 0)]


def test_asked_only_where_it_is_needed(world: Mm2World) -> None:
    """MirrorMaker 2's topics are read only for a position that the map lacks; who may not read them is told."""
    committed = {name: GroupOffsets(offsets={SOURCE: at}) for name, at in (("behind", 50), ("mapped", 80))}
    record = read_record("f", world.pair.target, tick=no_tick)
    mirror = read_mirror(world.pair.target, record, no_tick)
    ours = {name: tuple(locate(name, found, mirror, Policy())) for name, found in committed.items()}

    def refused() -> Mm2State | None:
        raise NotAuthorized(alias="us", operation="read", problem="no")

    mapped = {"mapped": ours["mapped"]}
    assert completed_by_mm2(world.flow, committed, mapped, mirror, refused).positions == mapped
    found = completed_by_mm2(world.flow, committed, ours, mirror, refused)
    assert found.positions == ours
    assert found.warnings[0].startswith("1 group(s) have positions that only MirrorMaker 2's state could tell: cluster")
