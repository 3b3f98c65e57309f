"""Members of copies of groups on a fake cluster: each reads all that it has to the moment it is started."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_mm2.mirror.clusters.applications import CopyLimit, CopyRead
from airflow_provider_mm2.mirror.model import Columns, TopicPartition
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import Message


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
