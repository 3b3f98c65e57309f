"""What the client tells of a cluster that others are mirrored to, on the in-memory pair."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from airflow_provider_mm2.mirror import mirror_client
from airflow_provider_mm2.mirror.clusters.naming import make_policy
from airflow_provider_mm2.mirror.errors import (
    CheckpointsMissing,
    ClusterUnreachable,
    GroupUnknown,
    PolicyNotUsable,
    ReadTimedOut,
    SettingRefused,
)
from airflow_provider_mm2.mirror.mirror_client import MirrorClient
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint
from airflow_provider_mm2.mirror.offsets.translate import Otherwise, Policy
from airflow_provider_mm2.mirror.remote_offsets import AnsweredBy
from tests.fakes.cluster import FakeCluster
from tests.fakes.groups import FakeGroup
from tests.fakes.log import Message
from tests.fakes.pair import FakePair
from tests.fakes.reader import FakeReader
from tests.mirror.offsets.group_world import BASE_MS, CHECKPOINTS, GroupWorld

TARGET = TopicPartition("us.orders", 0)


def client_of(cluster: FakeCluster, policy: str = "default", source_alias: str | None = None) -> MirrorClient:
    """Make a client on one cluster, which knows of no other."""
    return MirrorClient(FakeReader(cluster), make_policy(policy, source_alias=source_alias, separator="."))


def cluster_with(*topics: str) -> FakeCluster:
    """Make a cluster that has these topics."""
    cluster = FakePair().eu
    for topic in topics:
        cluster.create_topic(topic)
    return cluster


def checkpoint(cluster: FakeCluster, group: str, target_offset: int, *, stamp: int = BASE_MS, **fields: Any) -> None:
    """Write a checkpoint as MirrorMaker 2 does."""
    given: dict[str, Any] = {"topic": "us.orders", "partition": 0, "source_offset": 0, **fields}
    found = Checkpoint(group=group, target_offset=target_offset, **given)
    message = Message(key=found.encode_key(), value=found.encode_value(), timestamp_ms=stamp)
    cluster.produce(CHECKPOINTS, 0, message)


def test_what_is_upstream() -> None:
    """K71: clusters are found by their heartbeats, over any number of hops, the shortest way counts."""
    client = client_of(
        cluster_with("heartbeats", "us.heartbeats", "b.a.heartbeats", "a.heartbeats", "my-heartbeats", "us.orders")
    )
    assert client.upstream_clusters() == {"us", "a", "b"}
    assert client.heartbeat_topics() == {"heartbeats", "us.heartbeats", "b.a.heartbeats", "a.heartbeats"}
    assert [client.replication_hops(alias) for alias in ("us", "b", "a", "eu")] == [1, 1, 1, None]
    assert client_of(cluster_with("b.a.heartbeats")).replication_hops("a") == 2


def test_topics_that_came_from_elsewhere() -> None:
    """Remote topics by their names here, of one cluster only those that came from it directly."""
    client = client_of(
        cluster_with("orders", "us.orders", "us.ap.orders", "ap.bills", CHECKPOINTS, "mm2-offset-syncs.us.internal")
    )
    assert client.remote_topics() == {"us.orders", "us.ap.orders", "ap.bills"}
    assert client.remote_topics("us") == {"us.orders", "us.ap.orders"}
    assert client.checkpoint_topics() == {CHECKPOINTS}


def test_the_identity_policy_needs_the_source() -> None:
    """Names say nothing there: without the source's alias no topic is remote, with it all are."""
    cluster = cluster_with("orders", "us.heartbeats")
    assert client_of(cluster, "identity").remote_topics() == {"us.heartbeats"}
    assert client_of(cluster, "identity", "us").remote_topics("us") == {"orders", "us.heartbeats"}
    assert client_of(cluster, "identity", "us").upstream_clusters() == {"us"}


def test_the_last_checkpoint_wins() -> None:
    """Of each partition the newest counts, also when it goes back; other groups are nobody's business."""
    cluster = cluster_with(CHECKPOINTS)
    for offset, stamp in ((5, 1), (9, 2), (7, 3)):
        checkpoint(cluster, "app", offset, stamp=stamp)
    checkpoint(cluster, "app", 2, partition=1, stamp=0)
    checkpoint(cluster, "app2", 1)
    found = client_of(cluster).remote_consumer_offsets("app", "us")
    assert found.groups.keys() == {"app"}
    assert found.groups["app"].offsets == {TARGET: 7, TopicPartition("us.orders", 1): 2}
    assert found.groups["app"].newest_ms == 3
    assert client_of(cluster).remote_consumer_offsets("nobody", "us").groups == {}


def test_groups_by_a_pattern() -> None:
    """Many groups in one read: a pattern is for whole names, a name is no pattern."""
    cluster = cluster_with(CHECKPOINTS)
    for group in ("app", "app.1", "appx1", "my-app"):
        checkpoint(cluster, group, 1)
    client = client_of(cluster)
    assert client.remote_consumer_offsets(re.compile("app.*"), "us").groups.keys() == {"app", "app.1", "appx1"}
    assert client.remote_consumer_offsets("app.1", "us").groups.keys() == {"app.1"}


def test_odd_records_are_passed_over_and_told() -> None:
    """K69: tombstones, damaged records and other versions end no read, and what was said before stays."""
    cluster = cluster_with(CHECKPOINTS)
    checkpoint(cluster, "app", 5)
    found = Checkpoint(group="app", topic="us.orders", partition=0, source_offset=9, target_offset=9)
    later_version = b"\x00\x01" + found.encode_value()[2:]
    for key, value in ((found.encode_key(), None), (b"\x00", b"\x00"), (found.encode_key(), later_version)):
        cluster.produce(CHECKPOINTS, 0, Message(key=key, value=value))
    read = client_of(cluster).remote_consumer_offsets("app", "us")
    assert read.groups["app"].offsets == {TARGET: 5}
    assert [text.partition(": ")[0] for text in read.passed_over] == [
        f"{CHECKPOINTS}-0 at {offset} is passed over" for offset in (1, 2, 3)
    ]
    assert "null" in read.passed_over[0]
    assert "has version 1, known is 0" in read.passed_over[2]


def test_a_time_out_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read until then is not given as if it were all."""
    cluster = cluster_with(CHECKPOINTS)
    checkpoint(cluster, "app", 5)
    now = iter(range(0, 10_000, 40))
    monkeypatch.setattr(mirror_client.time, "monotonic", lambda: next(now))
    with pytest.raises(ReadTimedOut, match="was not read to its end within 30 s; nothing of it counts"):
        client_of(cluster).remote_consumer_offsets("app", "us")


def test_no_checkpoints() -> None:
    """Where no mirror from a cluster ends, that is said, with the clusters that are there."""
    client = client_of(cluster_with("us.heartbeats"))
    with pytest.raises(CheckpointsMissing, match=r"no topic 'ap.checkpoints.internal'.*mirrored here: us\)"):
        client.remote_consumer_offsets("app", "ap")


def test_checkpoints_answer_where_there_is_no_map() -> None:
    """A pair that MirrorMaker 2 filled: the offsets are its checkpoints', and the answer says that they are no more."""
    cluster = cluster_with(CHECKPOINTS, "us.orders")
    checkpoint(cluster, "app", 5, stamp=BASE_MS + 7)
    checkpoint(cluster, "app", 3, partition=4)
    found = client_of(cluster).translate_offsets("app", "us")
    assert (found.answered_by, found.exact, found.as_of_ms) == (AnsweredBy.CHECKPOINTS, False, BASE_MS + 7)
    assert found.offsets == {TARGET: 5}
    assert found.inexact == {TARGET: "by MirrorMaker 2's syncs, not exact"}
    assert found.left_out == {TopicPartition("us.orders", 4): "its checkpoint is there, and it is not"}
    with pytest.raises(GroupUnknown, match=r"no sign of group 'other' in us\.checkpoints\.internal on eu"):
        client_of(cluster).translate_offsets("other", "us")
    with pytest.raises(GroupUnknown, match="the snapshots on eu of flows from us"):
        client_of(cluster).translate_offsets("app", "us", by=AnsweredBy.MAP)


def mirrored_world() -> GroupWorld:
    """Make a pair with 30 records in three runs, so that two markers lie between them, and a group at 25."""
    world = GroupWorld(partitions=2)
    for _ in range(3):
        world.produce(10)
        world.run()
    world.commit("app", 25)
    world.run()
    return world


def test_the_map_answers_exactly() -> None:
    """Where this provider mirrors, the answer is the next unread record's own offset, while the source is gone."""
    world = mirrored_world()
    world.pair.us.reachable = False
    found = client_of(world.pair.eu).translate_offsets("app", "us")
    assert (found.answered_by, found.exact, found.offsets) == (AnsweredBy.MAP, True, {TARGET: 27})
    assert found.left_out == {TopicPartition("orders", 1): "no commit on source"}
    assert found.as_of_ms is not None
    assert abs(found.as_of_ms - time.time() * 1000) < 600_000
    by_checkpoints = client_of(world.pair.eu).translate_offsets("app", "us", by=AnsweredBy.CHECKPOINTS)
    assert (by_checkpoints.answered_by, by_checkpoints.offsets) == (AnsweredBy.CHECKPOINTS, {TARGET: 27})


def test_the_answer_is_not_newer_than_the_reading() -> None:
    """A group whose coordinator was away in the last run is as of the run before, though all others are newer."""
    world = mirrored_world()
    client = client_of(world.pair.eu)
    before = client.translate_offsets("app", "us")
    world.commit("other", 1)
    world.pair.us.said["app"] = FakeGroup(away=True)
    time_of_the_run = world.groups().as_of_ms
    after, other = (client.translate_offsets(group, "us") for group in ("app", "other"))
    assert (after.offsets, other.as_of_ms) == (before.offsets, time_of_the_run)
    assert after.as_of_ms is not None
    assert before.as_of_ms is not None
    assert after.as_of_ms <= before.as_of_ms
    world.pair.us.said.clear()
    assert client.translate_offsets("app", "us").as_of_ms == after.as_of_ms
    assert world.groups().as_of_ms == client.translate_offsets("app", "us").as_of_ms


def test_the_map_says_what_is_not_exact() -> None:
    """Ahead of the mirror or without a commit: what the caller chooses happens, and is told as not exact."""
    world = mirrored_world()
    world.produce(5)
    world.commit("app", 35)
    world.groups()
    policy = Policy(uncommitted=Otherwise.EARLIEST)
    found = client_of(world.pair.eu).translate_offsets("app", "us", policy=policy)
    assert found.offsets == {TARGET: 32, TopicPartition("us.orders", 1): 0}
    assert found.inexact == {TARGET: "ahead of the mirror by 5", TopicPartition("us.orders", 1): "no commit on source"}
    assert not found.exact


def test_flows_from_one_source_answer_together() -> None:
    """A group that reads topics of two flows gets the positions of both, and none is told as not mirrored."""
    world = GroupWorld(topics=("orders",))
    world.pair.us.create_topic("bills")
    world.produce(3)
    world.produce(4, topic="bills")
    world.commit("app", 2)
    world.commit("app", 1, topic="bills")
    world.run()
    world.run(name="g", topics=("bills",))
    world.run(name="h", topics=("bills",), separator="_", source=world.flow.target, target=world.flow.source)
    found = client_of(world.pair.eu).translate_offsets("app", "us")
    assert found.offsets == {TARGET: 2, TopicPartition("us.bills", 0): 1}
    assert (found.exact, found.complete, found.left_out) == (True, True, {})


def test_what_no_flow_mirrors_is_told() -> None:
    """A topic that the group reads and nobody mirrors is left out by name, in whichever order the flows are asked."""
    world = GroupWorld(topics=("orders",))
    for topic in ("bills", "private"):
        world.pair.us.create_topic(topic)
        world.commit("app", 0, topic=topic)
    world.commit("app", 0)
    world.run(name="a", topics=("bills",))
    world.run()
    found = client_of(world.pair.eu).translate_offsets("app", "us")
    assert found.offsets == {TARGET: 0, TopicPartition("us.bills", 0): 0}
    assert (found.complete, found.left_out) == (False, {TopicPartition("private", 0): "topic not mirrored"})


def test_a_cluster_that_is_down_is_told() -> None:
    """Nothing is known then, so nothing is given."""
    world = mirrored_world()
    world.pair.eu.reachable = False
    for ask in (MirrorClient.upstream_clusters, MirrorClient.heartbeat_topics, MirrorClient.remote_topics):
        with pytest.raises(ClusterUnreachable):
            ask(client_of(world.pair.eu))


def test_unusable_settings_are_refused() -> None:
    """Before anything is contacted: no address, a callback, a policy that is none."""
    for settings in ({}, {"bootstrap.servers": "eu:9092", "error_cb": "a.b"}):
        with pytest.raises(SettingRefused, match="of cluster 'target' are refused"):
            MirrorClient.connect(settings)
    for policy in ("other", "tests.NoSuchPolicy"):
        with pytest.raises(PolicyNotUsable):
            MirrorClient.connect({"bootstrap.servers": "eu:9092"}, replication_policy=policy)
