"""Groups that lag behind the place where this flow took over from MirrorMaker 2."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.offsets.seed import Seed
from airflow_provider_mm2.mirror.run import seed_progress
from tests.mirror.offsets.mm2_world import Mm2World


@pytest.fixture
def world() -> Mm2World:
    """Give a pair whose first 60 records MirrorMaker 2 copied, with syncs at 0, 20 and 40, and we the rest."""
    made = Mm2World()
    made.numbers(60)
    made.copy(0, 60, synced=(20, 40))
    seed_progress(made.flow, made.pair, Seed.parse("match"), topics=(), force=False, apply=True, owner="me")
    made.numbers(40)
    made.run()
    return made


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
