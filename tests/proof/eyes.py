"""What plain clients see of a cluster; none of the mirror's own clients."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, IsolationLevel, KafkaError, KafkaException
from confluent_kafka import Message as KafkaMessage
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.model import TopicPartition

LIMIT_S = 60.0
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]


class Record(NamedTuple):
    """All of a record that a mirror has to carry over."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int


class Eyes:
    """A look at one cluster."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.settings = dict(settings)
        self.admin = AdminClient({**self.settings})

    def offsets(
        self, partitions: Collection[TopicPartition], *, stable: bool = True, spec: OffsetSpec = LATEST
    ) -> dict[TopicPartition, int]:
        """Ends of logs: last stable offsets, or high watermarks; a broker that is away is waited for."""
        isolation = IsolationLevel.READ_COMMITTED if stable else IsolationLevel.READ_UNCOMMITTED
        found: dict[TopicPartition, int] = {}
        deadline = time.monotonic() + LIMIT_S
        while missing := [part for part in partitions if part not in found]:
            request = {KafkaPartition(*part): spec for part in missing}
            futures = self.admin.list_offsets(request, isolation_level=isolation, request_timeout=10)
            for key, future in futures.items():
                try:
                    found[TopicPartition(key.topic, key.partition)] = int(future.result(LIMIT_S).offset)
                except KafkaException:
                    if time.monotonic() > deadline:
                        raise
                    self.renew()
        return found

    def renew(self) -> None:
        """Take a new client: one that knew a broker before it died keeps its old leader epochs and coordinators."""
        self.admin = AdminClient({**self.settings})

    def read(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, dict[int, Record]]:
        """Everything that a ``read_committed`` reader is given, by partition and offset, in the order it came."""
        starts = self.offsets(partitions, stable=False, spec=EARLIEST)
        missing = self.offsets(partitions)
        found: dict[TopicPartition, dict[int, Record]] = {part: {} for part in partitions}
        consumer = Consumer(
            {
                **self.settings,
                "group.id": "eyes",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 10,
            }
        )
        consumer.assign([KafkaPartition(*part, start) for part, start in starts.items()])
        deadline = time.monotonic() + LIMIT_S
        try:
            while missing:
                assert time.monotonic() < deadline, f"the end of {sorted(missing)} was not reached"
                for message in consumer.consume(1000, 0.1):
                    part = TopicPartition(message.topic() or "", message.partition() or 0)
                    error, offset = message.error(), message.offset() or 0
                    if error is None:
                        assert offset not in found[part], f"{part} offset {offset} came twice"
                        found[part][offset] = _record(message)
                    elif error.code() == KafkaError._PARTITION_EOF and offset >= missing.get(part, offset + 1):
                        del missing[part]
        finally:
            consumer.close()
        return found

    def committed(self, group: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Stable offsets of a group, partitions without one left out; a coordinator that is away is waited for.

        By a consumer: an admin client that asks for them while the coordinator dies can crash the process.
        """
        consumer = Consumer({**self.settings, "group.id": group, "isolation.level": "read_committed"})
        deadline = time.monotonic() + LIMIT_S
        try:
            while True:
                try:
                    answer = consumer.committed([KafkaPartition(*part) for part in partitions], timeout=10)
                    break
                except KafkaException:
                    if time.monotonic() > deadline:
                        raise
        finally:
            consumer.close()
        return {TopicPartition(part.topic, part.partition): part.offset for part in answer if part.offset >= 0}

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set offsets of a group without members; a coordinator that is not there yet is waited for."""
        request = [ConsumerGroupTopicPartitions(group, [KafkaPartition(*part, at) for part, at in offsets.items()])]
        answers: list[Any] = []

        def taken() -> bool:
            answers.append(self.admin.alter_consumer_group_offsets(request)[group].result(LIMIT_S))
            return all(part.error is None for part in answers[-1].topic_partitions)

        assert poll(taken, timeout_s=LIMIT_S), f"{group} could not be set: {answers[-1]}"

    def delete_group(self, group: str) -> None:
        """Delete a group with its offsets."""
        self.admin.delete_consumer_groups([group], request_timeout=LIMIT_S)[group].result(LIMIT_S)

    def all_committed(self, group: str) -> dict[TopicPartition, int]:
        """Offsets of a group on whatever topic."""
        futures = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=LIMIT_S)
        answer: Any = futures[group].result(LIMIT_S)
        return {TopicPartition(part.topic, part.partition): part.offset for part in answer.topic_partitions}

    def groups(self) -> list[str]:
        """Names of all groups."""
        answer = self.admin.list_consumer_groups(request_timeout=LIMIT_S).result(LIMIT_S)
        return sorted(group.group_id for group in answer.valid)


def _record(message: KafkaMessage) -> Record:
    headers: Any = message.headers() or ()
    key: Any = message.key()
    value: Any = message.value()
    return Record(key=key, value=value, headers=tuple(headers), timestamp_ms=message.timestamp()[1])
