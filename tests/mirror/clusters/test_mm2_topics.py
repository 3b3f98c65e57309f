"""MirrorMaker 2's own topics and the way of a topic, held against its tables and its client's own cases."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.clusters.mm2_topics import (
    Release,
    checkpoints_topic,
    count_hops,
    heartbeat_sources,
    heartbeats_topic,
    internal_separator,
    is_checkpoints_topic,
    is_heartbeats_topic,
    is_mm2_internal_topic,
    is_remote_topic,
    offset_syncs_topic,
    original_topic,
    replication_hops,
    source_chain,
    topic_on_target,
)
from airflow_provider_mm2.mirror.clusters.naming import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)


class DashPolicy:
    """A policy of a user: the three methods and nothing else."""

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """Prefix with a dash."""
        return f"{source_alias}-{topic}"

    def topic_source(self, topic: str) -> str | None:
        """What stands before the dash."""
        return topic.partition("-")[0] if "-" in topic else None

    def upstream_topic(self, topic: str) -> str | None:
        """What stands behind the dash."""
        return topic.partition("-")[2] if "-" in topic else None


class RoundaboutPolicy(DashPolicy):
    """A policy whose names go round in a circle."""

    def upstream_topic(self, topic: str) -> str | None:
        """One of three, over and over."""
        return {"a-t": "b-t", "b-t": "c-t", "c-t": "a-t"}.get(topic)


class ForgetfulPolicy(DashPolicy):
    """A policy that knows where a topic came from, and not what it was called there."""

    def upstream_topic(self, topic: str) -> str | None:
        """Nothing."""
        return None


DEFAULT = DefaultReplicationPolicy(source_alias="source", separator=".")
UNDERSCORE = DefaultReplicationPolicy(source_alias="source", separator="_")
IDENTITY = IdentityReplicationPolicy(source_alias="primary", separator=".")


@pytest.mark.parametrize("kind", [DefaultReplicationPolicy, IdentityReplicationPolicy])
@pytest.mark.parametrize(
    ("separator", "internal", "syncs", "checkpoints", "heartbeats"),
    [
        (".", None, "mm2-offset-syncs.B.internal", "A.checkpoints.internal", "A.heartbeats"),
        ("__", None, "mm2-offset-syncs__B__internal", "A__checkpoints__internal", "A__heartbeats"),
        ("__", ".", "mm2-offset-syncs.B.internal", "A.checkpoints.internal", "A__heartbeats"),
    ],
)
def test_names_by_separator(
    kind: type[DefaultReplicationPolicy],
    separator: str,
    internal: str | None,
    syncs: str,
    checkpoints: str,
    heartbeats: str,
) -> None:
    """Internal names take the policy's separator, or always a dot; mirrored heartbeats take the policy's own."""
    policy = kind(source_alias="A", separator=separator, internal_separator=internal)
    assert offset_syncs_topic(policy, "B") == syncs
    assert checkpoints_topic(policy, "A") == checkpoints
    assert (heartbeats_topic(policy), heartbeats_topic(policy, "A")) == ("heartbeats", heartbeats)
    assert is_checkpoints_topic(policy, checkpoints)
    assert is_heartbeats_topic(policy, heartbeats)
    assert all(is_mm2_internal_topic(policy, name, release) for name in (syncs, checkpoints) for release in Release)


def test_policy_of_three_methods() -> None:
    """A policy that has only what it must have gets MirrorMaker 2's names, with dots."""
    policy = DashPolicy()
    assert internal_separator(policy) == "."
    assert offset_syncs_topic(policy, "B") == "mm2-offset-syncs.B.internal"
    assert checkpoints_topic(policy, "A") == "A.checkpoints.internal"
    assert (heartbeats_topic(policy), heartbeats_topic(policy, "A")) == ("heartbeats", "A-heartbeats")
    assert is_heartbeats_topic(policy, "b-a-heartbeats")
    assert not is_heartbeats_topic(policy, "a.heartbeats")
    assert original_topic(policy, "c-b-t") == "t"
    assert count_hops(policy, "c-b-t", "b") == 2


@pytest.mark.parametrize(
    ("policy", "topic", "expected"),
    [
        (DEFAULT, "heartbeats", True),
        (DEFAULT, "source1.heartbeats", True),
        (DEFAULT, "source2.source1.heartbeats", True),
        (DEFAULT, "heartbeats!", False),
        (DEFAULT, "!heartbeats", False),
        (DEFAULT, "my-heartbeats", False),
        (DEFAULT, "source1heartbeats", False),
        (DEFAULT, "source1-heartbeats", False),
        (UNDERSCORE, "us-west_heartbeats", True),
        (UNDERSCORE, "us-west.heartbeats", False),
        (IDENTITY, "heartbeats", True),
        (IDENTITY, "backup.heartbeats", True),
        (IDENTITY, "my-heartbeats", False),
        (IDENTITY, "topic1", False),
    ],
)
def test_heartbeats_topics(policy: ReplicationPolicy, topic: str, expected: bool) -> None:
    """A topic holds heartbeats when it was called so where it was first written."""
    assert is_heartbeats_topic(policy, topic) is expected


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("source1.checkpoints.internal", True),
        ("source2.source1.checkpoints.internal", True),
        ("checkpoints.internal", False),
        ("checkpoints-internal", False),
        ("source1.checkpoints.internal!", False),
        ("source1-checkpoints-internal", False),
    ],
)
def test_checkpoints_topics(topic: str, expected: bool) -> None:
    """A topic holds checkpoints when its name ends so behind an alias."""
    assert is_checkpoints_topic(DEFAULT, topic) is expected


@pytest.mark.parametrize(
    ("policy", "topic", "in_3", "in_4"),
    [
        (DEFAULT, "mm2-offset-syncs.B.internal", True, True),
        (DEFAULT, "mm2-offsets.A.internal", True, True),
        (DEFAULT, "A.checkpoints.internal", True, True),
        (DEFAULT, "billing.internal", True, False),
        (DEFAULT, "checkpoints.internal", True, False),
        (DEFAULT, "audit-internal", False, False),
        (DEFAULT, "mm2-offsets_CLUSTER_internal", False, False),
        (UNDERSCORE, "mm2-offsets_CLUSTER_internal", True, True),
        (UNDERSCORE, "mm2-offsets.CLUSTER.internal", False, False),
        (DEFAULT, "heartbeats", False, False),
        (DEFAULT, "mm2.internal.t", False, False),
    ],
)
def test_internal_topics(policy: ReplicationPolicy, topic: str, in_3: bool, in_4: bool) -> None:
    """MirrorMaker 2 from 4.0 on takes for its own only what begins with ``mm2``, and checkpoints."""
    assert is_mm2_internal_topic(policy, topic, Release.V3) is in_3
    assert is_mm2_internal_topic(policy, topic, Release.V4) is in_4
    assert is_mm2_internal_topic(policy, topic) is in_3


@pytest.mark.parametrize(
    ("topic", "alias", "hops"),
    [
        ("topic", "source", None),
        ("source", "source", None),
        ("source1.topic", "source1", 1),
        ("source2.source1.topic", "source1", 2),
        ("source2.source1.topic", "source2", 1),
        ("source3.source2.source1.topic", "source1", 3),
        ("source3.source2.source1.topic", "source4", None),
        ("a.b.a.c.topic", "b", 2),
        ("a.b.a.c.topic", "c", None),
    ],
)
def test_hops(topic: str, alias: str, hops: int | None) -> None:
    """A name tells how many mirrors lie between a topic and a cluster, up to an alias that comes again.

    Source: MirrorMaker 2, ``MirrorClientTest.countHopsForTopicTest``.
    """
    assert count_hops(DEFAULT, topic, alias) == hops


TOPICS = (
    "topic1",
    "source7.topic2",
    "heartbeats",
    "source1.heartbeats",
    "source1.source2.heartbeats",
    "source3.heartbeats",
    "source4.source3.source5.heartbeats",
)


@pytest.mark.parametrize(
    ("alias", "hops"), [("source1", 1), ("source2", 2), ("source3", 1), ("source5", 3), ("source7", None), ("", None)]
)
def test_hops_by_heartbeats(alias: str, hops: int | None) -> None:
    """The shortest way by heartbeats counts, and a topic that holds none shows no way.

    Source: MirrorMaker 2, ``MirrorClientTest.replicationHopsTest``.
    """
    assert replication_hops(DEFAULT, TOPICS, alias) == hops


def test_sources_of_heartbeats() -> None:
    """Every alias in the name of a heartbeats topic is a cluster upstream, and none in other names.

    Source: MirrorMaker 2, ``MirrorClientTest.upstreamClustersTest``.
    """
    assert heartbeat_sources(DEFAULT, TOPICS) == {f"source{number}" for number in (1, 2, 3, 4, 5)}
    assert heartbeat_sources(DEFAULT, ["heartbeats", "source1.topic1"]) == set()
    assert heartbeat_sources(IDENTITY, ["topic1", "heartbeats", "backup.heartbeats"]) == {"backup"}


def test_identity_policy_of_mm2() -> None:
    """Under the identity policy all topics come from the source, and heartbeats from where their name says.

    Source: MirrorMaker 2, ``MirrorClientTest.testIdentityReplicationTopicSource`` and ``testIdentityReplication``.
    """
    assert IDENTITY.format_remote_topic("primary", "topic1") == "topic1"
    assert IDENTITY.topic_source("topic1") == "primary"
    assert IDENTITY.format_remote_topic("backup", "heartbeats") == "backup.heartbeats"
    assert IDENTITY.topic_source("backup.heartbeats") == "backup"
    assert [original_topic(IDENTITY, name) for name in ("a.b", "backup.heartbeats")] == ["a.b", "heartbeats"]
    assert count_hops(IDENTITY, "topic1", "primary") == 1
    assert count_hops(IDENTITY, "topic1", "backup") is None
    topics = ["topic1", "topic2", "remoteTopic", "backup.heartbeats", "heartbeats", "a.checkpoints.internal"]
    assert [name for name in topics if is_remote_topic(IDENTITY, name)] == topics[:4]


def test_remote_topics_with_another_separator() -> None:
    """Remote is what the policy's own separator separates, and what is internal is never remote.

    Source: MirrorMaker 2, ``MirrorClientTest.remoteTopicsSeparatorTest``.
    """
    policy = DefaultReplicationPolicy(source_alias="source", separator="__")
    topics = [
        "topic1",
        "source1__topic4",
        "source1__source2__topic5",
        "source1.topic6",
        "source1__checkpoints__internal",
    ]
    assert [name for name in topics if is_remote_topic(policy, name)] == topics[1:3]


@pytest.mark.parametrize(
    ("topic", "renamed"),
    [("topic3", "source1.topic3"), ("target2.topic3", "topic3"), ("source6.topic7", "source1.source6.topic7")],
)
def test_topic_on_target(topic: str, renamed: str) -> None:
    """A topic has the remote name on the target, and its first name where it came from there.

    Source: MirrorMaker 2, ``MirrorCheckpointTaskTest.testDownstreamTopicRenaming``.
    """
    assert topic_on_target(DEFAULT, topic, source_alias="source1", target_alias="target2") == renamed


def test_names_in_a_circle() -> None:
    """A policy whose names go round, or that forgets a name, ends the way instead of going on for ever."""
    assert source_chain(RoundaboutPolicy(), "a-t") == ("a", "b", "c")
    assert original_topic(RoundaboutPolicy(), "a-t") == "c-t"
    assert count_hops(RoundaboutPolicy(), "a-t", "d") is None
    assert source_chain(ForgetfulPolicy(), "a-t") == ("a",)
    assert original_topic(ForgetfulPolicy(), "a-t") == "a-t"
