"""Names on the target, held against MirrorMaker 2's own tables."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.mm2_topics import original_topic
from airflow_provider_mm2.mirror.clusters.naming import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    is_cycle,
    is_internal,
    policy_of,
    shard_of,
)
from airflow_provider_mm2.mirror.errors import PolicyNotUsable
from airflow_provider_mm2.mirror.flow import ClusterSettings, MirrorFlow
from airflow_provider_mm2.mirror.model import TopicPartition


class SuffixPolicy:
    """A policy of a user."""

    def __init__(self, *, source_alias: str, separator: str) -> None:
        self.ending = f"{separator}from{separator}{source_alias}"

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """Append."""
        return topic + self.ending

    def topic_source(self, topic: str) -> str | None:
        """Nothing is remote."""
        return None

    def upstream_topic(self, topic: str) -> str | None:
        """Nothing is remote."""
        return None


def flow(policy: str = "default", separator: str = ".") -> MirrorFlow:
    """A flow with this policy."""
    settings = {"bootstrap.servers": "h:1"}
    return MirrorFlow(
        name="f",
        source=ClusterSettings(alias="source", settings={**settings}),
        target=ClusterSettings(alias="target", settings={**settings}),
        topics=(".*",),
        replication_policy=policy,
        separator=separator,
    )


@pytest.mark.parametrize(
    ("topic", "source", "upstream", "first"),
    [
        ("t", None, None, "t"),
        ("a.t", "a", "t", "t"),
        ("a.b.c", "a", "b.c", "c"),
        ("a.", None, None, "a."),
        ("a..", None, None, "a.."),
        ("..", None, None, ".."),
        (".", None, None, "."),
        (".b", "", "b", "b"),
        ("a..b", "a", ".b", "b"),
        ("heartbeats", None, None, "heartbeats"),
        ("a.heartbeats", "a", "heartbeats", "heartbeats"),
        ("my-heartbeats", None, None, "my-heartbeats"),
        ("prod.x", "prod", "x", "x"),
    ],
)
def test_default_policy(topic: str, source: str | None, upstream: str | None, first: str) -> None:
    """The default policy reads names as MirrorMaker 2 does, empty aliases and trailing separators included."""
    policy = DefaultReplicationPolicy(source_alias="source", separator=".")
    assert (policy.topic_source(topic), policy.upstream_topic(topic)) == (source, upstream)
    assert original_topic(policy, topic) == first


@pytest.mark.parametrize(
    ("topic", "source", "upstream"),
    [("us-west.heartbeats", None, None), ("us-west_heartbeats", "us-west", "heartbeats"), ("a__b", "a", "_b")],
)
def test_default_policy_with_another_separator(topic: str, source: str | None, upstream: str | None) -> None:
    """Only the policy's own separator separates."""
    policy = DefaultReplicationPolicy(source_alias="source", separator="_")
    assert (policy.topic_source(topic), policy.upstream_topic(topic)) == (source, upstream)


@pytest.mark.parametrize("separator", [".", "_", "--"])
@pytest.mark.parametrize("topic", ["t", "a.b", "heartbeats", "x--y_z"])
def test_default_policy_round_trip(separator: str, topic: str) -> None:
    """What was made a remote name is read back as alias and topic."""
    policy = DefaultReplicationPolicy(source_alias="us", separator=separator)
    remote = policy.format_remote_topic("us", topic)
    assert remote == f"us{separator}{topic}"
    assert (policy.topic_source(remote), policy.upstream_topic(remote)) == ("us", topic)


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("__consumer_offsets", True),
        (".hidden", True),
        ("foo.internal", True),
        ("foo-internal", True),
        ("mm2-offset-syncs.us.internal", True),
        ("source2.source1.checkpoints.internal", True),
        ("checkpoints.internal", True),
        ("mm2-offsets_CLUSTER_internal", False),
        ("internal", False),
        ("internal.orders", False),
        ("_schemas", False),
        ("orders", False),
    ],
)
def test_internal_topics(topic: str, expected: bool) -> None:
    """What MirrorMaker 2 (3.x) counts as internal is never mirrored; so are users' topics of such names."""
    assert is_internal(topic) is expected


def test_internal_topics_with_another_separator() -> None:
    """Under another separator MirrorMaker 2's own topics end in that, and the fixed endings count all the same."""
    assert is_internal("mm2-offsets_CLUSTER_internal", "_")
    assert is_internal("foo.internal", "_")
    assert not is_internal("foo_internals", "_")


@pytest.mark.parametrize(
    ("topic", "cycle"),
    [
        ("target.topic1", True),
        ("target.source.topic1", True),
        ("source.target.topic1", True),
        ("target.source.target.topic1", True),
        ("source.target.source.topic1", True),
        ("topic1", False),
        ("source.topic1", False),
        ("other.topic1", False),
        ("target", False),
        ("target.", False),
        ("targets.topic1", False),
    ],
)
def test_cycles(topic: str, cycle: bool) -> None:
    """A topic that came from the target, over any number of hops, is not carried back to it."""
    policy = DefaultReplicationPolicy(source_alias="source", separator=".")
    assert is_cycle(policy, topic, "target") is cycle


@pytest.mark.parametrize(
    ("topic", "remote", "source", "upstream"),
    [
        ("topic1", "topic1", "src", "topic1"),
        ("a.b.c", "a.b.c", "src", "a.b.c"),
        ("heartbeats", "src.heartbeats", None, None),
        ("my-heartbeats", "src.my-heartbeats", None, None),
        ("backup.heartbeats", "src.backup.heartbeats", "backup", "heartbeats"),
        ("heartbeats-2", "heartbeats-2", "src", "heartbeats-2"),
    ],
)
def test_identity_policy(topic: str, remote: str, source: str | None, upstream: str | None) -> None:
    """The identity policy keeps names, except those that end in ``heartbeats``, which it treats as the default does."""
    policy = IdentityReplicationPolicy(source_alias="src", separator=".")
    assert policy.format_remote_topic("src", topic) == remote
    assert (policy.topic_source(topic), policy.upstream_topic(topic)) == (source, upstream)


@pytest.mark.parametrize(
    ("topic", "cycle"),
    [
        ("target.heartbeats", True),
        ("source.target.heartbeats", True),
        ("target.source.heartbeats", True),
        ("heartbeats", False),
        ("source.heartbeats", False),
        ("target.topic1", False),
        ("source.target.topic1", False),
        ("topic1", False),
    ],
)
def test_identity_policy_sees_cycles_of_heartbeats_only(topic: str, cycle: bool) -> None:
    """Under the identity policy a name tells nothing of its origin, so only heartbeats are kept from going round."""
    policy = IdentityReplicationPolicy(source_alias="source", separator=".")
    assert is_cycle(policy, topic, "target") is cycle


def test_policy_of_a_flow() -> None:
    """The flow's word or class path gives the policy, made with the flow's alias and separator."""
    assert policy_of(flow(separator="_")).format_remote_topic("source", "t") == "source_t"
    identity = policy_of(flow("identity"))
    assert (identity.format_remote_topic("source", "t"), identity.topic_source("t")) == ("t", "source")
    own = policy_of(flow(f"{__name__}.SuffixPolicy"))
    assert own.format_remote_topic("source", "t") == "t.from.source"


@pytest.mark.parametrize("path", ["no.such.module.Policy", f"{__name__}.NoSuchClass", "builtins.int", "builtins.len"])
def test_policy_that_cannot_be_made(path: str) -> None:
    """A class path that cannot be imported or made is refused by its path."""
    with pytest.raises(PolicyNotUsable) as caught:
        policy_of(flow(path))
    assert caught.value.path == path


def test_own_names() -> None:
    """Names of topics, groups and ids follow from the flow alone."""
    assert naming.gate_topic("f") == "mm2-flow.f.internal"
    assert naming.ledger_topic("f") == "mm2-offset-map.f.internal"
    assert naming.progress_group("f") == "mm2.f.progress"
    assert naming.transactional_id("f", 3) == "mm2.f.3"
    assert naming.control_id("f") == "mm2.f.control"
    assert naming.lease_group("mm2.f.3") == "mm2.f.3.lease"
    assert naming.is_progress_group("mm2.f.progress")
    assert not naming.is_progress_group("mm2.f.3.lease")
    assert all(is_internal(topic) for topic in (naming.gate_topic("f"), naming.ledger_topic("f")))


def test_shards_are_fixed() -> None:
    """A partition's shard is the same in every process and version: these numbers must never change."""
    found = [shard_of(TopicPartition("orders", partition), 4) for partition in range(8)]
    assert found == [2, 3, 0, 1, 2, 3, 0, 1]
    assert {shard_of(TopicPartition("orders", partition), 1) for partition in range(8)} == {0}
    assert {shard_of(TopicPartition("orders", partition), 4) for partition in range(64)} == {0, 1, 2, 3}
