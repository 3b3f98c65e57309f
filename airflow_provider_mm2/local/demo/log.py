"""Load a topic and read one back with a plain client: what the demo says of the mirror rests on none of its code."""

from __future__ import annotations

import hashlib
import struct
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from airflow_provider_mm2.local.demo.flights import Flight

SILENCE_LIMIT_S = 30.0


@dataclass(slots=True, kw_only=True)
class PartitionContent:
    """What a reader saw of one partition, from its start to its end.

    ``digest`` covers key, value, headers and timestamp of every record in their order: one record lost, doubled,
    changed or out of place gives another digest.
    """

    months: Counter[str] = field(default_factory=Counter)
    digest: Any = field(default_factory=hashlib.sha256)

    @property
    def records(self) -> int:
        """How many there are."""
        return self.months.total()

    @property
    def fingerprint(self) -> str:
        """The digest, short enough for a table."""
        return str(self.digest.hexdigest()[:16])

    def add(self, message: Message) -> None:
        """Count one record."""
        timestamp_ms = message.timestamp()[1]
        moment = datetime.fromtimestamp(timestamp_ms / 1000, tz=timezone.utc)
        self.months[f"{moment:%Y-%m}"] += 1
        headers: Any = message.headers() or ()  # name and value each
        parts = [message.key(), message.value(), *(part for header in headers for part in header)]
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            self.digest.update(b"-" if data is None else struct.pack(">I", len(data)) + data)
        self.digest.update(struct.pack(">Bq", len(parts), timestamp_ms))


TopicContent = dict[int, PartitionContent]


def create_topic(settings: Mapping[str, str], topic: str, *, partitions: int, config: Mapping[str, str]) -> None:
    """Create a topic and return when it is there."""
    new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=dict(config))
    # Kept while the answer is waited for: its end would end the request.
    admin = AdminClient({**settings, "log_level": 3})
    for done in admin.create_topics([new]).values():
        done.result(30)


def load(settings: Mapping[str, str], topic: str, flights: Iterable[Flight]) -> None:
    """Write every flight, in order, to the partition its key belongs to; return when all are acknowledged."""
    failures: list[KafkaError] = []
    producer = Producer(
        {
            **settings,
            "enable.idempotence": True,
            "linger.ms": 20,
            "compression.type": "lz4",
            "batch.size": 1 << 20,
            "log_level": 3,  # a new cluster answers "retry" for a moment: worth no warning
        }
    )

    def note(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error)

    for flight in flights:
        record: dict[str, Any] = {
            "key": flight.key,
            "value": flight.value,
            "headers": list(flight.headers),
            "timestamp": flight.timestamp_ms,
            "on_delivery": note,
        }
        while True:
            try:
                producer.produce(topic, **record)
                break
            except BufferError:  # the queue is full: let some of it go
                producer.poll(0.1)
        producer.poll(0)
    if producer.flush(60) or failures:
        raise KafkaException(failures[0] if failures else KafkaError(KafkaError._TIMED_OUT))


def read(settings: Mapping[str, str], topic: str) -> TopicContent:
    """Read a topic from its start to its end as an ordinary reader does, committed records only."""
    consumer = Consumer(
        {
            **settings,
            "group.id": "mm2-demo-reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    try:
        partitions = sorted(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
        content = {partition: PartitionContent() for partition in partitions}
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        unfinished = set(partitions)
        silent_since = time.monotonic()
        while unfinished:
            messages = consumer.consume(10_000, timeout=0.2)  # waits for all of them or for all of the time
            if messages:
                silent_since = time.monotonic()
            elif time.monotonic() - silent_since > SILENCE_LIMIT_S:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{topic} fell silent before its end"))
            for message in messages:
                error, partition = message.error(), message.partition()
                if error is None:
                    content[partition].add(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    unfinished.discard(partition)
                else:
                    raise KafkaException(error)
        return content
    finally:
        consumer.close()
