"""Applications of drills and game days on a fake cluster, without a thread of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping

from airflow_provider_mm2.mirror.clusters.applications import CopyLimit, CopyRead, Written
from airflow_provider_mm2.mirror.model import Columns, TopicPartition
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import Message, Outcome

BURST = 5
"""Records that a producer writes to each partition."""


class FakeCopyReader:
    """See :class:`airflow_provider_mm2.mirror.clusters.applications.CopyReader`."""

    def __init__(self, cluster: FakeCluster, group: str, ends: Mapping[TopicPartition, int], limit: CopyLimit) -> None:
        self._cluster = cluster
        self._group = group
        self._ends = ends
        self._limit = limit
        self._read: dict[TopicPartition, list[Columns]] = {}
        self._cut: set[TopicPartition] = set()
        self.count = 0
        self.at_work_ms: int | None = None
        self.problem: str | None = None
        self.is_done = False

    def start(self) -> None:
        """Read."""
        positions = dict(self._cluster.groups.get(self._group, {}))
        without = sorted(str(part) for part in self._ends.keys() - positions.keys())
        if without:
            self.problem = f"no offset: {', '.join(without)}"
            return
        left = self._limit.bytes
        for part, end in self._ends.items():
            left = self._read_part(part, positions[part], end, left)
        self.at_work_ms = self._cluster.clock.now_ms
        self.is_done = True

    def _read_part(self, part: TopicPartition, start: int, end: int, left: int) -> int:
        for entry in self._cluster.log(part).visible(start, end):
            records = sum(map(len, self._read.get(part, ())))
            if entry.message is None:
                continue
            if records == self._limit.records or left <= 0:
                self._cut.add(part)
                break
            self._read.setdefault(part, []).append(_columns(entry.offset, entry.message))
            self._cluster.commit_offsets(self._group, {part: entry.offset + 1})
            self.count += 1
            left -= entry.message.size
        return left

    def stop(self) -> CopyRead:
        """Leave, and give what was read."""
        return CopyRead(columns=self._read, cut=frozenset(self._cut))


def _columns(offset: int, message: Message) -> Columns:
    return Columns(
        start=offset,
        keys=[message.key],
        values=[message.value],
        headers=[list(message.headers) or None],
        timestamps=[message.timestamp_ms],
    )


class FakeCopyReaders:
    """See :class:`airflow_provider_mm2.mirror.clusters.applications.CopyReaders`."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def copy_reader(
        self, group: str, ends: Mapping[TopicPartition, int], *, protocol: str, limit: CopyLimit
    ) -> FakeCopyReader:
        """A member of a copy."""
        return FakeCopyReader(self._cluster, group, ends, limit)


class FakeWriter:
    """See :class:`airflow_provider_mm2.mirror.clusters.applications.Writer`: it writes all it ever does at once."""

    def __init__(self, cluster: FakeCluster, topic: str, partitions: int, *, transactional: bool, first: int) -> None:
        self._cluster = cluster
        self._topic = topic
        self._partitions = partitions
        self._transactional = transactional
        self._first = first
        self._written = Written()
        self.count = 0
        self.problem: str | None = None

    def start(self) -> None:
        """Write; of a transactional one the first try is aborted."""
        for partition in range(self._partitions):
            part, numbers = TopicPartition(self._topic, partition), list(range(self._first, self._first + BURST))
            messages = [
                Message(key=b"k", value=b"%d" % number, timestamp_ms=self._cluster.clock.now_ms) for number in numbers
            ]
            if self._transactional:
                self._cluster.transaction(self._topic, partition, *messages, outcome=Outcome.ABORTED)
                self._cluster.transaction(self._topic, partition, *messages)
            else:
                self._cluster.produce(self._topic, partition, *messages)
            self._written.numbers[part] = numbers
            self._written.stamps[part] = [message.timestamp_ms for message in messages]
            self.count += len(numbers)

    def stop(self) -> Written:
        """Give what was written."""
        return self._written


class FakeGroupReader:
    """See :class:`airflow_provider_mm2.mirror.clusters.applications.Reader`: it reads when it is looked at."""

    def __init__(self, cluster: FakeCluster, group: str, topics: Collection[str]) -> None:
        self._cluster = cluster
        self._group = group
        self._topics = topics
        self._read: dict[TopicPartition, list[int]] = {}
        self._home = threading.get_ident()
        self._count = 0
        self._first_ms: int | None = None
        self.problem: str | None = None

    def start(self) -> None:
        """Read what is there."""
        self._take()

    @property
    def count(self) -> int:
        """How many records it has read, what has come since among them."""
        self._look()
        return self._count

    @property
    def first_ms(self) -> int | None:
        """When it read its first record."""
        self._look()
        return self._first_ms

    def _look(self) -> None:
        if threading.get_ident() == self._home:  # whoever takes samples looks on from another thread
            self._take()

    def _take(self) -> None:
        for topic in self._topics:
            for partition in range(len(self._cluster.topics[topic].logs)):
                part = TopicPartition(topic, partition)
                start = self._cluster.groups[self._group][part]
                for entry in self._cluster.log(part).visible(start):
                    if entry.message is not None:
                        self._read.setdefault(part, []).append(int(entry.message.value or b"-1"))
                        self._count += 1
                        self._first_ms = self._first_ms or int(time.time() * 1000)
                        self._cluster.commit_offsets(self._group, {part: entry.offset + 1})

    def stop(self) -> dict[TopicPartition, list[int]]:
        """Give what was read."""
        return self._read


class FakeApplications(FakeCopyReaders):
    """See :class:`airflow_provider_mm2.mirror.clusters.applications.Applications`."""

    def writer(
        self, topic: str, partitions: int, *, transactional_id: str | None, pause_s: float, first: int
    ) -> FakeWriter:
        """A producer."""
        return FakeWriter(self._cluster, topic, partitions, transactional=transactional_id is not None, first=first)

    def reader(self, group: str, topics: Collection[str], *, protocol: str) -> FakeGroupReader:
        """A member of a group."""
        return FakeGroupReader(self._cluster, group, topics)
