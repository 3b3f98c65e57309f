"""State records without transactions: turn by turn, each record seen before the next turn begins."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from confluent_kafka import KafkaError, KafkaException, Message

from airflow_provider_mm2.mirror.clusters.config import Settings
from airflow_provider_mm2.mirror.clusters.confluent.admin import Admin
from airflow_provider_mm2.mirror.clusters.confluent.plain import PlainProducer
from airflow_provider_mm2.mirror.clusters.confluent.writer import send_record
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import TargetTransactionOpen
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

SEE_LIMIT_S = 30


class PlainStateWriter:
    """See :class:`airflow_provider_mm2.mirror.clusters.ports.StateWriter`.

    A write that ends early leaves its first turns and a part of the next one. ``StateRecord.turn`` says in which order
    that is a state which is true.
    """

    def __init__(self, *, admin: Admin, writer: str, settings: Settings) -> None:
        self._admin = admin
        self._plain = PlainProducer(
            alias=admin.alias, writer=writer, settings={**settings, "linger.ms": 0}, watch=admin.watch
        )
        self.ends: dict[TopicPartition, int] = {}

    def fence(self, tick: Tick) -> None:
        """There is nothing to fence with: whoever writes holds a lease, and reads again before it writes."""
        tick()

    def write(self, records: Iterable[StateRecord], tick: Tick) -> None:
        """Write all, in the order of their turns, and wait until every reader sees it.

        The tick runs right before each turn, so that a lease is kept as shortly before the write as can be.
        """
        by_turn: dict[int, list[StateRecord]] = {}
        for record in records:
            by_turn.setdefault(record.turn, []).append(record)
        for _, some in sorted(by_turn.items()):
            tick()
            self._send(some)
            self._plain.flush(tick)
        await_visible(self._admin, self.ends, tick)

    def _send(self, records: Iterable[StateRecord]) -> None:
        try:
            for record in records:
                send_record(self._plain.producer, record, self._delivered)
        except KafkaException as error:
            raise self._plain.failure(error, "write the state") from error

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        """Note what became of a record, and where the log ends at least."""
        self._plain.failures.setdefault(error, message)
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error is None and topic is not None and partition is not None and offset is not None:
            self.ends[TopicPartition(topic, partition)] = offset + 1

    def close(self) -> None:
        """Send no more of what is queued."""
        self._plain.drop()


def await_visible(admin: Admin, ends: Mapping[TopicPartition, int], tick: Tick) -> None:
    """Wait until a ``read_committed`` reader sees everything below these ends.

    :raises TargetTransactionOpen: a transaction of somebody else, or of an attempt with ``exactly_once`` that died,
        holds a log back for longer than the limit.
    """
    deadline = time.monotonic() + SEE_LIMIT_S
    while True:
        logs = admin.log_offsets(list(ends)) if ends else {}
        hidden = [part for part, end in ends.items() if logs[part].stable < end]
        if not hidden:
            return
        if time.monotonic() > deadline:
            part, log = hidden[0], logs[hidden[0]]
            raise TargetTransactionOpen(
                target_topic=part.topic, partition=part.partition, stable=log.stable, end=log.end
            )
        tick()
        time.sleep(0.05)
