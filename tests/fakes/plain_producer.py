"""A producer of a fake cluster without transactions, and the writer of state records that stands on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import DeliveryFailed, ForeignWrites, MirrorError, Overtaken
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord
from tests.fakes.cluster import FakeCluster
from tests.fakes.hooks import Hooks
from tests.fakes.log import Message
from tests.fakes.producer import await_visible


class FakePlainProducer:
    """What is appended is there at once, for every reader; what is added waits for its commit."""

    def __init__(
        self, cluster: FakeCluster, writer: str, watched: Mapping[TopicPartition, bytes | None], hooks: Hooks
    ) -> None:
        self._cluster = cluster
        self._writer = writer
        self._watched = watched
        self._hooks = hooks
        self._ends: dict[TopicPartition, int] | None = None
        self._open = self._ended = False
        self._records: list[StateRecord] = []
        self._offsets: tuple[str, Mapping[TopicPartition, int]] = ("", {})

    def fence(self) -> None:
        """Note where the watched logs end."""
        self._ends = self._log_ends()

    def begin(self) -> None:
        """Begin a chunk."""
        if self._ends is None or self._open or self._ended:
            raise RuntimeError("an attempt ends with its abort, and a chunk with its commit")
        self._open = True

    def check(self) -> None:
        """Nothing ends an attempt from outside."""
        self._cluster.reach()

    def append(self, partition: TopicPartition, message: Message) -> int:
        """Write one record and return its offset."""
        return self._cluster.log(partition).append(message)

    def add_state(self, records: Iterable[StateRecord]) -> None:
        """Keep state records for the commit."""
        self._records = list(records)

    def add_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Keep group offsets for the commit."""
        self._offsets = (group, dict(offsets))

    def commit(self) -> None:
        """The ledger, record by record in the order of turns, then the group.

        :raises Overtaken: somebody wrote to a watched log.
        :raises TopicDeleted: an offset for a partition that does not exist.
        """
        ends = self._ends or {}
        for partition, key in self._watched.items():
            log = self._cluster.log(partition)
            since = list(log.visible(ends[partition]))
            if log.end != ends[partition] if key is None else any(entry.message.key == key for entry in since):
                raise Overtaken(writer=self._writer, what=f"{partition} ends at {log.end} instead of {ends[partition]}")
        for record in sorted(self._records, key=lambda record: record.turn):
            self._hooks.before("ledger")
            self.append(TopicPartition(record.topic, record.partition), Message(key=record.key, value=record.value))
        self._ends = self._log_ends()
        self._hooks.before("progress")
        group, offsets = self._offsets
        for partition in offsets:
            self._cluster.log(partition)
        self._cluster.commit_offsets(group, offsets)
        self._open = False

    def abort(self) -> None:
        """End the attempt; what was appended stays."""
        self._ended = True

    def pierced(self, hole: ForeignWrites) -> MirrorError:
        """What it means that a batch does not lie in one piece."""
        return DeliveryFailed(writer=self._writer, problem=hole.first_line)

    def check_committed(self, group: str, progress: Mapping[TopicPartition, int]) -> None:
        """Look for what was committed.

        :raises Overtaken: something else is there.
        """
        committed = self._cluster.groups.get(group, {})
        for partition, offset in progress.items():
            if committed.get(partition) != offset:
                raise Overtaken(writer=self._writer, what=f"the progress of {partition} is {committed.get(partition)}")

    def _log_ends(self) -> dict[TopicPartition, int]:
        return {partition: self._cluster.log(partition).end for partition in self._watched}


class FakePlainWriter:
    """``StateWriter`` on a fake cluster, without transactions."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def fence(self, tick: Tick) -> None:
        """There is nothing to fence with."""
        tick()
        self._cluster.reach()

    def write(self, records: Iterable[StateRecord], tick: Tick) -> None:
        """Write the records in the order of their turns; one that fails ends it."""
        written: set[TopicPartition] = set()
        for record in sorted(records, key=lambda record: record.turn):
            tick()
            written.add(TopicPartition(record.topic, record.partition))
            log = self._cluster.log(TopicPartition(record.topic, record.partition))
            log.append(Message(key=record.key, value=record.value))
        await_visible(self._cluster, written, tick)

    def close(self) -> None:
        """Nothing to let go."""
