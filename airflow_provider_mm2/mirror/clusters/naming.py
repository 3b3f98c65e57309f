"""Names on the target: replication policies as MirrorMaker 2 has them, and our own internal names. Pure.

Source: MirrorMaker 2, ``ReplicationPolicy``, ``DefaultReplicationPolicy``, ``IdentityReplicationPolicy``.
"""

from __future__ import annotations

import importlib
import re
import zlib
from typing import Protocol

from airflow_provider_mm2.mirror.errors import PolicyNotUsable
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.flow_values import NAME_PATTERN
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.topic_names import TOPIC_NAME_LIMIT

HEARTBEATS_TOPIC = "heartbeats"


class ReplicationPolicy(Protocol):
    """How a source topic is called on the target, and what a topic's name says of its origin."""

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """Name on the target of ``topic`` from the cluster ``source_alias``."""

    def topic_source(self, topic: str) -> str | None:
        """Alias of the cluster a remote topic came from; None for a topic that is not remote."""

    def upstream_topic(self, topic: str) -> str | None:
        """Name of a remote topic one hop back; None for a topic that is not remote."""


class DefaultReplicationPolicy:
    """``<source alias><separator><topic>``.

    :param internal_separator: what separates the parts of MirrorMaker 2's internal names; None: the same. Where
        ``replication.policy.internal.topic.separator.enabled`` is false there, it is ``"."``.
    """

    def __init__(self, *, source_alias: str | None, separator: str, internal_separator: str | None = None) -> None:
        self.source_alias = source_alias
        self.separator = separator
        self.internal_separator = separator if internal_separator is None else internal_separator

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """Prefix the topic."""
        return f"{source_alias}{self.separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        """The part before the first separator, where there is a part after it."""
        head, separator, rest = topic.partition(self.separator)
        return head if separator and rest.strip(self.separator) else None

    def upstream_topic(self, topic: str) -> str | None:
        """The part after the first separator."""
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]


class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """The same name on both sides; names ending in ``heartbeats`` are prefixed, as in MirrorMaker 2."""

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """Keep the name."""
        if _looks_like_heartbeat(topic):
            return super().format_remote_topic(source_alias, topic)
        return topic

    def topic_source(self, topic: str) -> str | None:
        """Every topic counts as coming from the flow's source."""
        return super().topic_source(topic) if _looks_like_heartbeat(topic) else self.source_alias

    def upstream_topic(self, topic: str) -> str | None:
        """The name itself."""
        return super().upstream_topic(topic) if _looks_like_heartbeat(topic) else topic


class HomewardReplicationPolicy(DefaultReplicationPolicy):
    """The default policy undone: a topic that was mirrored away comes home under its first name.

    No topic counts as remote: all that is selected is to come home. Only the mirror's own heartbeats go by the default.

    :param home: alias that the names away begin with, which may have the separator in it; None: the part before it.
    """

    def __init__(self, *, source_alias: str | None, separator: str, home: str | None = None) -> None:
        super().__init__(source_alias=source_alias, separator=separator)
        self.home = home

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """Take away alias and separator."""
        head, found, name = topic.partition(self.separator)
        prefix = f"{head if self.home is None else self.home}{self.separator}"
        is_away = bool(found) and topic.startswith(prefix)
        return topic[len(prefix) :] if is_away and name else super().format_remote_topic(source_alias, topic)

    def topic_source(self, topic: str) -> str | None:
        """None."""
        return None

    def upstream_topic(self, topic: str) -> str | None:
        """None."""
        return None


class HomewardIdentityReplicationPolicy(HomewardReplicationPolicy):
    """The identity policy undone: the same name, but for names ending in ``heartbeats``."""

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """Keep the name."""
        return super().format_remote_topic(source_alias, topic) if _looks_like_heartbeat(topic) else topic


def _looks_like_heartbeat(topic: str) -> bool:
    return topic.endswith(HEARTBEATS_TOPIC)


def policy_of(flow: MirrorFlow) -> ReplicationPolicy:
    """The flow's replication policy.

    :raises PolicyNotUsable: the class path cannot be imported or made with the two keyword arguments.
    """
    for kind in (HomewardReplicationPolicy, HomewardIdentityReplicationPolicy):
        if flow.replication_policy == path_of(kind):
            return kind(source_alias=flow.source.alias, separator=flow.separator, home=flow.target.alias)
    return make_policy(flow.replication_policy, source_alias=flow.source.alias, separator=flow.separator)


def path_of(kind: type[ReplicationPolicy]) -> str:
    """By which a flow names a policy that is a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def make_policy(path: str, *, source_alias: str | None, separator: str) -> ReplicationPolicy:
    """A replication policy by its name.

    :param path: ``default``, ``identity`` or the dotted path of a class.
    :param source_alias: what the identity policy takes every topic to come from; None: it knows of no topic.
    :raises PolicyNotUsable: the class path cannot be imported or made with the two keyword arguments.
    """
    kinds = {"default": DefaultReplicationPolicy, "identity": IdentityReplicationPolicy}
    kind = kinds.get(path)
    if kind is not None:
        return kind(source_alias=source_alias, separator=separator)
    module, _, name = path.rpartition(".")
    try:
        policy: ReplicationPolicy = getattr(importlib.import_module(module), name)(
            source_alias=source_alias, separator=separator
        )
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise PolicyNotUsable(path=path, problem=str(error)) from error
    return policy


def is_cycle(policy: ReplicationPolicy, topic: str, target_alias: str) -> bool:
    """Whether a source topic came from the target in the first place, over any number of hops."""
    source = policy.topic_source(topic)
    if source is None:
        return False
    if source == target_alias:
        return True
    upstream = policy.upstream_topic(topic)
    return upstream is not None and upstream != topic and is_cycle(policy, upstream, target_alias)


def is_internal(topic: str, separator: str = ".") -> bool:
    """Whether MirrorMaker 2 (3.x) would never replicate a topic of this name.

    Its own topics end in the separator of *its* policy and ``internal``; the flow's stands for it.
    """
    return topic.startswith(("__", ".")) or topic.endswith(("-internal", ".internal", f"{separator}internal"))


REVERSE = ".reverse"
"""Ends the name of a flow's way home; no flow of a file has a ``.`` in its name."""

DRILL = ".drill"
"""Ends the name of the flow of a flow's drills."""

DRILL_PREFIX = "mm2-drill"
"""Begins, before a ``.``, the names of all topics and groups of applications that a drill makes."""


def is_drill(flow: str) -> bool:
    """Whether a flow of this name is of drills, or the way home of one."""
    return flow.removesuffix(REVERSE).endswith(DRILL)


def renewals_topic(flow: str) -> str:
    """What target groups had that are being made anew; one for all flows to a target, and one for each flow's drills.

    A drill takes its own away when it ends, which nobody else may be in the midst of using.
    """
    return f"mm2-renewals.{flow}.internal" if is_drill(flow) else "mm2-renewals.internal"


def renewals_lease(flow: str) -> str:
    """Lock group of the one flow that may write groups on a target; of a drill, which writes its own alone."""
    return f"mm2.{flow}.renewals.lease" if is_drill(flow) else "mm2.renewals.lease"


def is_of_drills(topic: str, separator: str) -> bool:
    """Whether a drill makes topics of this name, on the side it begins on or as they are called on the other."""
    return topic.startswith(f"{DRILL_PREFIX}.") or f"{separator}{DRILL_PREFIX}." in topic


GATE_NAME = re.compile(rf"mm2-flow\.(?P<flow>{NAME_PATTERN}({re.escape(DRILL)})?({re.escape(REVERSE)})?)\.internal")
"""By which a cluster's flows are found, when nothing but the cluster is known."""


def gate_topic(flow: str) -> str:
    """Topic of the flow record."""
    return f"mm2-flow.{flow}.internal"


def ledger_topic(flow: str) -> str:
    """Topic of the ledger, one partition a shard."""
    return f"mm2-offset-map.{flow}.internal"


def groups_topic(flow: str) -> str:
    """Topic of the group snapshot."""
    return f"mm2-groups.{flow}.internal"


def progress_group(flow: str) -> str:
    """Consumer group that carries progress in KIP-656's form; it never has a member."""
    return f"mm2.{flow}.progress"


def is_progress_group(group: str) -> bool:
    """Whether a group is some flow's progress group."""
    return group.startswith("mm2.") and group.endswith(".progress")


def transactional_id(flow: str, shard: int) -> str:
    """Id of one shard's transactions: from flow and shard alone, so that a later attempt fences an earlier one."""
    return f"mm2.{flow}.{shard}"


def control_id(flow: str) -> str:
    """Transactional id of every write to the gate."""
    return f"mm2.{flow}.control"


def groups_id(flow: str) -> str:
    """Transactional id of what is written about groups: snapshot, checkpoints, offset syncs."""
    return f"mm2.{flow}.groups"


def canary_id(flow: str) -> str:
    """Transactional id of the records that a failover writes to see whether the target takes any."""
    return f"mm2.{flow}.canary"


def canary_topic(flow: str, number: int) -> str:
    """One of the topics that a failover writes such records to."""
    return f"mm2-canary.{flow}.{number}.internal"


def stranded_topic(flow: str, topic: str) -> str:
    """Topic of a source topic's records that a failover left behind, where they are put aside.

    A name that would be too long for a broker is cut, and told from others by its checksum.
    """
    name = f"mm2-stranded.{flow}.{topic}.internal"
    if len(name) <= TOPIC_NAME_LIMIT:
        return name
    end = f".{zlib.crc32(topic.encode()):08x}.internal"
    return f"mm2-stranded.{flow}.{topic}"[: TOPIC_NAME_LIMIT - len(end)] + end


def lease_group(transactional_id: str) -> str:
    """Lock group of one shard or of the gate."""
    return f"{transactional_id}.lease"


def shard_of(partition: TopicPartition, shards: int) -> int:
    """Shard of a source partition, the same for every run, process and version: a topic's partitions go round."""
    return (zlib.crc32(partition.topic.encode()) + partition.partition) % shards
