"""What MirrorMaker 2's ``MirrorClient`` and ``RemoteClusterUtils`` tell, in Python: asked of one cluster, the target.

It needs neither the source nor Airflow, and reads what any mirror left, MirrorMaker 2's or this one's. Where this one
left its own map beside the checkpoints, a group's position is translated exactly.

Source: MirrorMaker 2, ``MirrorClient``, ``RemoteClusterUtils``. There a time-out gives a part of the offsets as if it
were all, a record without a value is an exception, and nothing says of when the offsets are.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from airflow_provider_mm2.mirror.clusters import mm2_topics
from airflow_provider_mm2.mirror.clusters.naming import GATE_NAME, ReplicationPolicy, gate_topic, make_policy
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import CheckpointsMissing, GroupUnknown, ReadTimedOut
from airflow_provider_mm2.mirror.group_model import GroupRecord
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import PARTITION, Checkpoint
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition, locate
from airflow_provider_mm2.mirror.offsets.reading import read_mirror
from airflow_provider_mm2.mirror.offsets.translate import Policy
from airflow_provider_mm2.mirror.remote_offsets import (
    AnsweredBy,
    CheckpointedGroup,
    RemoteOffsets,
    TranslatedOffsets,
    from_checkpoints,
    from_map,
)
from airflow_provider_mm2.mirror.state.gate import read_gate
from airflow_provider_mm2.mirror.state.snapshot import GroupSnapshot, read_snapshot
from airflow_provider_mm2.mirror.state_model import FlowRecord

if TYPE_CHECKING:
    from typing_extensions import Self

READ_LIMIT_S = 30.0
"""Longest time for one call that reads records."""


class MirrorClient:
    """Reads one cluster that others are mirrored to; a context manager.

    :param cluster: read access to it.
    :param policy: how mirrored topics are called there.
    """

    def __init__(self, cluster: ClusterReader, policy: ReplicationPolicy) -> None:
        self._cluster = cluster
        self.replication_policy = policy

    @classmethod
    def connect(
        cls,
        settings: Mapping[str, object],
        *,
        replication_policy: str | ReplicationPolicy = "default",
        separator: str = ".",
        source_alias: str | None = None,
        alias: str = "target",
    ) -> Self:
        """A client on a real cluster; nothing is contacted yet.

        :param settings: librdkafka's, beginning with ``bootstrap.servers``.
        :param replication_policy: ``default``, ``identity``, the dotted path of a class, or an object.
        :param separator: of the policy, where it is given by name.
        :param source_alias: needed by ``identity`` alone, whose topics' names do not say where they came from.
        :param alias: what messages call the cluster.
        :raises SettingRefused: the client refuses the settings.
        :raises PolicyNotUsable: there is no such policy.
        """
        # Imported here: the class itself works on any ClusterReader.
        from airflow_provider_mm2.mirror.clusters.confluent.client import checked_settings
        from airflow_provider_mm2.mirror.clusters.confluent.cluster import ConfluentCluster

        policy = replication_policy
        if isinstance(policy, str):
            policy = make_policy(policy, source_alias=source_alias, separator=separator)
        return cls(ConfluentCluster(alias=alias, settings=checked_settings(alias, settings)), policy)

    def __enter__(self) -> Self:
        """The client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the connections go."""
        self.close()

    def close(self) -> None:
        """Let the connections go; calling it twice is fine."""
        self._cluster.close()

    def replication_hops(self, upstream_alias: str) -> int | None:
        """How many mirrors lie between a cluster and this one, the shortest way; None: it is not upstream."""
        return mm2_topics.replication_hops(self.replication_policy, self._topics(), upstream_alias)

    def upstream_clusters(self) -> frozenset[str]:
        """Aliases of all clusters upstream of this one, over any number of hops, by the heartbeats mirrored here."""
        return mm2_topics.heartbeat_sources(self.replication_policy, self._topics())

    def heartbeat_topics(self) -> frozenset[str]:
        """Topics of heartbeats, this cluster's own and those mirrored here."""
        return frozenset(
            topic for topic in self._topics() if mm2_topics.is_heartbeats_topic(self.replication_policy, topic)
        )

    def checkpoint_topics(self) -> frozenset[str]:
        """Topics of checkpoints."""
        return frozenset(
            topic for topic in self._topics() if mm2_topics.is_checkpoints_topic(self.replication_policy, topic)
        )

    def remote_topics(self, source_alias: str | None = None) -> frozenset[str]:
        """Topics that were mirrored here, under their names here.

        :param source_alias: only those that came from this cluster directly.
        """
        policy = self.replication_policy
        remote = (topic for topic in self._topics() if mm2_topics.is_remote_topic(policy, topic))
        return frozenset(topic for topic in remote if source_alias in (None, policy.topic_source(topic)))

    def remote_consumer_offsets(
        self, groups: str | re.Pattern[str], source_alias: str, *, limit_s: float = READ_LIMIT_S
    ) -> RemoteOffsets:
        """Newest checkpoint of each target partition of one group, or of all groups whose whole name fits a pattern.

        The topic is read to its end. Records that are no checkpoint of a known version are passed over and told.

        :raises CheckpointsMissing: nothing on this cluster has checkpoints from that one.
        :raises ReadTimedOut: not read to its end in time; there is never a part of the offsets.
        """
        topic = mm2_topics.checkpoints_topic(self.replication_policy, source_alias)
        if not self._cluster.describe_topics([topic]):
            upstream = tuple(sorted(self.upstream_clusters()))
            raise CheckpointsMissing(
                alias=self._cluster.alias, source_alias=source_alias, topic=topic, upstream=upstream
            )
        pattern = re.compile(re.escape(groups)) if isinstance(groups, str) else groups
        found: dict[str, dict[TopicPartition, Checkpoint]] = {}
        newest_ms: dict[str, int] = {}
        passed_over: list[str] = []
        for record in self._cluster.read_state(TopicPartition(topic, PARTITION), self._limit(topic, limit_s)):
            try:
                checkpoint = Checkpoint.decode(record.key, record.value)
            except ValueError as error:
                passed_over.append(f"{topic}-{PARTITION} at {record.offset} is passed over: {error}")
                continue
            if pattern.fullmatch(checkpoint.group):
                found.setdefault(checkpoint.group, {})[checkpoint.target] = checkpoint
                newest_ms[checkpoint.group] = max(newest_ms.get(checkpoint.group, -1), record.timestamp_ms or -1)
        return RemoteOffsets(
            groups={
                name: CheckpointedGroup(
                    checkpoints=checkpoints, newest_ms=newest_ms[name] if newest_ms[name] >= 0 else None
                )
                for name, checkpoints in sorted(found.items())
            },
            passed_over=tuple(passed_over),
        )

    def translate_offsets(
        self,
        group: str,
        source_alias: str,
        *,
        by: AnsweredBy | None = None,
        policy: Policy | None = None,
        limit_s: float = READ_LIMIT_S,
    ) -> TranslatedOffsets:
        """Where a group of another cluster goes on here, ready for ``Consumer.assign``.

        Exact by this provider's own map, where a flow from that cluster keeps one here and knows the group: no record
        that is here is skipped, none read again. By checkpoints otherwise, which can lie before what was read.

        :param by: insist on one of the two; None: the map where it knows the group.
        :param policy: what becomes of positions without an exact answer, where the map answers. Default: what a flow
            does by default.
        :raises GroupUnknown: neither knows the group.
        :raises CheckpointsMissing: the map does not know it, and there are no checkpoints.
        :raises ReadTimedOut: as for :meth:`remote_consumer_offsets`.
        :raises StateDamaged: the map cannot be believed.
        """
        if by is not AnsweredBy.CHECKPOINTS:
            found = self._by_map(group, source_alias, policy or Policy(), limit_s)
            if found is not None:
                return found
            if by is AnsweredBy.MAP:
                looked_in = f"the snapshots on {self._cluster.alias} of flows from {source_alias}"
                raise GroupUnknown(group=group, looked_in=looked_in)
        remote = self.remote_consumer_offsets(group, source_alias, limit_s=limit_s)
        if group not in remote.groups:
            topic = mm2_topics.checkpoints_topic(self.replication_policy, source_alias)
            raise GroupUnknown(group=group, looked_in=f"{topic} on {self._cluster.alias}")
        return from_checkpoints(group, remote, self._topics())

    def _by_map(self, group: str, source_alias: str, policy: Policy, limit_s: float) -> TranslatedOffsets | None:
        """The answer of all flows from a cluster that know the group: each mirrors topics of its own."""
        tick = self._limit("the flows' state", limit_s)
        positions: dict[TopicPartition, GroupPosition] = {}
        taken: list[tuple[GroupSnapshot, GroupRecord]] = []
        for record in self._flows(source_alias, tick):
            snapshot = read_snapshot(self._cluster, record.flow, tick)
            known = snapshot.groups.get(group)
            if known is None:
                continue
            taken.append((snapshot, known))
            mirror = read_mirror(self._cluster, record, tick)
            for found in locate(group, known.found, mirror, policy):
                # A topic that this flow does not mirror another one may.
                if found.source.topic in mirror.topics or found.source not in positions:
                    positions[found.source] = found
        return from_map(group, positions.values(), taken) if taken else None

    def _flows(self, source_alias: str, tick: Tick) -> Iterator[FlowRecord]:
        for topic in sorted(self._topics()):
            named = GATE_NAME.fullmatch(topic)
            if named is None or gate_topic(named["flow"]) != topic:
                continue
            record = read_gate(self._cluster, named["flow"], tick)
            if record is not None and record.source_alias == source_alias:
                yield record

    def _topics(self) -> Mapping[str, int]:
        return self._cluster.list_topics()

    def _limit(self, topic: str, limit_s: float) -> Tick:
        """A tick that ends a read which takes too long."""
        deadline = time.monotonic() + limit_s

        def tick() -> None:
            if time.monotonic() > deadline:
                raise ReadTimedOut(alias=self._cluster.alias, topic=topic, seconds=limit_s)

        return tick
