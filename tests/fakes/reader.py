"""``ClusterReader`` and ``TargetCluster`` on a fake cluster."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Mapping, Sequence
from itertools import islice

from airflow_provider_mm2.mirror.clusters.membership import Membership
from airflow_provider_mm2.mirror.clusters.ports import StateWriter, Tick
from airflow_provider_mm2.mirror.errors import (
    COUNT_LIMIT,
    AccessNotChecked,
    HeaderUnfaithful,
    MirrorError,
    OffsetsHeld,
    ReplicationImpossible,
    TopicDeleted,
    TopicSettingsRefused,
)
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
from tests.fakes.cluster import FakeCluster
from tests.fakes.groups import FakeGroups
from tests.fakes.lock_group import FakeMembership
from tests.fakes.log import Message
from tests.fakes.plain_producer import FakePlainWriter
from tests.fakes.producer import FakeStateWriter

COLUMN_RECORDS = 7
"""A number that fits nothing else, so that batches of two sides never begin together."""

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

    def broker_count(self) -> int:
        """Brokers, as the test says."""
        self._cluster.reach()
        return self._cluster.brokers

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

    def topic_acls(self) -> Sequence[TopicAcl]:
        """Access rules, as the test says."""
        self._cluster.reach()
        return sorted(self._cluster.acls or ())

    def log_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, LogOffsets]:
        """Ends of the logs."""
        return {partition: self._cluster.log(partition).offsets for partition in partitions}

    def offsets_at(self, moments: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        """First record at or after each moment."""
        return {partition: self._cluster.log(partition).offset_at(moment) for partition, moment in moments.items()}

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

    def read_columns(
        self, partition: TopicPartition, start: int, end: int, tick: Tick, *, aborted: bool = False
    ) -> Generator[Columns, None, None]:
        """Records of a range, ``COLUMN_RECORDS`` at most at a time.

        :raises HeaderUnfaithful: a header key is not UTF-8.
        """
        position = start
        while True:
            tick()
            log = self._cluster.log(partition)  # anew: retention may have passed
            entries = log.everything(position, end) if aborted else log.visible(position, end)
            run: list[Record] = []
            for entry in entries:
                if len(run) == COLUMN_RECORDS or (run and entry.offset != run[-1].offset + 1):
                    break
                if entry.message is not None:
                    run.append(_record_of(partition, entry.offset, entry.message))
            if not run:
                return
            position = run[-1].offset + 1
            yield _columns_of(run)

    def count_visible(self, partition: TopicPartition, start: int, end: int, tick: Tick) -> int:
        """Number of visible records."""
        tick()
        return sum(1 for _ in islice(self._cluster.log(partition).visible(start, end), COUNT_LIMIT))

    def present(
        self, offsets: Mapping[TopicPartition, int], *, aborted: bool, tick: Tick
    ) -> Mapping[TopicPartition, int]:
        """Timestamps of the records at the offsets given."""
        tick()
        logs = {partition: self._cluster.log(partition) for partition in offsets}
        seen = {part: log.entries if aborted else log.visible() for part, log in logs.items()}
        return {
            part: entry.message.timestamp_ms
            for part, entries in seen.items()
            for entry in entries
            if entry.offset == offsets[part] and entry.message is not None
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


def _columns_of(records: list[Record]) -> Columns:
    return Columns(
        start=records[0].offset,
        keys=[record.key for record in records],
        values=[record.value for record in records],
        headers=[list(record.headers) or None for record in records],
        timestamps=[record.timestamp_ms for record in records],
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None


class FakeTarget(FakeReader):
    """A fake cluster as a target."""

    def __init__(self, cluster: FakeCluster, delivery: Delivery = Delivery.EXACTLY_ONCE) -> None:
        super().__init__(cluster)
        self._delivery = delivery

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Create those that do not exist.

        :raises MirrorError: one is refused; the others are created.
        """
        self._cluster.reach()
        refused: list[MirrorError] = []
        for topic in topics:
            if topic.name in self._cluster.topics:
                continue
            problem = self._refusal(topic.name, topic.settings)
            if (topic.replication_factor or 1) > self._cluster.brokers:
                problem = ReplicationImpossible(
                    alias=self.alias,
                    factor=f"{topic.replication_factor} replicas",
                    brokers=self._cluster.brokers,
                    topics=(topic.name,),
                )
            if problem is None:
                self._cluster.create_topic(topic.name, topic.partitions, topic.settings, topic.replication_factor or 1)
            else:
                refused.append(problem)
        if refused:
            raise refused[0]

    def _refusal(self, topic: str, settings: Mapping[str, str | None]) -> MirrorError | None:
        """Why a broker does not take settings: it does not know one, or a number is none."""
        defaults = self._cluster.defaults
        for name, value in settings.items():
            unknown = name not in defaults
            unfit = value is not None and not unknown and _is_number(defaults[name]) and not _is_number(value)
            if unknown or unfit:
                names = tuple(sorted(settings))
                return TopicSettingsRefused(alias=self.alias, topic=topic, settings=names, problem=f"{name}={value}")
        return None

    def alter_topic_settings(
        self, changes: Mapping[str, Mapping[str, str | None]], tick: Tick
    ) -> Mapping[str, MirrorError]:
        """Set and remove overrides of topics, or nothing of one that is refused."""
        tick()
        self._cluster.reach()
        refused: dict[str, MirrorError] = {}
        for name, settings in changes.items():
            self._cluster.altered.append(name)
            topic = self._cluster.topics.get(name)
            if topic is None:
                refused[name] = TopicDeleted(alias=self.alias, topic=name)
            elif problem := self._refusal(name, settings):
                refused[name] = problem
            else:
                kept = {setting: value for setting, value in topic.settings.items() if setting not in settings}
                topic.settings = kept | {setting: value for setting, value in settings.items() if value is not None}
        return refused

    def create_acls(self, acls: Collection[TopicAcl]) -> None:
        """Create access rules.

        :raises AccessNotChecked: the test says of none.
        """
        self._cluster.reach()
        if not acls:
            return
        if self._cluster.acls is None:
            raise AccessNotChecked(alias=self.alias)
        self._cluster.acls.update(acls)

    def grow_topic(self, topic: str, partitions: int) -> None:
        """Add partitions until there are as many.

        :raises TopicDeleted: there is no such topic.
        """
        self._cluster.reach()
        if topic not in self._cluster.topics:
            raise TopicDeleted(alias=self.alias, topic=topic)
        self._cluster.grow_topic(topic, partitions)

    def delete_topics(self, topics: Collection[str]) -> None:
        """Delete those that exist."""
        self._cluster.reach()
        for name in topics:
            if name in self._cluster.topics:
                self._cluster.delete_topic(name)

    def committed(self, group: str, partitions: Collection[TopicPartition], tick: Tick) -> Mapping[TopicPartition, int]:
        """Stable offsets; while a transaction holds offsets of the group this ticks, and gives up in the end.

        :raises OffsetsHeld: they were still pending after a minute of the fake's clock.
        """
        tick()
        waited_s = 0
        while self._cluster.pending(group, partitions):
            if waited_s >= PENDING_LIMIT_S:
                held = tuple(str(part) for part in sorted(self._cluster.pending_partitions(group)))
                raise OffsetsHeld(group=group, partitions=held, count=len(held))
            self._cluster.clock.advance(1)
            waited_s += 1
            tick()
        self._cluster.reach()
        offsets = self._cluster.groups.get(group, {})
        return {partition: offsets[partition] for partition in partitions if partition in offsets}

    def commit_groups(
        self, groups: Mapping[str, GroupOffsets], tick: Tick
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
