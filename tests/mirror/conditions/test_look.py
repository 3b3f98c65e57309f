"""What people wait for, on the in-memory pair: met or not, with the numbers."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from threading import Event
from typing import Any

import pytest

from airflow_provider_mm2.mirror.conditions.condition import (
    Condition,
    GroupCaughtUp,
    GroupLeftSource,
    LagBelow,
    MirroredThrough,
)
from airflow_provider_mm2.mirror.conditions.finding import Finding
from airflow_provider_mm2.mirror.conditions.look import look, watch
from airflow_provider_mm2.mirror.errors import ClusterUnreachable, GroupAway, GroupUnknown, Stopped
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import from_ms
from airflow_provider_mm2.mirror.run import mirror_shard, prepare, run_mirror
from tests.fakes.groups import FakeGroup
from tests.fakes.log import Message, Outcome
from tests.mirror.offsets.group_world import BASE_MS, GroupWorld

BASE = from_ms(BASE_MS)


def bounds(until: datetime | None) -> RunBounds:
    """Bounds of a run that is asked for now."""
    return RunBounds(until=until, since=None, started=datetime.now(timezone.utc))


def run_until(world: GroupWorld, until: datetime) -> None:
    """Run the whole mirror up to a time."""
    run_mirror(world.flow, world.pair, bounds=bounds(until))


def seen(world: GroupWorld, condition: Condition) -> Finding:
    """One look."""
    return look(condition, world.flow, world.pair, stop=Event())


def test_nothing_ran_yet() -> None:
    """A flow without a record is waited for, not refused: its first run may be under way."""
    world = GroupWorld()
    for condition in (MirroredThrough(until=BASE), LagBelow(below=1), GroupCaughtUp(group="app")):
        found = seen(world, condition)
        assert (found.met, found.text) == (False, "flow 'f' has no record on the target yet: it never ran")


def test_mirrored_through_a_time() -> None:
    """Met when every partition is through it, to the millisecond; else the partitions that are not are named."""
    world = GroupWorld(partitions=2)
    for partition in range(2):
        world.produce(10, partition=partition)
    through = BASE + timedelta(milliseconds=5)
    run_until(world, through)
    found = seen(world, MirroredThrough(until=through))
    assert found.met
    assert found.text == "mirrored through 2023-11-14T22:13:20.005000Z on 2 partitions"
    assert found.facts["mirrored_through"] == "2023-11-14T22:13:20.005000Z"
    late = seen(world, MirroredThrough(until=through + timedelta(milliseconds=1)))
    assert not late.met
    assert late.text == (
        "not mirrored through 2023-11-14T22:13:20.006000Z yet: orders-0 is through 2023-11-14T22:13:20.005000Z, "
        "orders-1 is through 2023-11-14T22:13:20.005000Z"
    )


def test_mirrored_through_needs_no_source() -> None:
    """K22: the target alone tells, while the source does not answer."""
    world = GroupWorld(partitions=2)
    world.produce(10)
    run_until(world, BASE)
    world.pair.us.reachable = False
    assert seen(world, MirroredThrough(until=BASE)).met
    assert not seen(world, MirroredThrough(until=BASE + timedelta(hours=1))).met


def test_a_shard_that_has_not_begun_is_waited_for() -> None:
    """Of two shards of a first run one is done: the other's partitions are not in the ledger, and not forgotten."""
    world = GroupWorld(partitions=8, shards=2)
    prepared = prepare(world.flow, world.pair, bounds=bounds(BASE))
    mirror_shard(world.flow, world.pair, 0, bounds=bounds(BASE), prepared=prepared)
    found = seen(world, MirroredThrough(until=BASE))
    assert not found.met
    assert "is not mirrored yet" in found.text
    mirror_shard(world.flow, world.pair, 1, bounds=bounds(BASE), prepared=prepared)
    assert seen(world, MirroredThrough(until=BASE)).met


def test_a_target_with_more_partitions_is_not_waited_for() -> None:
    """A target topic that was made with more partitions than the source has is mirrored as far as it goes."""
    world = GroupWorld(partitions=2)
    world.pair.eu.create_topic("us.orders", 5)
    run_until(world, BASE)
    assert seen(world, MirroredThrough(until=BASE)).met


def test_the_mirrors_own_heartbeats_are_not_waited_for() -> None:
    """They stand under the name of a mirrored topic, and the target alone must do."""
    world = GroupWorld(topics=(".*",))
    run_until(world, BASE)
    assert "us.heartbeats" in world.pair.eu.topics
    world.pair.us.reachable = False
    assert seen(world, MirroredThrough(until=BASE)).met


def test_topics_by_name() -> None:
    """Only the topics named count, and one that is not mirrored is waited for."""
    world = GroupWorld()
    world.pair.us.create_topic("orders-late", 1)
    run_until(world, BASE)
    assert seen(world, MirroredThrough(until=BASE, topics=("orders",))).met
    found = seen(world, MirroredThrough(until=BASE, topics=("orders", "invoices")))
    assert (found.met, found.text.rpartition(": ")[2]) == (False, "invoices is not mirrored yet")


def test_mirrored_through_offsets() -> None:
    """An offset is reached when all below it is mirrored; a topic's counts for each of its partitions."""
    world = GroupWorld(partitions=2)
    world.produce(10)
    world.produce(7, partition=1)
    world.run()
    assert seen(world, MirroredThrough(offsets=(("orders", 0, 10), ("orders", 1, 7)))).met
    assert seen(world, MirroredThrough(offsets=(("orders", None, 7),))).met
    found = seen(world, MirroredThrough(offsets=(("orders", None, 8),)))
    assert (found.met, found.text) == (
        False,
        "not mirrored through offset 8 of orders yet: orders-1 is at 7 of 8",
    )
    assert "orders-9 is not mirrored yet" in seen(world, MirroredThrough(offsets=(("orders", 9, 0),))).text
    assert "else is not mirrored yet" in seen(world, MirroredThrough(offsets=(("else", None, 0),))).text


def test_offsets_of_a_topic_that_no_shard_has_begun() -> None:
    """A topic whose shard has not begun has reached no offset, whatever the other topics have."""
    world = GroupWorld(partitions=8, shards=2)
    prepared = prepare(world.flow, world.pair, bounds=bounds(None))
    mirror_shard(world.flow, world.pair, 0, bounds=bounds(None), prepared=prepared)
    for offsets in ((("orders", None, 0),), tuple(("orders", number, 0) for number in range(8))):
        found = seen(world, MirroredThrough(offsets=offsets))
        assert not found.met
        assert "is not mirrored yet" in found.text
    world.pair.us.create_topic("orders-late")
    world.pair.eu.create_topic("us.orders-late")
    assert not seen(world, MirroredThrough(offsets=(("orders-late", None, 0),))).met
    mirror_shard(world.flow, world.pair, 1, bounds=bounds(None), prepared=prepared)
    assert seen(world, MirroredThrough(offsets=(("orders", None, 0),))).met
    found = seen(world, MirroredThrough(offsets=(("orders-late", 0, 0),)))
    assert (found.met, found.text) == (
        False,
        "not mirrored through offset 0 of orders-late-0 yet: orders-late-0 is not mirrored yet",
    )


def test_offsets_are_compared_exactly() -> None:
    """K59: one offset beyond 2**53 makes the difference, which a float would not show."""
    world = GroupWorld()
    world.pair.us.advance_log_start("orders", 0, 2**53)
    world.produce(1)
    world.run()
    assert seen(world, MirroredThrough(offsets=(("orders", 0, 2**53 + 1),))).met
    assert not seen(world, MirroredThrough(offsets=(("orders", 0, 2**53 + 2),))).met


def test_lag() -> None:
    """The lag is of all partitions together, also of those that no run has seen; the largest are named."""
    world = GroupWorld(partitions=2)
    world.run()
    assert seen(world, LagBelow(below=1)).met
    world.produce(3)
    world.produce(4, partition=1)
    world.pair.us.create_topic("orders-new", 1)
    world.produce(5, topic="orders-new")
    found = seen(world, LagBelow(below=12))
    assert (found.met, found.facts["lag"]) == (False, 12)
    assert found.text == (
        "12 offsets not mirrored yet on 3 partitions, wanted: fewer than 12 (orders-new-0: 5, orders-1: 4, orders-0: 3)"
    )
    assert seen(world, LagBelow(below=13)).met
    assert seen(world, LagBelow(below=8, topics=("orders",))).met
    assert "the source has no gone" in seen(world, LagBelow(below=99, topics=("gone",))).text


def test_lag_behind_an_open_transaction() -> None:
    """What an open transaction holds back cannot be mirrored: it does not count, and is told."""
    world = GroupWorld()
    world.run()
    world.pair.us.transaction("orders", 0, Message(value=b"v"), Message(value=b"v"), outcome=Outcome.OPEN)
    found = seen(world, LagBelow(below=1))
    assert (found.met, found.facts["held_back"]) == (True, 2)
    assert found.text.endswith("open transactions hold back 2 more on orders-0")


def test_lag_needs_the_source() -> None:
    """A source that does not answer is an error that may pass, not a lag."""
    world = GroupWorld()
    world.run()
    world.pair.us.reachable = False
    with pytest.raises(ClusterUnreachable):
        seen(world, LagBelow(below=1))


def test_group_has_caught_up() -> None:
    """Records before the group are counted by the map: markers are none, and behind the last there are none."""
    world = GroupWorld()
    for _ in range(3):
        world.produce(10)
        world.run()
    mapped_end = world.pair.eu.visible("us.orders", 0)[-1][0] + 1
    assert mapped_end == 32  # two markers lie between
    for offset, lag in ((0, 30), (10, 20), (11, 20), (31, 1), (32, 0), (33, 0)):
        world.pair.eu.commit_offsets("app", {TopicPartition("us.orders", 0): offset})
        found = seen(world, GroupCaughtUp(group="app"))
        assert (found.met, found.facts["lag"]) == (lag == 0, lag)
    assert found.text == "group 'app' has 0 mirrored records before it on 1 partition, wanted: fewer than 1"


def test_group_that_has_not_begun() -> None:
    """Without offsets it has not caught up; a partition without one counts with all its records."""
    world = GroupWorld(partitions=2)
    world.produce(5)
    world.produce(6, partition=1)
    world.run()
    assert seen(world, GroupCaughtUp(group="app")).text == "group 'app' has no offsets of mirrored topics on the target"
    world.pair.eu.commit_offsets("app", {TopicPartition("us.orders", 0): 5})
    found = seen(world, GroupCaughtUp(group="app"))
    assert (found.met, found.facts["lag"], found.facts["uncommitted"]) == (False, 6, 1)
    assert found.text.endswith("(us.orders-1: 6); it has no offset of 1 partition")
    assert seen(world, GroupCaughtUp(group="app", below=7)).met
    assert not seen(world, GroupCaughtUp(group="new", topics=("orders",))).met


def test_group_on_a_topic_made_anew() -> None:
    """A map of a topic that is gone says nothing, so nobody is told that the group has caught up."""
    world = GroupWorld()
    world.produce(5)
    world.run()
    world.pair.eu.delete_topic("us.orders")
    world.pair.eu.create_topic("us.orders")
    world.pair.eu.commit_offsets("app", {TopicPartition("us.orders", 0): 0})
    found = seen(world, GroupCaughtUp(group="app"))
    assert (found.met, found.text.rpartition("; ")[2]) == (False, "the map says nothing of orders")


def test_expired_records_are_not_before_a_group() -> None:
    """What has expired on the target cannot be read, so it does not keep a group from being done."""
    world = GroupWorld()
    world.produce(10)
    world.run()
    world.pair.eu.commit_offsets("app", {TopicPartition("us.orders", 0): 2})
    world.pair.eu.advance_log_start("us.orders", 0, 8)
    assert seen(world, GroupCaughtUp(group="app")).facts["lag"] == 2


def test_group_whose_coordinator_is_away() -> None:
    """An error of the group is one that may pass."""
    world = GroupWorld()
    world.run()
    world.pair.eu.said["app"] = FakeGroup(away=True)
    with pytest.raises(GroupAway):
        seen(world, GroupCaughtUp(group="app"))


def test_group_has_left_the_source() -> None:
    """Its members are named as long as there are any; then it has left, its offsets or not."""
    world = GroupWorld()
    world.commit("app", 3)
    world.pair.us.said["app"] = FakeGroup(members=["billing-1 (10.0.0.1)"])
    found = seen(world, GroupLeftSource(group="app", for_s=0))
    assert (found.met, found.text) == (False, "group 'app' has 1 member on the source: billing-1 (10.0.0.1)")
    world.pair.us.said.clear()
    assert seen(world, GroupLeftSource(group="app", for_s=0)).met


def test_a_misspelt_group_has_not_left() -> None:
    """A name that nobody knows is refused; one that the target or the snapshot knows may be gone from the source."""
    world = GroupWorld()
    world.commit("app", 3)
    world.run()
    with pytest.raises(GroupUnknown, match="no sign of group 'ap' in us, eu and the snapshot of flow f"):
        seen(world, GroupLeftSource(group="ap", for_s=0))
    del world.pair.us.groups["app"]
    found = seen(world, GroupLeftSource(group="app", for_s=0))
    assert (found.met, found.text) == (
        True,
        "group 'app' has left the source: the source does not know it any more",
    )
    world.pair.eu.commit_offsets("moved", {TopicPartition("us.orders", 0): 0})
    assert seen(world, GroupLeftSource(group="moved", for_s=0)).met


def test_watching_ends_when_somebody_comes_back() -> None:
    """A group is watched while it is empty; the first member that is seen ends the watch."""
    world = GroupWorld()
    world.commit("app", 3)
    reports: list[Finding] = []

    def join_at_the_third_look(finding: Finding) -> None:
        reports.append(finding)
        if len(reports) == 2:
            world.pair.us.said["app"] = FakeGroup(members=["billing-1 (10.0.0.1)"])

    arguments: dict[str, Any] = {"stop": Event(), "every_s": 0.01, "report": join_at_the_third_look}
    found = watch(GroupLeftSource(group="app", for_s=60), world.flow, world.pair, **arguments)
    assert (found.met, [each.met for each in reports]) == (False, [False, False, False])
    assert reports[1].text.endswith("for 0 of 60 s")
    world.pair.us.said.clear()
    assert watch(GroupLeftSource(group="app", for_s=0.05), world.flow, world.pair, **arguments).met


def test_a_look_can_be_stopped() -> None:
    """Whoever waits no longer says so, and the look ends at its next chance."""
    world = GroupWorld()
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        look(LagBelow(below=1), world.flow, world.pair, stop=stop)
