"""Which record of a failed chunk the target found too large: the broker names a partition, not a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from confluent_kafka import Message

from airflow_provider_mm2.mirror.clusters.confluent.batch import PartitionCopy
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import RecordTooLarge
from airflow_provider_mm2.mirror.model import TopicPartition

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.confluent.cluster import ConfluentCluster

LIMIT = "max.message.bytes"


def record_bytes(message: Message) -> int:
    """Bytes of a record's key, value and headers."""
    headers: Iterable[tuple[str, bytes | None]] = message.headers() or ()  # type: ignore[assignment]
    parts = [message.key(), message.value(), *(part for header in headers for part in header)]
    return sum(len(part.encode() if isinstance(part, str) else part) for part in parts if part is not None)


def find_too_large(
    source: ConfluentCluster, target: ConfluentCluster, parts: Sequence[PartitionCopy], tick: Tick
) -> RecordTooLarge:
    """Read the chunk's part of the source again, and give the record that is furthest over its topic's limit."""
    settings = target.topic_settings({part.range.target.topic for part in parts})
    worst: tuple[int, TopicPartition, int, int] | None = None
    for part in parts:
        limit = settings[part.range.target.topic][LIMIT].value
        for message in source.records(part.range.source, part.chunk_start, part.position, tick):
            size = record_bytes(message)
            over = size - int(limit or 0)
            if worst is None or over > worst[0]:
                worst = (over, part.range.source, message.offset() or 0, size)
    if worst is None:
        raise RuntimeError("a record was too large in a chunk without records")
    return too_large(*worst[1:])


def largest_of(source: TopicPartition, messages: Iterable[Message]) -> RecordTooLarge:
    """The error for the largest of some messages that were not sent."""
    message = max(messages, key=record_bytes)
    return too_large(source, message.offset() or 0, record_bytes(message))


def too_large(source: TopicPartition, offset: int, size: int) -> RecordTooLarge:
    """The error for one record."""
    return RecordTooLarge(topic=source.topic, partition=source.partition, offset=offset, bytes=size, setting=LIMIT)
