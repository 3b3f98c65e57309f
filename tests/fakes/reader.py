"""``ClusterReader`` and ``TargetCluster`` on a fake cluster."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from itertools import islice

from airflow_provider_mm2.mirror.clusters.ports import Membership, StateWriter, Tick
from airflow_provider_mm2.mirror.errors import COUNT_LIMIT, HeaderUnfaithful, KafkaBusy, MirrorError, TopicDeleted
from airflow_provider_mm2.mirror.group_model import GroupListing, GroupOffsets, GroupState
from airflow_provider_mm2.mirror.model import (
    Delivery,
    LogOffsets,
    LogRecord,
    NewTopic,
    Record,
    TopicInfo,
    TopicPartition,
    TopicSetting,
)
from tests.fakes.cluster import FakeCluster
from tests.fakes.groups import FakeGroups
from tests.fakes.lock_group import FakeMembership
from tests.fakes.log import Message
from tests.fakes.plain_producer import FakePlainWriter
from tests.fakes.producer import FakeStateWriter

PENDING_LIMIT_S = 60
"""How long the fake waits for pending offsets; each tick lets a second of its clock pass."""


class FakeReader:
    """Read access to a fake cluster."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.alias = cluster.alias
        self._cluster = cluster
        self._groups = FakeGroups(cluster)

    def cluster_id(self) -> str:
        """The cluster's own id."""
        self._cluster.reach()
        return self._cluster.cluster_id

    def list_topics(self) -> Mapping[str, int]:
        """All topics and their partition counts."""
        self._cluster.reach()
        return {name: len(topic.logs) for name, topic in self._cluster.topics.items()}

    def describe_topics(self, names: Collection[str]) -> Mapping[str, TopicInfo]:
        """Facts of the topics that exist."""
        self._cluster.reach()
        return {
            name: TopicInfo(
                name=name,
                topic_id=topic.topic_id,
                partitions=len(topic.logs),
                replication_factor=topic.replication_factor,
            )
            for name, topic in self._cluster.topics.items()
            if name in names
        }

    def topic_settings(self, names: Collection[str]) -> Mapping[str, Mapping[str, TopicSetting]]:
        """Settings of topics.

        :raises TopicDeleted: one does not exist.
        """
        self._cluster.reach()
        for name in names:
            if name not in self._cluster.topics:
                raise TopicDeleted(alias=self.alias, topic=name)
        return {name: self._cluster.topics[name].all_settings() for name in names}

    def log_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, LogOffsets]:
        """Ends of the logs."""
        return {partition: self._cluster.log(partition).offsets for partition in partitions}

    def read_state(self, partition: TopicPartition, tick: Tick, *, start: int = 0) -> Sequence[LogRecord]:
        """Every visible record."""
        tick()
        log = self._cluster.log(partition)
        return [
            LogRecord(
                offset=entry.offset,
                key=entry.message.key,
                value=entry.message.value,
                timestamp_ms=entry.message.timestamp_ms,
            )
            for entry in log.visible(start)
            if entry.message is not None
        ]

    def first_visible(self, partition: TopicPartition, start: int, end: int) -> tuple[int, int] | None:
        """Offset and timestamp of the first visible record."""
        entry = next(self._cluster.log(partition).visible(start, end), None)
        return None if entry is None or entry.message is None else (entry.offset, entry.message.timestamp_ms)

    def read_records(
        self, partition: TopicPartition, start: int, end: int, tick: Tick
    ) -> Generator[Record, None, None]:
        """Visible records of a range.

        :raises HeaderUnfaithful: a header key is not UTF-8.
        """
        tick()
        for entry in self._cluster.log(partition).visible(start, end):
            if entry.message is not None:
                yield _record_of(partition, entry.offset, entry.message)

    def count_visible(self, partition: TopicPartition, start: int, end: int, tick: Tick) -> int:
        """Number of visible records."""
        tick()
        return sum(1 for _ in islice(self._cluster.log(partition).visible(start, end), COUNT_LIMIT))

    def present(
        self, offsets: Mapping[TopicPartition, int], *, aborted: bool, tick: Tick
    ) -> Collection[TopicPartition]:
        """Partitions with a record at the offset given."""
        tick()
        logs = {partition: self._cluster.log(partition) for partition in offsets}
        seen = {part: log.entries if aborted else log.visible() for part, log in logs.items()}
        return {
            part
            for part, entries in seen.items()
            if any(entry.offset == offsets[part] and entry.message is not None for entry in entries)
        }

    def list_groups(self, *, every_kind: bool = False) -> Sequence[GroupListing]:
        """Groups with offsets or members."""
        return self._groups.list(every_kind=every_kind)

    def group_offsets(
        self, groups: Collection[str], tick: Tick, *, stable: bool = True
    ) -> Mapping[str, GroupOffsets | MirrorError]:
        """Offsets of groups."""
        tick()
        return self._groups.offsets(groups, stable=stable)

    def describe_groups(self, groups: Collection[str], tick: Tick) -> Mapping[str, GroupState | MirrorError]:
        """Whether somebody is in each group."""
        tick()
        return self._groups.describe(groups)

    def close(self) -> None:
        """Nothing to let go."""


def _record_of(partition: TopicPartition, offset: int, message: Message) -> Record:
    if any("\udcff" in name for name, _ in message.headers):
        raise HeaderUnfaithful(
            topic=partition.topic, partition=partition.partition, offset=offset, problem="a key is not UTF-8"
        )
    return Record(
        offset=offset,
        key=message.key,
        value=message.value,
        headers=message.headers,
        timestamp_ms=message.timestamp_ms,
    )


class FakeTarget(FakeReader):
    """A fake cluster as a target."""

    def __init__(self, cluster: FakeCluster, delivery: Delivery = Delivery.EXACTLY_ONCE) -> None:
        super().__init__(cluster)
        self._delivery = delivery

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Create those that do not exist."""
        self._cluster.reach()
        for topic in topics:
            if topic.name not in self._cluster.topics:
                self._cluster.create_topic(topic.name, topic.partitions, topic.settings, topic.replication_factor or 1)

    def grow_topic(self, topic: str, partitions: int) -> None:
        """Add partitions until there are as many.

        :raises TopicDeleted: there is no such topic.
        """
        self._cluster.reach()
        if topic not in self._cluster.topics:
            raise TopicDeleted(alias=self.alias, topic=topic)
        self._cluster.grow_topic(topic, partitions)

    def committed(self, group: str, partitions: Collection[TopicPartition], tick: Tick) -> Mapping[TopicPartition, int]:
        """Stable offsets; while a transaction holds offsets of the group this ticks, and gives up in the end.

        :raises KafkaBusy: they were still pending after a minute of the fake's clock.
        """
        tick()
        waited_s = 0
        while self._cluster.pending(group, partitions):
            if waited_s >= PENDING_LIMIT_S:
                raise KafkaBusy(
                    alias=self.alias,
                    operation=f"read offsets of {group}",
                    code="UNSTABLE_OFFSET_COMMIT",
                    problem=f"a transaction is open for {waited_s} s",
                )
            self._cluster.clock.advance(1)
            waited_s += 1
            tick()
        self._cluster.reach()
        offsets = self._cluster.groups.get(group, {})
        return {partition: offsets[partition] for partition in partitions if partition in offsets}

    def commit_groups(
        self, groups: Mapping[str, Mapping[TopicPartition, int]], tick: Tick
    ) -> Mapping[str, Mapping[TopicPartition, MirrorError] | MirrorError]:
        """Commit offsets of groups without members."""
        tick()
        return {group: self._groups.commit(group, offsets) for group, offsets in groups.items()}

    def delete_group(self, group: str, tick: Tick) -> None:
        """Delete a group without members."""
        tick()
        self._groups.delete(group)

    def membership(self, group: str, topic: str, owner: str, session_s: float) -> Membership:
        """A member-to-be of a lock group.

        :raises TopicDeleted: there is no such topic.
        """
        self._cluster.log(TopicPartition(topic, 0))
        return FakeMembership(self._cluster, group, owner, session_s)

    def state_writer(self, transactional_id: str) -> StateWriter:
        """A writer of state records."""
        if self._delivery is Delivery.AT_LEAST_ONCE:
            return FakePlainWriter(self._cluster)
        return FakeStateWriter(self._cluster, transactional_id)
