"""Groups of a flow that runs and connectors mirror in turn: no unread record is skipped, and exact is exact."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.errors import ClusterUnreachable, ConnectLeftNothing
from airflow_provider_mm2.mirror.offsets.seed import Seed
from airflow_provider_mm2.mirror.run import seed_progress
from airflow_provider_mm2.mirror.state_model import Engine
from tests.mirror.offsets.mm2_world import SOURCE, TARGET, Mm2World

pytestmark = pytest.mark.thorough


@given(st.data())
def test_whoever_mirrored_what(data: st.DataObject) -> None:
    """Wherever a group stands, and whoever has copied what lies there, it goes on with all that it has not read."""
    world = Mm2World(syncs_on=data.draw(st.sampled_from(["us", "eu"])))
    copied = 0
    for is_run in data.draw(st.lists(st.booleans(), min_size=1, max_size=5)):
        world.numbers(data.draw(st.integers(1, 12)))
        end = world.pair.us.log(SOURCE).end
        world.mirrored_by(Engine.BOUNDED if is_run else Engine.CONNECT)
        if is_run:
            seed = Seed.parse("match")
            seed_progress(world.flow, world.pair, seed, topics=(), force=False, apply=True, owner="me")
            world.run(emit_offset_syncs=data.draw(st.booleans()), sync_group_offsets=data.draw(st.booleans()))
            copied = end
        else:
            until = data.draw(st.integers(copied, end))
            synced = data.draw(st.lists(st.integers(copied, end), max_size=3))
            world.copy(copied, until, synced=synced, transaction=data.draw(st.booleans()))
            copied = until
        for offset in range(end + 1):
            world.commit(f"g{offset:02}", offset)
        assert_safe(world, copied, refine=data.draw(st.booleans()))


def assert_safe(world: Mm2World, copied: int, *, refine: bool) -> None:
    """Hold every position against what lies where on the target."""
    there = {int(message.value or b""): offset for offset, message in world.pair.eu.visible(*TARGET)}
    assert list(there) == list(range(copied))
    rows = rows_of(world, refine=refine)
    world.pair.us.reachable = False
    rows += rows_of(world, refine=False)  # as they were last read or checkpointed
    world.pair.us.reachable = True
    for row in rows:
        at, position = row["target_offset"], row["source_offset"]
        given_ = [number for number, offset in there.items() if at is not None and offset >= at]
        if at is not None:
            assert set(range(position, copied)) <= set(given_), row
        if row["exact"]:
            assert given_ == list(range(position, copied)), row
    committed = {name: offsets for name, offsets in world.pair.eu.groups.items() if name.startswith("g")}
    for name in committed:
        at = world.target_offsets(name)[0]
        assert {number for number, offset in there.items() if offset >= at} >= set(range(int(name[1:]), copied)), name


def rows_of(world: Mm2World, *, refine: bool) -> list[dict[str, Any]]:
    """Where groups stand; nothing where nobody has left anything to tell it by."""
    try:
        rows: list[dict[str, Any]] = world.look(refine=refine).to_json()["groups"]
    except (ClusterUnreachable, ConnectLeftNothing):
        return []
    return rows
