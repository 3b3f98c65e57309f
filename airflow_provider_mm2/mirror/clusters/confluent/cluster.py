"""One cluster on real Kafka. Clients are made on first use in this process, never before a fork."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing
from itertools import islice

from confluent_kafka import Message

from airflow_provider_mm2.mirror.clusters.config import (
    Settings,
    admin_settings,
    plain_producer_settings,
    producer_settings,
)
from airflow_provider_mm2.mirror.clusters.confluent.acls import create_acls, topic_acls
from airflow_provider_mm2.mirror.clusters.confluent.admin import Admin
from airflow_provider_mm2.mirror.clusters.confluent.columns import ColumnReader
from airflow_provider_mm2.mirror.clusters.confluent.groups import Groups
from airflow_provider_mm2.mirror.clusters.confluent.membership import GroupMembership
from airflow_provider_mm2.mirror.clusters.confluent.offset_fetch import OffsetFetcher
from airflow_provider_mm2.mirror.clusters.confluent.plain_writer import PlainStateWriter
from airflow_provider_mm2.mirror.clusters.confluent.progress import ProgressClient
from airflow_provider_mm2.mirror.clusters.confluent.reading import RangeReader, bytes_of, record_of
from airflow_provider_mm2.mirror.clusters.confluent.topics import (
    alter_topic_settings,
    create_topics,
    delete_topics,
    grow_topic,
)
from airflow_provider_mm2.mirror.clusters.confluent.writer import ConfluentStateWriter
from airflow_provider_mm2.mirror.clusters.ports import Tick, no_tick
from airflow_provider_mm2.mirror.errors import COUNT_LIMIT, KafkaBusy, MirrorError, OffsetsHeld
from airflow_provider_mm2.mirror.group_model import GroupListing, GroupOffsets, GroupState
from airflow_provider_mm2.mirror.model import (
    Columns,
    LogOffsets,
    LogRecord,
    NewTopic,
    Record,
    TopicAcl,
    TopicInfo,
    TopicPartition,
    TopicSetting,
)
from airflow_provider_mm2.mirror.state_model import Delivery

STATE_TIMEOUT_S = 30
"""Time of a transaction that writes the gate, unless the flow's own is shorter: a broker may allow no more."""


class ConfluentCluster:
    """One cluster, read and (as a target) written."""

    def __init__(
        self,
        *,
        alias: str,
        settings: Settings,
        state_timeout_s: int = STATE_TIMEOUT_S,
        tick: Tick = no_tick,
        delivery: Delivery = Delivery.EXACTLY_ONCE,
    ) -> None:
        self.alias = alias
        self._delivery = delivery
        self._state_timeout_s = min(state_timeout_s, STATE_TIMEOUT_S)
        self.settings = settings
        self.admin = Admin(alias=alias, settings=settings, tick=tick)
        self._reader = RangeReader(alias=alias, settings=settings, watch=self.admin.watch)
        self._columns = ColumnReader(alias=alias, settings=settings, admin=self.admin)
        self._fetcher = OffsetFetcher(admin_settings(settings))
        self._groups = Groups(self.admin, self._fetcher)
        self._progress: dict[str, ProgressClient] = {}

    def cluster_id(self) -> str:
        """See :class:`ClusterReader`."""
        return self.admin.cluster_id()

    def broker_count(self) -> int:
        """See :class:`ClusterReader`."""
        return self.admin.broker_count()

    def list_topics(self) -> Mapping[str, int]:
        """See :class:`ClusterReader`."""
        return self.admin.list_topics()

    def describe_topics(self, names: Collection[str]) -> Mapping[str, TopicInfo]:
        """See :class:`ClusterReader`."""
        return self.admin.describe_topics(names)

    def topic_settings(self, names: Collection[str]) -> Mapping[str, Mapping[str, TopicSetting]]:
        """See :class:`ClusterReader`."""
        return self.admin.topic_settings(names)

    def topic_acls(self) -> Sequence[TopicAcl]:
        """See :class:`ClusterReader`."""
        return topic_acls(self.admin)

    def log_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, LogOffsets]:
        """See :class:`ClusterReader`."""
        return self.admin.log_offsets(partitions) if partitions else {}

    def offsets_at(self, moments: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        """See :class:`ClusterReader`."""
        return self.admin.offsets_at(moments)

    def read_state(self, partition: TopicPartition, tick: Tick, *, start: int = 0) -> Sequence[LogRecord]:
        """See :class:`ClusterReader`."""
        start = max(start, self.admin.log_offsets([partition])[partition].start)
        return [
            LogRecord(
                offset=message.offset() or 0,
                key=bytes_of(message.key()),
                value=bytes_of(message.value()),
                timestamp_ms=message.timestamp()[1],
            )
            for message in self._reader.records(partition, start, None, tick)
        ]

    def first_visible(self, partition: TopicPartition, start: int, end: int) -> tuple[int, int] | None:
        """See :class:`ClusterReader`."""
        for message in self.records(partition, start, end, no_tick):
            return message.offset() or 0, message.timestamp()[1]
        return None

    def records(self, partition: TopicPartition, start: int, end: int, tick: Tick) -> Generator[Message, None, None]:
        """Visible records of ``[start, end)``, as the client gives them."""
        return self._reader.records(partition, *self._readable(partition, start, end), tick)

    def read_records(
        self, partition: TopicPartition, start: int, end: int, tick: Tick
    ) -> Generator[Record, None, None]:
        """See :class:`ClusterReader`."""
        with closing(self.records(partition, start, end, tick)) as messages:
            yield from (record_of(message, partition) for message in messages)

    def read_columns(
        self, partition: TopicPartition, start: int, end: int, tick: Tick, *, aborted: bool = False
    ) -> Generator[Columns, None, None]:
        """See :class:`ClusterReader`."""
        return self._columns.read(partition, start, end, tick, aborted=aborted)

    def count_visible(self, partition: TopicPartition, start: int, end: int, tick: Tick) -> int:
        """See :class:`ClusterReader`."""
        return sum(1 for _ in islice(self.records(partition, start, end, tick), COUNT_LIMIT))

    def present(
        self, offsets: Mapping[TopicPartition, int], *, aborted: bool, tick: Tick
    ) -> Mapping[TopicPartition, int]:
        """See :class:`ClusterReader`."""
        return self._reader.present(offsets, aborted=aborted, tick=tick) if offsets else {}

    def _readable(self, partition: TopicPartition, start: int, end: int) -> tuple[int, int]:
        """The part of a range that a reader is given: a broker says nothing, for ever, of what lies past the LSO."""
        log = self.admin.log_offsets([partition])[partition]
        return max(start, log.start), min(end, log.stable)

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """See :class:`TargetCluster`."""
        create_topics(self.admin, topics)

    def grow_topic(self, topic: str, partitions: int) -> None:
        """See :class:`TargetCluster`."""
        grow_topic(self.admin, topic, partitions)

    def alter_topic_settings(
        self, changes: Mapping[str, Mapping[str, str | None]], tick: Tick
    ) -> Mapping[str, MirrorError]:
        """See :class:`TargetCluster`."""
        return alter_topic_settings(self.admin, changes, tick) if changes else {}

    def create_acls(self, acls: Collection[TopicAcl]) -> None:
        """See :class:`TargetCluster`."""
        create_acls(self.admin, acls)

    def delete_topics(self, topics: Collection[str]) -> None:
        """See :class:`TargetCluster`."""
        delete_topics(self.admin, topics)

    def committed(self, group: str, partitions: Collection[TopicPartition], tick: Tick) -> Mapping[TopicPartition, int]:
        """See :class:`TargetCluster`."""
        try:
            return self.progress(group).committed(partitions, tick)
        except KafkaBusy as error:
            answer = self._groups.offsets([group], tick, stable=True)[group]
            held = () if isinstance(answer, MirrorError) else tuple(str(part) for part in sorted(answer.pending))
            if not held:
                raise
            raise OffsetsHeld(group=group, partitions=held[:10], count=len(held)) from error

    def progress(self, group: str) -> ProgressClient:
        """The client bound to a progress group, one a group."""
        if group not in self._progress:
            self._progress[group] = ProgressClient(
                alias=self.alias, settings=self.settings, group=group, watch=self.admin.watch
            )
        return self._progress[group]

    def list_groups(self, *, every_kind: bool = False) -> Sequence[GroupListing]:
        """See :class:`ClusterReader`."""
        return self._groups.listed(every_kind=every_kind)

    def group_offsets(
        self, groups: Collection[str], tick: Tick, *, stable: bool = True
    ) -> Mapping[str, GroupOffsets | MirrorError]:
        """See :class:`ClusterReader`."""
        return self._groups.offsets(groups, tick, stable=stable)

    def describe_groups(self, groups: Collection[str], tick: Tick) -> Mapping[str, GroupState | MirrorError]:
        """See :class:`ClusterReader`."""
        return self._groups.describe(groups, tick)

    def commit_groups(
        self, groups: Mapping[str, GroupOffsets], tick: Tick
    ) -> Mapping[str, Mapping[TopicPartition, MirrorError] | MirrorError]:
        """See :class:`TargetCluster`."""
        return self._groups.commit(groups, tick)

    def delete_group(self, group: str, tick: Tick) -> None:
        """See :class:`TargetCluster`."""
        self._groups.delete(group, tick)

    def membership(self, group: str, topic: str, owner: str, session_s: float) -> GroupMembership:
        """See :class:`TargetCluster`."""
        return GroupMembership(
            admin=self.admin, settings=self.settings, group=group, topic=topic, owner=owner, session_s=session_s
        )

    def state_writer(self, transactional_id: str) -> ConfluentStateWriter | PlainStateWriter:
        """See :class:`TargetCluster`."""
        if self._delivery is Delivery.AT_LEAST_ONCE:
            plain = plain_producer_settings(self.settings)
            return PlainStateWriter(admin=self.admin, writer=transactional_id, settings=plain)
        settings = producer_settings(self.settings, transactional_id=transactional_id, timeout_s=self._state_timeout_s)
        return ConfluentStateWriter(admin=self.admin, settings=settings)

    def close(self) -> None:
        """See :class:`ClusterReader`."""
        self._reader.close()
        self._columns.close()
        self._fetcher.close()
        for client in self._progress.values():
            client.close()
        self._progress.clear()
        self.admin.close()
