"""State records in one transaction of their own id (every write to the gate is one)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from airflow_provider_mm2.mirror.clusters.config import Settings
from airflow_provider_mm2.mirror.clusters.confluent.admin import Admin
from airflow_provider_mm2.mirror.clusters.confluent.transaction import Transactions
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import CommitNotVisible
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

SEE_LIMIT_S = 30


def send_record(producer: Producer, record: StateRecord, delivered: Callable[[Any, Message], None]) -> None:
    """Hand one record to a producer; its timestamp 0 is the client's word for now."""
    producer.produce(
        record.topic,
        record.value,
        record.key,
        record.partition,
        delivered,
        timestamp=record.timestamp_ms or 0,
        headers=list(record.headers),
    )


class ConfluentStateWriter:
    """See :class:`airflow_provider_mm2.mirror.clusters.ports.StateWriter`."""

    def __init__(self, *, admin: Admin, settings: Settings) -> None:
        self._admin = admin
        self._transactions = Transactions(alias=admin.alias, settings=settings, watch=admin.watch)
        self._ends: dict[TopicPartition, int] = {}

    def fence(self, tick: Tick) -> None:
        """End every earlier writer of this id."""
        self._transactions.fence(tick)

    def write(self, records: Iterable[StateRecord], tick: Tick) -> None:
        """Begin, write all, commit, and wait until every reader sees it.

        A commit is acknowledged before its markers are written. Whoever reads the gate after a fence must find what
        was written before that fence, so the write ends only when it can be seen.

        :raises CommitNotVisible: it could not be seen within the limit.
        """
        self._transactions.begin()
        try:
            for record in records:
                send_record(self._transactions.producer, record, self._delivered)
        except KafkaException as error:
            failure = self._transactions.failure(error, "write the state")
            self._transactions.abort()
            raise failure from error
        self._transactions.commit(tick)
        self._see(tick)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        """Note where the log ends at least; a failure is told by the commit."""
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error is None and topic is not None and partition is not None and offset is not None:
            self._ends[TopicPartition(topic, partition)] = offset + 1

    def _see(self, tick: Tick) -> None:
        deadline = time.monotonic() + SEE_LIMIT_S
        while True:
            stable = self._admin.log_offsets(list(self._ends))
            hidden = tuple(str(part) for part, end in self._ends.items() if stable[part].stable < end)
            if not hidden:
                return
            if time.monotonic() > deadline:
                raise CommitNotVisible(transactional_id=self._transactions.id, seconds=SEE_LIMIT_S, partitions=hidden)
            tick()
            self._transactions.serve(0.002)

    def close(self) -> None:
        """Abort what is open."""
        self._transactions.abort()
