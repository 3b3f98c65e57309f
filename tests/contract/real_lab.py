"""The lab on two real clusters: plain clients of confluent-kafka, none of the mirror's own code."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, NewTopic

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.clusters.confluent.load import ConfluentApplications
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.flow import ClusterSettings, MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupKind
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.contract.lab import FILLER, Side
from tests.contract.raw_produce import produce_raw
from tests.contract.real_eyes import end_of, read_committed
from tests.contract.real_settings import clean_quickly
from tests.fakes.log import Message, Outcome

LIMIT_S = 60.0
_LOADING = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
}
Settings = Mapping[str, str]


class RealOpenTransaction:
    """A transaction left open on a real cluster."""

    def __init__(self, producer: Producer, log_end: Callable[[], int]) -> None:
        self._producer: Producer | None = producer
        self._log_end = log_end

    def end(self, outcome: Outcome) -> None:
        """End it, once, and wait for its marker."""
        producer, self._producer = self._producer, None
        if producer is None:
            return
        before = self._log_end()
        if outcome is Outcome.COMMITTED:
            producer.commit_transaction(LIMIT_S)
        else:
            producer.abort_transaction(LIMIT_S)
        until(lambda: self._log_end() > before, "the transaction's marker")


class RealLab:
    """``Lab`` on the session's pair of clusters, with a ``ClusterPair`` of its own."""

    def __init__(self, addresses: Mapping[str, Settings], delivery: Delivery = Delivery.EXACTLY_ONCE) -> None:
        self.delivery = delivery
        self._settings = {side: dict(addresses[side.value]) for side in Side}
        self._admin = {side: AdminClient({**settings}) for side, settings in self._settings.items()}
        self._open: list[RealOpenTransaction] = []
        flow = MirrorFlow(
            name="contract",
            source=ClusterSettings(alias="us", settings={**self._settings[Side.SOURCE]}),
            target=ClusterSettings(alias="eu", settings={**self._settings[Side.TARGET]}),
            topics=(".*",),
            delivery=delivery,
        )
        self.pair: ClusterPair = connect(flow)

    def close(self) -> None:
        """End what was left open and let the pair go."""
        for transaction in self._open:
            transaction.end(Outcome.ABORTED)
        self.pair.close()

    def new_name(self) -> str:
        """A random name."""
        return f"name-{uuid.uuid4().hex[:10]}"

    def create_topic(self, side: Side, name: str, *, partitions: int = 1, settings: Settings | None = None) -> None:
        """Create a topic; a name that was deleted a moment ago is tried again."""
        wanted = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(settings or {}))

        def created() -> bool:
            try:
                done(self._admin[side].create_topics([wanted]))
            except KafkaException as error:
                if error.args[0].code() == error.args[0].TOPIC_ALREADY_EXISTS:
                    return False
                raise
            return True

        until(created, f"the creation of {name}")
        until(lambda: self._has_leaders(side, name, partitions), f"the leaders of {name}")

    def delete_topic(self, side: Side, name: str) -> None:
        """Delete a topic."""
        done(self._admin[side].delete_topics([name], operation_timeout=LIMIT_S))
        until(lambda: name not in self._admin[side].list_topics(timeout=LIMIT_S).topics, f"the end of {name}")

    def produce(self, side: Side, partition: TopicPartition, *messages: Message) -> None:
        """Write records."""
        if any(is_odd(message) for message in messages):
            for message in messages:
                produce_raw(self._settings[side]["bootstrap.servers"], partition, message)
            return
        producer = Producer(
            {**self._settings[side], "message.max.bytes": 10_000_000, "linger.ms": 5, "enable.idempotence": True}
        )
        write(producer, partition, messages)

    def transaction(self, side: Side, partition: TopicPartition, *messages: Message, outcome: Outcome) -> None:
        """Write records in a transaction."""
        self.open_transaction(side, partition, *messages).end(outcome)

    def open_transaction(self, side: Side, partition: TopicPartition, *messages: Message) -> RealOpenTransaction:
        """Write records in a transaction and leave it open."""
        producer = Producer({**self._settings[side], "transactional.id": self.new_name()})
        producer.init_transactions(LIMIT_S)
        producer.begin_transaction()
        write(producer, partition, messages)
        opened = RealOpenTransaction(producer, lambda: end_of(self._admin[side], partition))
        self._open.append(opened)
        return opened

    def delete_records(self, side: Side, partition: TopicPartition, before: int) -> None:
        """Delete records."""
        done(self._admin[side].delete_records([KafkaPartition(*partition, before)]))

    def compact(self, side: Side, partition: TopicPartition) -> None:
        """Write the filler and wait until the cleaner has left one record of each key."""
        clean_quickly(self._admin[side])
        self.produce(side, partition, FILLER)

        def is_clean() -> bool:
            keys = [message.key for _, message in self.visible(side, partition)]
            return len(keys) == len(set(keys))

        until(is_clean, "the cleaner")

    def commit_offsets(self, side: Side, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets; on a cluster's first group the coordinator is loading for a moment."""
        parts = [KafkaPartition(*partition, offset) for partition, offset in offsets.items()]
        request = [ConsumerGroupTopicPartitions(group, parts)]

        def is_done() -> bool:
            answers = done(self._admin[side].alter_consumer_group_offsets(request))
            errors = [part.error for answer in answers for part in answer.topic_partitions if part.error is not None]
            assert {error.code() for error in errors} <= _LOADING, errors
            return not errors

        until(is_done, f"the offsets of {group}")

    @contextmanager
    def member(self, side: Side, group: str, topic: str, kind: GroupKind) -> Iterator[None]:
        """Somebody who is in a group."""
        consumer = Consumer(
            {
                **self._settings[side],
                "group.id": group,
                "client.id": "somebody",
                "group.protocol": kind.value,
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
            }
        )
        consumer.subscribe([topic])

        def has_joined() -> bool:
            consumer.poll(0.1)
            return bool(consumer.assignment())

        until(has_joined, f"a member of {group}")
        yield
        consumer.close()

    def copy_readers(self, side: Side) -> ConfluentApplications:
        """Makes plain consumers on one side."""
        return ConfluentApplications(self._settings[side])

    def visible(self, side: Side, partition: TopicPartition) -> Sequence[tuple[int, Message]]:
        """Read to the end with a client of its own."""
        return read_committed(self._settings[side], self._admin[side], partition)

    @contextmanager
    def intruder(self, partition: TopicPartition) -> Iterator[None]:
        """Write single records from a thread, as fast as they are acknowledged."""
        producer, stopped = Producer({**self._settings[Side.TARGET], "linger.ms": 0}), threading.Event()

        def intrude() -> None:
            while not stopped.is_set():
                producer.produce(partition.topic, b"foreign", partition=partition.partition)
                producer.flush(1)

        thread = threading.Thread(target=intrude)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()

    def _has_leaders(self, side: Side, name: str, partitions: int) -> bool:
        found = self._admin[side].list_topics(name, timeout=LIMIT_S).topics[name].partitions
        return len(found) == partitions and all(part.leader >= 0 for part in found.values())


def is_odd(message: Message) -> bool:
    """Whether the client cannot write this record."""
    return message.timestamp_ms == 0 or any("\udcff" in key for key, _ in message.headers)


def write(producer: Producer, partition: TopicPartition, messages: Sequence[Message]) -> None:
    """Produce records and wait for their acknowledgement."""
    failed: list[object] = []
    for message in messages:
        producer.produce(
            partition.topic,
            message.value,
            message.key,
            partition.partition,
            on_delivery=lambda error, _: failed.append(error) if error else None,
            timestamp=message.timestamp_ms,
            headers=list(message.headers) or None,
        )
    assert producer.flush(LIMIT_S) == 0
    assert not failed


def done(futures: Mapping[Any, Future[Any]]) -> list[Any]:
    """Results of an admin call."""
    return [future.result(LIMIT_S) for future in futures.values()]


def until(condition: Callable[[], bool], what: str) -> None:
    """Ask again and again until it is so.

    :raises AssertionError: it was not within a minute.
    """
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"no sign of {what} within {LIMIT_S:.0f} s"
        time.sleep(0.02)
