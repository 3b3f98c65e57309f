"""The end of a run without transactions: whatever part of its writes arrives, the next run makes up for all of it."""

from __future__ import annotations

from datetime import datetime, timezone
from threading import Event

import pytest

from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.run import mirror_groups, mirror_shard
from airflow_provider_mm2.mirror.state.snapshot import GroupSnapshot, read_snapshot
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.mirror.offsets.group_world import GroupWorld, Killed


class KillAt(Event):
    """A stop event that ends the process when it is asked for the ``number``-th time."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left = number

    def is_set(self) -> bool:
        """Ask, or die."""
        self.left -= 1
        if self.left == 0:
            raise Killed
        return False


def world() -> GroupWorld:
    """Groups of which one has moved, one is new and one is gone since the last run; the new records are mirrored."""
    made = GroupWorld(partitions=2, delivery=Delivery.AT_LEAST_ONCE)
    made.pair.deliver(Delivery.AT_LEAST_ONCE)
    for partition in range(2):
        made.produce(50, partition=partition)
        for group in ("moves", "stays", "goes"):
            made.commit(group, 20, partition=partition)
    made.run()
    made.produce(30)
    made.commit("moves", 60)
    made.commit("comes", 70)
    del made.pair.us.groups["goes"]
    bounds = RunBounds(until=None, since=None, started=datetime.now(timezone.utc))
    mirror_shard(made.flow, made.pair, 0, bounds=bounds)
    return made


def stands(made: GroupWorld) -> GroupSnapshot:
    """What the flow remembers, without the times."""
    snapshot = read_snapshot(made.pair.target, "f", lambda: None)
    snapshot.taken_ms = None
    return snapshot


def newest(made: GroupWorld) -> dict[tuple[str, int], tuple[int, int]]:
    """The newest checkpoint of each group and partition."""
    return {(group, part): (source, target) for group, part, source, target in made.checkpoints()}


def wanted() -> tuple[dict[tuple[str, int], tuple[int, int]], set[tuple[int, int, int]], set[str]]:
    """What a run that nobody kills leaves: checkpoints, offset syncs, groups."""
    made = world()
    mirror_groups(made.flow, made.pair)
    return newest(made), set(made.syncs()), set(stands(made).groups)


@pytest.mark.parametrize("number", range(1, 60))
def test_killed_between_any_two_writes(number: int) -> None:
    """What is remembered as published was published before, and one more run leaves what an unhurt one does."""
    made, stop = world(), KillAt(number)
    try:
        mirror_groups(made.flow, made.pair, stop=stop)
    except Killed:
        made.pair.eu.expire_member("mm2.f.groups.lease")
    snapshot = stands(made)
    published = {
        (group, part.partition, *pair) for group, parts in snapshot.published.items() for part, pair in parts.items()
    }
    assert published <= set(made.checkpoints())
    remembered = {(part.partition, *pair) for part, pair in snapshot.syncs.items()}
    assert remembered <= set(made.syncs())
    mirror_groups(made.flow, made.pair)
    assert (newest(made), set(made.syncs()), set(stands(made).groups)) == wanted()
    assert len(made.checkpoints()) == len(set(made.checkpoints()))
    again = mirror_groups(made.flow, made.pair)
    assert (again.checkpoints, again.syncs) == (0, 0)
