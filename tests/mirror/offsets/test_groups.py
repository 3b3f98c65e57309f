"""What a run does with consumer groups: snapshot, checkpoints, offset syncs, and committing on the target."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import (
    ClusterUnreachable,
    FlowNotPrepared,
    GroupsIncomplete,
    LeaseHeld,
    NotAuthorized,
    StateDamaged,
)
from airflow_provider_mm2.mirror.group_model import GroupKind, GroupOffsets
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint
from airflow_provider_mm2.mirror.offsets.commit import Outcome
from airflow_provider_mm2.mirror.offsets.groups import finish_groups
from airflow_provider_mm2.mirror.offsets.translate import Reason, Translated
from airflow_provider_mm2.mirror.state.renewals import read_saved
from airflow_provider_mm2.mirror.state.snapshot import read_snapshot
from airflow_provider_mm2.mirror.status import flow_status
from tests.fakes.groups import FakeGroup, FakeGroups
from tests.fakes.log import Message, Transaction
from tests.fakes.log import Outcome as Ended
from tests.fakes.producer import FakeProducer
from tests.mirror.offsets.group_world import CHECKPOINTS, SYNCS, GroupWorld, Killed, Trapped


def no_tick() -> None:
    """Let it wait."""


def row(report: Any, group: str, partition: int = 0) -> dict[str, Any]:
    """One row of the report's document."""
    rows: list[dict[str, Any]] = report.to_json()["groups"]
    (found,) = (each for each in rows if (each["group"], each["partition"]) == (group, partition))
    return found


def test_idle_topic() -> None:
    """K41: each run writes a sync for its last record, and the group at the end translates to the end."""
    world = GroupWorld()
    world.produce(100)
    world.commit("app", 100)
    summary = world.run()
    assert world.syncs()[0] == (0, 0, 0)
    assert world.syncs()[-1] == (0, 99, 99)
    assert world.checkpoints() == [("app", 0, 100, 100)]
    assert summary.to_json()["groups"] == {
        "groups": 1,
        "results": {"not written": 1},
        "failed": [],
        "left_out": 0,
        "checkpoints": 1,
        "syncs": len(world.syncs()),
        "warnings": [],
    }


def test_partitions_with_and_without_commits() -> None:
    """K09: 0 is a commit, 7 is exact, and a partition without one is told and left alone."""
    world = GroupWorld(partitions=3, sync_group_offsets=True)
    for partition in range(3):
        world.produce(10, partition=partition)
    world.commit("app", 0, partition=0)
    world.commit("app", 7, partition=1)
    world.run()
    report = world.locate()
    assert [row(report, "app", number)["target_offset"] for number in range(3)] == [0, 7, None]
    assert row(report, "app", 2)["reason"] == "no commit on source"
    assert world.checkpoints() == [("app", 0, 0, 0), ("app", 1, 7, 7)]
    assert world.target_offsets("app") == {0: 0, 1: 7}
    world.groups(uncommitted="earliest")
    assert world.target_offsets("app") == {0: 0, 1: 7, 2: 0}


def test_empty_partitions() -> None:
    """K85: a group that committed 0 on a partition without a record stands at 0 on the target."""
    world = GroupWorld(partitions=3, sync_group_offsets=True)
    world.produce(5, partition=1)
    world.commit("app", 0, partition=0)
    world.run()
    assert world.target_offsets("app") == {0: 0}


def test_grown_topic() -> None:
    """K51: positions on partitions that came up translate there, too."""
    world = GroupWorld(partitions=3, sync_group_offsets=True)
    world.run()
    world.pair.us.grow_topic("orders", 6)
    world.produce(10, partition=5)
    world.commit("app", 4, partition=5)
    world.run()
    assert world.target_offsets("app") == {5: 4}


def test_markers_are_counted() -> None:
    """K81: a second run's records lie behind a marker, and the position is the translated one, not the same number."""
    world = GroupWorld(sync_group_offsets=True)
    for _ in range(4):
        world.produce(25)
        world.run()
    world.commit("app", 100)
    world.run()
    assert world.target_offsets("app") == {0: 103}


def test_nothing_new_is_published_twice() -> None:
    """A run over which nothing moved publishes neither a checkpoint nor a sync, and keeps the snapshot's time new."""
    world = GroupWorld()
    world.produce(300)
    world.commit("app", 120)
    first = world.run()
    checkpoints, syncs = world.checkpoints(), world.syncs()
    again = world.run()
    assert (world.checkpoints(), world.syncs()) == (checkpoints, syncs)
    assert (again.groups.checkpoints, again.groups.syncs) == (0, 0)
    taken_ms = read_snapshot(world.pair.target, "f", no_tick).taken_ms
    assert taken_ms == again.groups.as_of_ms
    assert again.groups.as_of_ms >= first.groups.as_of_ms


def test_restart_does_not_go_back() -> None:
    """K42: 51 is suppressed under a published 80; a deliberate rewind publishes, and moves no target group back."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(300)
    world.publish("app", 80, 80)
    world.commit("app", 51)
    world.publish("app", 51, 80)  # as if the position had been translated differently before
    world.run()
    assert world.checkpoints() == [("app", 0, 80, 80), ("app", 0, 51, 80)]
    world.commit("app", 200)
    world.run()
    world.commit("app", 150)
    report = world.run()
    assert world.checkpoints()[-2:] == [("app", 0, 200, 200), ("app", 0, 150, 150)]
    assert world.target_offsets("app") == {0: 200}
    assert report.groups.outcomes["app"].ahead == {TopicPartition("us.orders", 0): 50}
    world.run(allow_rewind=True)
    assert world.target_offsets("app") == {0: 150}


def test_rewound_at_the_source() -> None:
    """K95: the target stays where it is, and the 2,500 offsets that it is ahead are told."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(3_000)
    world.commit("app", 3_000)
    world.run()
    world.commit("app", 500)
    report = world.locate(apply=True)
    assert report.to_json()["results"][0]["ahead"] == [{"topic": "us.orders", "partition": 0, "offsets": 2_500}]
    assert world.target_offsets("app") == {0: 3_000}


def test_ahead_is_told_without_a_write() -> None:
    """K95: also where nothing is written, ``mm2 groups`` and ``mm2 status`` say what would be skipped."""
    world = GroupWorld()
    world.produce(300)
    world.commit("app", 50)
    world.set_target("app", 300)
    summary = world.run()
    assert summary.groups.outcomes["app"].ahead == {TopicPartition("us.orders", 0): 250}
    found = world.locate()
    assert row(found, "app")["on_target"] == 300
    text = (
        "group app: 250 offsets further on the target than on the source (us.orders-0): it went on there, or was set "
        "back on the source and would miss them after a move"
    )
    assert found.told == (text,)
    status = flow_status(world.flow, world.pair, tick=no_tick)
    assert status.warnings == (text,)
    assert status.to_json()["groups"]["exact"] == 1


def test_status_without_the_source() -> None:
    """Where groups stand is told from the target alone, as of the last run that read them."""
    world = GroupWorld()
    world.produce(10)
    world.commit("app", 4)
    summary = world.run()
    world.pair.us.reachable = False
    groups = flow_status(world.flow, world.pair, tick=no_tick).groups
    assert groups is not None
    assert groups.as_of_ms == summary.groups.as_of_ms
    assert [found.position for found in groups.positions["app"]] == [Translated(offset=4)]


def test_groups_when_the_source_is_gone() -> None:
    """``mm2 groups`` tells what the last run read, and says so; it commits nothing by that."""
    world = GroupWorld()
    world.produce(10)
    world.commit("app", 4)
    world.commit("other", 5)
    summary = world.run()
    world.pair.us.reachable = False
    found = world.locate("app")
    assert row(found, "app")["target_offset"] == 4
    assert (found.as_of_ms, list(found.positions)) == (summary.groups.as_of_ms, ["app"])
    assert found.told[0].startswith("the source does not answer, so this is what the last run read of its groups: ")
    with pytest.raises(ClusterUnreachable):
        world.locate(apply=True)


def test_group_that_is_not_there() -> None:
    """A group that the source does not know is told as that, and not listed as left out."""
    world = GroupWorld()
    world.run()
    found = world.locate("nope")
    assert found.outcomes["nope"].detail == "the source has no such group, or it has committed nothing"
    assert found.left_out == {}


def test_kept_group() -> None:
    """A group that is further on the target is kept there, and said to be kept, not written."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(10)
    world.commit("app", 4)
    world.set_target("app", 9)
    report = world.run()
    assert report.groups.outcomes["app"].outcome is Outcome.KEPT
    assert report.to_json()["groups"]["warnings"] == [
        "group app: 5 offsets further on the target than on the source (us.orders-0): it went on there, or was set "
        "back on the source and would miss them after a move"
    ]


def test_renamed_heartbeats_are_told() -> None:
    """K73: under the identity policy a topic that ends in ``heartbeats`` gets MirrorMaker 2's name, and a warning."""
    world = GroupWorld(topics=("sensor-heartbeats",), replication_policy="identity")
    world.pair.us.create_topic("sensor-heartbeats")
    world.produce(3, topic="sensor-heartbeats")
    (warning,) = world.run().prepared.warnings
    assert warning.startswith("'sensor-heartbeats' becomes 'us.sensor-heartbeats' although names are kept")
    assert "us.sensor-heartbeats" in world.pair.eu.topics
    assert "sensor-heartbeats" not in world.pair.eu.topics


def test_active_group() -> None:
    """K05: a group with members on the target is not written, its members are named, and others go on."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(200)
    for group in ("app", "other"):
        world.commit(group, 100)
    world.set_target("app", 150, members=["c-1 (10.0.0.1)", "c-2 (10.0.0.2)"])
    report = world.run().groups
    assert report.outcomes["app"].outcome is Outcome.ACTIVE
    assert report.outcomes["app"].members == ("c-1 (10.0.0.1)", "c-2 (10.0.0.2)")
    assert world.target_offsets("app") == {0: 150}
    assert world.target_offsets("other") == {0: 100}


def test_group_that_becomes_active_in_between() -> None:
    """K05: a refused write is told as the group's being active, with whoever is in it now."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(200)
    world.commit("app", 100)
    world.run()
    world.commit("app", 150)
    target: Any = world.pair.target
    commit = target.commit_groups

    def join_first(groups: Any, tick: Any) -> Any:
        world.pair.eu.said["app"] = FakeGroup(members=["late (10.0.0.9)"])
        return commit(groups, tick)

    target.commit_groups = join_first
    report = world.groups()
    assert report.outcomes["app"].outcome is Outcome.ACTIVE
    assert report.outcomes["app"].members == ("late (10.0.0.9)",)
    assert world.target_offsets("app") == {0: 100}


def test_one_bad_group_stops_no_other() -> None:
    """K63: of five groups three are synced, one fails and one has nothing to do; the next run recovers by itself."""
    world = GroupWorld(sync_group_offsets=True)
    world.pair.us.create_topic("elsewhere")
    world.produce(10)
    for group in ("a", "b", "c", "d"):
        world.commit(group, 5)
    world.commit("e", 3, topic="elsewhere")
    world.pair.us.said["d"] = FakeGroup(away=True)
    report = world.run().groups
    assert {name: found.outcome for name, found in report.outcomes.items()} == {
        **dict.fromkeys("abc", Outcome.WRITTEN),
        "d": Outcome.FAILED,
        "e": Outcome.NOTHING,
    }
    with pytest.raises(GroupsIncomplete, match=r"1 of 5 groups failed \(d\)"):
        report.raise_incomplete()
    assert "e" not in world.pair.eu.groups
    del world.pair.us.said["d"]
    world.run().groups.raise_incomplete()
    assert world.target_offsets("d") == {0: 5}


@pytest.mark.thorough
def test_five_thousand_groups_ten_bad() -> None:
    """Of 5,000 groups 4,990 are synced, and the ten that fail keep what was known of them before."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(100)
    for number in range(5_000):
        world.commit(f"g{number}", number % 101)
    world.run()
    for number in range(10):
        world.pair.us.said[f"g{number * 500}"] = FakeGroup(away=True)
    report = world.groups()
    assert len(report.failed) == 10
    assert sum(found.outcome is Outcome.WRITTEN for found in report.outcomes.values()) == 4_990
    assert len(read_snapshot(world.pair.target, "f", no_tick).groups) == 5_000


def test_group_filters() -> None:
    """K64: MirrorMaker 2's defaults, what is left out told with the rule, and a group that is named honoured."""
    world = GroupWorld()
    world.produce(1)
    for group in ("app", "console-consumer-9", "connect-sink", "__x"):
        world.commit(group, 1)
    world.pair.us.commit_offsets("shared", {TopicPartition("orders", 0): 1})
    world.pair.us.said["shared"] = FakeGroup(kind=GroupKind.OTHER)
    world.run()
    report = world.locate()
    assert list(report.positions) == ["app"]
    assert report.left_out == {
        "__x": "groups_exclude: __.*",
        "connect-sink": "groups_exclude: connect-.*",
        "console-consumer-9": "groups_exclude: console-consumer-.*",
        "shared": "not a consumer group: of share or streams consumers, or a Connect cluster's",
    }
    named = world.locate(groups=("app", "connect-sink"))
    assert list(named.positions) == ["app", "connect-sink"]
    assert list(world.locate("console-consumer-9").positions) == ["console-consumer-9"]


def test_own_groups_are_never_touched() -> None:
    """The mirror's own groups, progress and leases, are not selected."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(1)
    world.run()
    world.pair.us.commit_offsets("mm2.f.progress", {TopicPartition("orders", 0): 1})
    report = world.groups()
    assert report.left_out == {"mm2.f.progress": "a mirror's own group"}


def test_pending_offsets() -> None:
    """K67: a group whose offsets an open transaction holds goes by its last stable ones, marked; others are exact."""
    world = GroupWorld()
    world.produce(10)
    world.commit("eos", 3)
    world.commit("app", 5)
    world.run()
    pending = Transaction()
    pending.offsets.append(("eos", {TopicPartition("orders", 0): 8}))
    world.pair.us.unsettled.append(pending)
    report = world.locate()
    found = row(report, "eos")
    assert (found["source_offset"], found["target_offset"], found["exact"]) == (3, 3, False)
    assert found["reason"] == "pending: an open transaction holds a newer offset"
    assert row(report, "app")["exact"]
    world.pair.us.end(pending, Ended.COMMITTED)
    assert row(world.locate(), "eos")["target_offset"] == 8


def test_ahead_of_the_mirror() -> None:
    """A group that has read what is not mirrored yet goes on at the mirrored end, and the run after that is exact."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(10)
    world.run()
    world.produce(10)
    world.commit("app", 18)
    report = world.groups()
    assert row(report, "app") == {
        "group": "app",
        "topic": "orders",
        "partition": 0,
        "source_offset": 18,
        "target_topic": "us.orders",
        "target_offset": 10,
        "exact": False,
        "reason": "ahead of the mirror by 8",
        "on_target": None,
        "source": "offset map",
    }
    assert world.target_offsets("app") == {0: 10}
    world.run()
    assert world.target_offsets("app") == {0: 19}


def test_topic_made_anew() -> None:
    """K20, K98: the map of a topic that is gone, on either side, never answers for the new one."""
    for cluster, topic in (("us", "orders"), ("eu", "us.orders")):
        world = GroupWorld(sync_group_offsets=True)
        world.produce(100)
        world.commit("app", 100)
        world.run()
        getattr(world.pair, cluster).delete_topic(topic)
        getattr(world.pair, cluster).create_topic(topic)
        world.commit("app", 40)
        report = world.groups()
        assert row(report, "app")["target_offset"] is None
        assert row(report, "app")["reason"] == "topic was deleted, or deleted and made anew, since"


def test_source_that_dies() -> None:
    """When the source goes away while groups are read, nothing of them is written, and the next run makes up."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(10)
    world.commit("app", 5)
    world.run()
    world.commit("app", 9)
    world.pair.us.reachable = False
    with pytest.raises(ClusterUnreachable):
        world.groups()
    assert world.target_offsets("app") == {0: 5}
    world.pair.us.reachable = True
    world.groups()
    assert world.target_offsets("app") == {0: 9}


@pytest.mark.thorough
def test_one_at_a_time() -> None:
    """A run that comes to its groups while another is at them waits, and is told who that is."""
    world = GroupWorld(lease_wait_s=1)
    world.produce(1)
    world.run()
    topic = "mm2-groups.f.internal"
    other = world.pair.target.membership("mm2.f.groups.lease", topic, "the other one", 6)
    other.poll(0)
    with pytest.raises(LeaseHeld, match="the other one"):
        world.groups()
    other.leave()
    world.groups()


def test_flow_that_never_ran() -> None:
    """Asking for groups of a flow that never ran is told as that."""
    with pytest.raises(FlowNotPrepared):
        GroupWorld().locate()


def test_preview_writes_nothing() -> None:
    """``mm2 groups`` without ``--apply`` changes nothing on either cluster."""
    world = GroupWorld()
    world.produce(10)
    world.commit("app", 5)
    world.run()
    before = {name: [log.end for log in topic.logs] for name, topic in world.pair.eu.topics.items()}
    report = world.locate()
    assert report.outcomes["app"].outcome is Outcome.NOT_ASKED
    assert {name: [log.end for log in topic.logs] for name, topic in world.pair.eu.topics.items()} == before
    assert "app" not in world.pair.eu.groups
    world.locate(apply=True)
    assert world.target_offsets("app") == {0: 5}


def test_odd_records_are_passed_over() -> None:
    """K69: a tombstone or another version in the checkpoints topic is told and passed over."""
    world = GroupWorld()
    world.produce(10)
    world.publish("app", 3, 3)
    world.pair.eu.produce(CHECKPOINTS, 0, Message(key=b"\x00\x01g", value=None), Message(key=b"x", value=b"\x00\x09"))
    world.commit("app", 5)
    report = world.run().groups
    assert [text.split(":")[0] for text in report.warnings] == [
        f"{CHECKPOINTS}-0 at 1 is passed over",
        f"{CHECKPOINTS}-0 at 2 is passed over",
    ]
    assert report.checkpoints == 1
    assert world.groups().warnings == ()


def test_once_used_group() -> None:
    """K99: a group whose members left it is made anew, with the offsets it has on other topics."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(10)
    world.commit("app", 5)
    world.run()
    world.pair.eu.create_topic("local")
    world.pair.eu.commit_offsets("app", {TopicPartition("local", 0): 77})
    world.pair.eu.said["app"] = FakeGroup(once_used=True)
    world.commit("app", 8)
    world.groups()
    assert world.pair.eu.groups["app"] == {TopicPartition("us.orders", 0): 8, TopicPartition("local", 0): 77}
    assert "app" not in world.pair.eu.said
    assert read_saved(world.pair.target, "f", no_tick) == {}


def test_once_used_group_that_is_in_place() -> None:
    """A group that would get nothing new is left as it is: its window without offsets would be for nothing."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(10)
    world.commit("app", 5)
    world.run()
    for offset, outcome in ((5, Outcome.WRITTEN), (9, Outcome.KEPT)):
        world.set_target("app", offset, once_used=True)
        assert world.groups().outcomes["app"].outcome is outcome
        assert world.pair.eu.said["app"].once_used


def used_group(world: GroupWorld) -> TopicPartition:
    """Let a group be moved whose members left it, and that has an offset on a topic of its own; its partition."""
    world.produce(10)
    world.commit("app", 5)
    world.run()
    local = TopicPartition("local", 0)
    world.pair.eu.create_topic(local.topic)
    world.pair.eu.commit_offsets("app", {local: 77})
    world.pair.eu.said["app"] = FakeGroup(once_used=True, metadata={local: "mine"})
    world.commit("app", 8)
    return local


def test_a_right_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """K99: a group that has an offset where the mirror may not write is not made anew, which would lose it."""
    world = GroupWorld(sync_group_offsets=True)
    local = used_group(world)
    commit = FakeGroups.commit

    def refuse(groups: FakeGroups, group: str, wanted: GroupOffsets) -> Any:
        error = NotAuthorized(alias="eu", operation="commit", problem="no Read on local")
        may = {part: offset for part, offset in wanted.offsets.items() if part != local}
        said = commit(groups, group, GroupOffsets(offsets=may))
        return {**said, local: error} if isinstance(said, dict) and local in wanted.offsets else said

    monkeypatch.setattr(FakeGroups, "commit", refuse)
    report = world.groups()
    assert report.failed == ("app",)
    assert "no Read on local" in report.outcomes["app"].detail
    assert world.pair.eu.groups["app"] == {TopicPartition("us.orders", 0): 8, local: 77}
    monkeypatch.undo()
    assert world.groups().failed == ()


def test_somebody_joins_while_a_group_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """K99: it is told by name; all the group had stays saved, and comes back once nobody is in it."""
    world = GroupWorld(sync_group_offsets=True)
    local = used_group(world)
    delete = FakeGroups.delete

    def join(groups: FakeGroups, group: str) -> None:
        delete(groups, group)
        world.pair.eu.said[group] = FakeGroup(members=["late (10.0.0.9)"])

    monkeypatch.setattr(FakeGroups, "delete", join)
    report = world.groups()
    monkeypatch.undo()
    assert report.failed == ("app",)
    assert "late (10.0.0.9), while it was made anew: it lost 2 offset(s)" in report.outcomes["app"].detail
    for _ in range(2):
        report = world.groups()
        assert report.failed == ("app",)
        assert "2 offset(s) saved earlier are not put back yet: somebody is in it" in report.outcomes["app"].detail
        assert read_saved(world.pair.target, "f", no_tick)["app"].offsets == {
            TopicPartition("us.orders", 0): 5,
            local: 77,
        }
    world.pair.eu.commit_offsets("app", {TopicPartition("us.orders", 0): 9})
    world.pair.eu.said["app"] = FakeGroup()
    assert world.groups().failed == ()
    assert world.pair.eu.groups["app"] == {TopicPartition("us.orders", 0): 9, local: 77}
    assert world.pair.eu.said["app"].metadata == {local: "mine"}
    assert read_saved(world.pair.target, "f", no_tick) == {}


def test_another_flow_puts_back_what_one_has_saved() -> None:
    """What a crash left is put back by whichever flow comes next, and two flows never write groups at once."""
    world = GroupWorld(sync_group_offsets=True)
    local = used_group(world)
    real = world.pair.target
    delete = real.delete_group

    def die(group: str, tick: Any) -> None:
        delete(group, tick)
        raise Killed

    real.delete_group = die  # type: ignore[method-assign]
    with pytest.raises(Killed):
        world.groups()
    real.delete_group = delete  # type: ignore[method-assign]
    assert "app" not in world.pair.eu.groups
    for lock in ("mm2.f.groups.lease", "mm2.renewals.lease"):
        world.pair.eu.expire_member(lock)
    other = GroupWorld(sync_group_offsets=True)
    other.pair = world.pair
    other.flow = other.flow.model_copy(update={"name": "g", "topics": ("more",)})
    world.pair.us.create_topic("more", 1)
    other.run()
    assert world.pair.eu.groups["app"] == {TopicPartition("us.orders", 0): 5, local: 77}
    membership = world.pair.target.membership("mm2.renewals.lease", "mm2-renewals.internal", "flow h", 6)
    membership.poll(0.1)
    with pytest.raises(LeaseHeld, match="flow h"):
        world.groups(lease_wait_s=0.1)


def test_offsets_in_an_open_transaction() -> None:
    """A target group whose application has a transaction open with newer offsets is left alone, as one in use is."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(10)
    world.commit("app", 5)
    world.run()
    world.commit("app", 7)
    part = TopicPartition("us.orders", 0)
    producer = FakeProducer(world.pair.eu, "app-transactions", 60)
    producer.fence()
    producer.begin()
    producer.add_offsets("app", {part: 9})
    outcome = world.groups().outcomes["app"]
    assert outcome.outcome is Outcome.PENDING
    assert world.target_offsets("app") == {0: 5}
    producer.commit()
    assert world.target_offsets("app") == {0: 9}
    assert world.groups().outcomes["app"].outcome is Outcome.KEPT


def test_metadata_goes_along() -> None:
    """What an application keeps beside its offset on the source is beside the translated one on the target."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(10)
    world.commit("app", 5)
    world.pair.us.said["app"] = FakeGroup(metadata={TopicPartition("orders", 0): "step 3"})
    world.run()
    assert world.pair.eu.said["app"].metadata == {TopicPartition("us.orders", 0): "step 3"}


def test_a_recreated_source_topic_keeps_the_last_known_positions() -> None:
    """What a group commits on a new topic of the same name says nothing of the old one, which is what was mirrored."""
    world = GroupWorld()
    world.produce(10)
    world.commit("app", 5)
    world.run()
    world.pair.us.delete_topic("orders")
    world.pair.us.create_topic("orders", 1)
    world.produce(20)
    world.commit("app", 9)
    (position,) = world.groups().positions["app"]
    assert position.position.reason is Reason.RECREATED
    assert read_snapshot(world.pair.target, "f", no_tick).groups["app"].found.offsets == {
        TopicPartition("orders", 0): 5
    }


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(1, 12))
def test_killed_at_any_change(number: int, after: bool) -> None:
    """Killed before or after any change, the next run ends with every position right and no offset lost."""
    world = GroupWorld(sync_group_offsets=True)
    world.produce(300)
    world.commit("app", 100)
    world.run()
    world.produce(50)
    world.commit("app", 340)
    world.commit("new", 12)
    world.pair.eu.create_topic("local")
    world.pair.eu.commit_offsets("app", {TopicPartition("local", 0): 77})
    world.pair.eu.said["app"] = FakeGroup(once_used=True)
    world.run(sync_group_offsets=False, emit_checkpoints=False, emit_offset_syncs=False)
    calls = count(1)
    target: Any = world.pair.target
    world.pair.target = Trapped(target, lambda: next(calls) == number, after=after)
    try:
        finish_groups(world.flow, world.pair, owner="test", tick=no_tick)
    except Killed:
        for _, _, source_offset, target_offset in world.checkpoints():
            assert target_offset <= source_offset + 1  # never past what is unread; the second run lies behind a marker
    else:
        assert next(calls) <= number
    world.pair.target = target
    world.groups()
    assert world.pair.eu.groups["app"] == {TopicPartition("us.orders", 0): 341, TopicPartition("local", 0): 77}
    assert world.target_offsets("new") == {0: 12}
    assert world.checkpoints()[-2:] == [("app", 0, 340, 341), ("new", 0, 12, 12)]
    assert world.syncs()[-1] == (0, 349, 350)
    assert [each[1] for each in world.syncs()] == sorted({each[1] for each in world.syncs()})


def test_damaged_snapshot() -> None:
    """A snapshot record that cannot be believed stops the step with its place."""
    world = GroupWorld()
    world.produce(1)
    world.run()
    world.pair.eu.produce("mm2-groups.f.internal", 0, Message(key=b'{"kind":"group"}', value=b"{}"))
    with pytest.raises(StateDamaged, match=r"mm2-groups\.f\.internal"):
        world.groups()


@pytest.mark.parametrize(("policy", "topic"), [("default", "us.orders"), ("identity", "orders")])
def test_one_policy_for_data_and_checkpoints(policy: str, topic: str) -> None:
    """K72: checkpoints name topics as the data's policy does, so what each one points at is there."""
    world = GroupWorld(replication_policy=policy)
    world.produce(5)
    world.commit("app", 3)
    world.run()
    ((_, message),) = world.pair.eu.visible(CHECKPOINTS, 0)
    found = Checkpoint.decode(message.key, message.value)
    assert (found.topic, found.target_offset) == (topic, 3)
    assert found.topic in world.pair.eu.topics


def test_heartbeats() -> None:
    """K71: clients find the upstream by ``us.heartbeats``, whether we write it or mirror the source's own."""
    world = GroupWorld(topics=(".*",))
    world.produce(1)
    world.run()
    assert len(world.pair.eu.visible("us.heartbeats", 0)) == 1
    world.pair.us.create_topic("heartbeats")
    world.produce(3, topic="heartbeats")
    summary = world.run()
    assert summary.prepared.left_out["heartbeats"] == "the mirror's own heartbeats stand in 'us.heartbeats'"
    other = GroupWorld(topics=(".*",))
    other.pair.us.create_topic("heartbeats")
    other.produce(3, topic="heartbeats")
    other.run()
    other.run()
    assert len(other.pair.eu.visible("us.heartbeats", 0)) == 3


def test_heartbeats_that_the_flow_does_not_select() -> None:
    """The source has heartbeats and nobody mirrors them: ours are written, or clients took the source for gone."""
    world = GroupWorld(topics=("orders",))
    world.pair.us.create_topic("heartbeats")
    world.produce(3, topic="heartbeats")
    world.run()
    assert len(world.pair.eu.visible("us.heartbeats", 0)) == 1
    other = GroupWorld(topics=("orders", "heartbeats"), name="g")
    other.pair.us.create_topic("heartbeats")
    other.produce(3, topic="heartbeats")
    other.run()
    beside = GroupWorld(topics=("payments",), name="f")
    beside.pair = other.pair
    other.pair.us.create_topic("payments")
    beside.run()
    assert len(other.pair.eu.visible("us.heartbeats", 0)) == 3
    other.run()


def test_nothing_of_mm2_where_it_is_switched_off() -> None:
    """Without checkpoints, syncs and heartbeats their topics are not made."""
    world = GroupWorld(emit_checkpoints=False, emit_offset_syncs=False, emit_heartbeats=False)
    world.produce(1)
    world.commit("app", 1)
    world.run()
    assert {CHECKPOINTS, SYNCS, "us.heartbeats"}.isdisjoint(world.pair.eu.topics)
