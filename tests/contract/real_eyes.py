"""What a plain client sees of a real cluster."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import cast

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException
from confluent_kafka import Message as KafkaMessage
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from airflow_provider_mm2.mirror.clusters.confluent.failures import is_away
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.fakes.log import Message

LIMIT_S = 60.0
EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
UNHEARD = (KafkaError._NOENT, KafkaError.UNKNOWN_TOPIC_OR_PART)


def end_of(admin: AdminClient, partition: TopicPartition) -> int:
    """The high watermark."""
    return _offset(admin, partition, LATEST, IsolationLevel.READ_UNCOMMITTED)


def stable_end_of(admin: AdminClient, partition: TopicPartition) -> int:
    """The last stable offset."""
    return _offset(admin, partition, LATEST, IsolationLevel.READ_COMMITTED)


def read_committed(
    settings: Mapping[str, str], admin: AdminClient, partition: TopicPartition
) -> list[tuple[int, Message]]:
    """All records from the log start to the last stable offset.

    :raises AssertionError: the end was not reached within a minute.
    """
    start = _offset(admin, partition, EARLIEST, IsolationLevel.READ_UNCOMMITTED)
    stable = _offset(admin, partition, LATEST, IsolationLevel.READ_COMMITTED)
    consumer = Consumer(
        {
            **settings,
            "group.id": "lab",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 10,
        }
    )
    consumer.assign([KafkaPartition(*partition, start)])
    found: list[tuple[int, Message]] = []
    deadline = time.monotonic() + LIMIT_S
    try:
        while True:
            assert time.monotonic() < deadline, f"the end of {partition} was not reached"
            for message in consumer.consume(1000, 0.1):
                error = message.error()
                if error is None:
                    found.append((message.offset() or 0, _plain(message)))
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise AssertionError(str(error))
                elif (message.offset() or 0) >= stable:
                    return found
    finally:
        consumer.close()


def _plain(message: KafkaMessage) -> Message:
    _, timestamp = message.timestamp()
    headers = cast("list[tuple[str, bytes | None]] | None", message.headers())
    return Message(
        key=_bytes(message.key()),
        value=_bytes(message.value()),
        headers=tuple(headers or ()),
        timestamp_ms=timestamp,
    )


def _bytes(data: object) -> bytes | None:
    assert data is None or isinstance(data, bytes)
    return data


def _offset(admin: AdminClient, partition: TopicPartition, spec: OffsetSpec, isolation: IsolationLevel) -> int:
    return log_offsets(admin, [partition], spec, isolation)[partition]


def log_offsets(
    admin: AdminClient, partitions: Collection[TopicPartition], spec: OffsetSpec, isolation: IsolationLevel
) -> dict[TopicPartition, int]:
    """One offset of each log; a leader that is not there yet is waited for, since a topic is told of before it has one.

    :raises KafkaException: no leader answered within a minute, or one refused.
    """
    found: dict[TopicPartition, int] = {}
    deadline = time.monotonic() + LIMIT_S
    while missing := [part for part in partitions if part not in found]:
        futures = admin.list_offsets({KafkaPartition(*part): spec for part in missing}, isolation_level=isolation)
        for key, future in futures.items():
            try:
                found[TopicPartition(key.topic, key.partition)] = int(future.result(LIMIT_S).offset)
            except KafkaException as error:
                inner = error.args[0]
                if time.monotonic() > deadline or not (is_away(inner) or inner.code() in UNHEARD):
                    raise
                admin.list_topics(timeout=LIMIT_S)  # else the client goes by what it heard before
    return found
