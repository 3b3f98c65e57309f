"""MirrorMaker 2's own topics, and what a topic's name says of its way here. Pure.

Everything follows from the three methods of a replication policy, so a policy needs no base class. One that
separates internal names by something else than ``.`` says so in an attribute ``internal_separator``.

Source: MirrorMaker 2, ``ReplicationPolicy`` and ``MirrorClient``; KIP-1074 for the newer rule of internal topics.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from typing import Protocol, runtime_checkable

from airflow_provider_mm2.mirror.clusters.naming import HEARTBEATS_TOPIC, ReplicationPolicy, is_internal


class Release(Enum):
    """MirrorMaker 2's two rules for which topics are its own."""

    V3 = "3"
    """All whose names end in the separator and ``internal``, users' topics among them."""
    V4 = "4"
    """Of those only what begins with ``mm2``, and checkpoints."""


@runtime_checkable
class SeparatesInternalNames(Protocol):
    """A replication policy that says what separates the parts of internal names."""

    internal_separator: str


def internal_separator(policy: ReplicationPolicy) -> str:
    """What separates the parts of MirrorMaker 2's internal names."""
    return policy.internal_separator if isinstance(policy, SeparatesInternalNames) else "."


def offset_syncs_topic(policy: ReplicationPolicy, alias: str) -> str:
    """Topic of the offset syncs, named after the cluster that it does *not* lie on.

    :param alias: the target's, for the topic on the source (MirrorMaker 2's default); the source's, for the topic on
        the target (``offset-syncs.topic.location=target``).
    """
    separator = internal_separator(policy)
    return f"mm2-offset-syncs{separator}{alias}{separator}internal"


def checkpoints_topic(policy: ReplicationPolicy, source_alias: str) -> str:
    """Topic on the target of the checkpoints of groups from ``source_alias``."""
    return f"{source_alias}{_checkpoints_ending(policy)}"


def heartbeats_topic(policy: ReplicationPolicy, source_alias: str | None = None) -> str:
    """Topic of the heartbeats: a cluster's own (None), or the one mirrored from ``source_alias``.

    The first is called the same under every policy; the second is what a cluster's clients find its upstream by.
    """
    if source_alias is None:
        return HEARTBEATS_TOPIC
    return policy.format_remote_topic(source_alias, HEARTBEATS_TOPIC)


def is_heartbeats_topic(policy: ReplicationPolicy, topic: str) -> bool:
    """Whether a topic holds heartbeats, from however far away."""
    return original_topic(policy, topic) == HEARTBEATS_TOPIC


def is_checkpoints_topic(policy: ReplicationPolicy, topic: str) -> bool:
    """Whether a topic holds checkpoints, from however far away."""
    return topic.endswith(_checkpoints_ending(policy))


def is_mm2_internal_topic(policy: ReplicationPolicy, topic: str, release: Release = Release.V3) -> bool:
    """Whether MirrorMaker 2 takes a topic for one of its own; heartbeats are none of them."""
    ends_as_internal = topic.endswith(f"{internal_separator(policy)}internal")
    if release is Release.V3:
        return ends_as_internal
    return (ends_as_internal and topic.startswith("mm2")) or is_checkpoints_topic(policy, topic)


def is_remote_topic(policy: ReplicationPolicy, topic: str) -> bool:
    """Whether MirrorMaker 2's client counts a topic among those mirrored from elsewhere."""
    return policy.topic_source(topic) is not None and not is_internal(topic, internal_separator(policy))


def original_topic(policy: ReplicationPolicy, topic: str) -> str:
    """What a topic is called where it was first written."""
    return [*_names_upstream(policy, topic)][-1]


def topic_on_target(policy: ReplicationPolicy, topic: str, *, source_alias: str, target_alias: str) -> str:
    """What a source topic is called on the target, where a topic that came from there has its first name.

    Source: MirrorMaker 2, ``MirrorCheckpointTask.renameTopicPartition``.
    """
    if policy.topic_source(topic) == target_alias:
        return original_topic(policy, topic)
    return policy.format_remote_topic(source_alias, topic)


def source_chain(policy: ReplicationPolicy, topic: str) -> tuple[str, ...]:
    """Aliases of the clusters that a topic came through, the nearest first.

    It ends before an alias that was there already: a name can go round in a circle.
    """
    chain: list[str] = []
    for name in _names_upstream(policy, topic):
        source = policy.topic_source(name)
        if source is None or source in chain:
            break
        chain.append(source)
    return tuple(chain)


def count_hops(policy: ReplicationPolicy, topic: str, alias: str) -> int | None:
    """How many mirrors lie between a topic and the cluster ``alias``; None where it did not come from there."""
    chain = source_chain(policy, topic)
    return chain.index(alias) + 1 if alias in chain else None


def replication_hops(policy: ReplicationPolicy, topics: Collection[str], alias: str) -> int | None:
    """The shortest way from the cluster ``alias`` to the one that has these topics, by its heartbeats."""
    ways = (count_hops(policy, topic, alias) for topic in topics if is_heartbeats_topic(policy, topic))
    return min((way for way in ways if way is not None), default=None)


def heartbeat_sources(policy: ReplicationPolicy, topics: Collection[str]) -> frozenset[str]:
    """Aliases of all clusters upstream of the one that has these topics, by its heartbeats."""
    heartbeats = [topic for topic in topics if is_heartbeats_topic(policy, topic)]
    return frozenset(alias for topic in heartbeats for alias in source_chain(policy, topic))


def _names_upstream(policy: ReplicationPolicy, topic: str) -> Iterator[str]:
    """A topic's name, then what it is called one hop back each, until a name was there already."""
    seen: set[str] = set()
    name: str | None = topic
    while name is not None and name not in seen:
        yield name
        seen.add(name)
        name = policy.upstream_topic(name)


def _checkpoints_ending(policy: ReplicationPolicy) -> str:
    separator = internal_separator(policy)
    return f"{separator}checkpoints{separator}internal"
