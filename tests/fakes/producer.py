"""A transactional producer of a fake cluster, and the writer of state records that stands on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import Fenced, ForeignWrites, MirrorError, TopicDeleted
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord
from tests.fakes.cluster import FakeCluster, IdState
from tests.fakes.log import NO_TIMESTAMP, Message, Outcome, Transaction

STATE_TIMEOUT_S = 60


class FakeProducer:
    """One producer of a transactional id; a later one of the same id fences it."""

    def __init__(self, cluster: FakeCluster, transactional_id: str, timeout_s: int) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._timeout_s = timeout_s
        self._epoch: int | None = None
        self._ended = False

    def fence(self) -> None:
        """Take the id over and abort the open transaction of whoever had it."""
        self._cluster.reach()
        state = self._cluster.ids.setdefault(self._id, IdState())
        if state.transaction is not None:
            self._cluster.end(state.transaction, Outcome.ABORTED)
            state.transaction = None
        state.epoch += 1
        state.why = "a later attempt took it over"
        self._epoch = state.epoch

    def begin(self) -> None:
        """Open a transaction.

        :raises Fenced: as every other call here.
        """
        state = self._state()
        if self._ended or state.transaction is not None:
            raise RuntimeError("an attempt ends with its abort, and a transaction with its commit")
        state.transaction = Transaction()
        state.deadline_ms = self._cluster.clock.now_ms + self._timeout_s * 1000
        self._cluster.unsettled.append(state.transaction)

    def append(self, partition: TopicPartition, message: Message) -> int:
        """Write one record in the open transaction and return its offset."""
        return self._cluster.log(partition).append(message, self._open())

    def add_state(self, records: Iterable[StateRecord]) -> None:
        """Write state records in the open transaction."""
        for record in records:
            append_state(self, record)

    def add_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Add group offsets to the open transaction.

        :raises TopicDeleted: an offset for a partition that does not exist.
        """
        transaction = self._open()
        for partition in offsets:
            self._cluster.log(partition)
        transaction.offsets.append((group, dict(offsets)))

    def commit(self) -> None:
        """Commit the open transaction."""
        self._end(Outcome.COMMITTED)

    def abort(self) -> None:
        """Abort the open transaction, if there is one and it is ours, and end the attempt; never raises."""
        self._ended = True
        state = self._cluster.ids.get(self._id)
        if self._cluster.reachable and state is not None and state.epoch == self._epoch and state.transaction:
            self._end(Outcome.ABORTED)

    def pierced(self, hole: ForeignWrites) -> MirrorError:
        """What it means that a batch does not lie in one piece."""
        return hole

    def check_committed(self, group: str, progress: Mapping[TopicPartition, int]) -> None:
        """Look whether somebody has moved on.

        :raises Fenced: an offset is larger than the one sent.
        """
        committed = self._cluster.groups.get(group, {})
        if any(committed.get(partition, 0) > offset for partition, offset in progress.items()):
            raise Fenced(transactional_id=self._id, why="a successor has committed more")

    def check(self) -> None:
        """Do nothing if the id is still ours.

        :raises Fenced: it is not.
        """
        self._state()

    def _end(self, outcome: Outcome) -> None:
        transaction = self._open()
        self._state().transaction = None
        self._cluster.end(transaction, outcome)

    def _open(self) -> Transaction:
        transaction = self._state().transaction
        if transaction is None:
            raise RuntimeError("no transaction is open")
        return transaction

    def _state(self) -> IdState:
        self._cluster.reach()
        if self._epoch is None:
            raise RuntimeError("fence first")
        state = self._cluster.ids[self._id]
        if state.epoch != self._epoch:
            raise Fenced(transactional_id=self._id, why=state.why)
        return state


class FakeStateWriter:
    """``StateWriter`` on a fake cluster."""

    def __init__(self, cluster: FakeCluster, transactional_id: str) -> None:
        self._cluster = cluster
        self._producer = FakeProducer(cluster, transactional_id, STATE_TIMEOUT_S)

    def fence(self, tick: Tick) -> None:
        """Take the id over."""
        tick()
        self._producer.fence()

    def write(self, records: Iterable[StateRecord], tick: Tick) -> None:
        """Write all records in one transaction, or none."""
        tick()
        self._producer.begin()
        written: set[TopicPartition] = set()
        try:
            for record in records:
                append_state(self._producer, record)
                written.add(TopicPartition(record.topic, record.partition))
        except TopicDeleted:
            self._producer.abort()
            raise
        self._producer.commit()
        await_visible(self._cluster, written, tick)

    def close(self) -> None:
        """Nothing to let go."""


def await_visible(cluster: FakeCluster, partitions: Iterable[TopicPartition], tick: Tick) -> None:
    """Tick and let seconds pass until nothing of these logs is hidden."""
    for partition in partitions:
        while cluster.log(partition).stable < cluster.log(partition).end:
            tick()
            cluster.clock.advance(1)


def append_state(producer: FakeProducer, record: StateRecord) -> None:
    """Write a state record in the producer's open transaction."""
    stamp = NO_TIMESTAMP if record.timestamp_ms is None else record.timestamp_ms
    message = Message(key=record.key, value=record.value, headers=record.headers, timestamp_ms=stamp)
    producer.append(TopicPartition(record.topic, record.partition), message)
