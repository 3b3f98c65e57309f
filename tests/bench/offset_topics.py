"""Topics of three shapes, as a reader sees them on both sides, and what a translated position gives of them.

Offsets run on between two neighbours in a plain topic alone: a transactional one has markers and aborted records
between, a compacted one holes.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.lab import BASE_MS, COMPACTED, Side
from tests.contract.real_eyes import end_of, read_committed, stable_end_of
from tests.contract.real_lab import LIMIT_S, RealLab, Settings, until


class Shape(str, Enum):
    """What the offsets of a topic are like."""

    PLAIN = "plain"
    TRANSACTIONAL = "transactional"
    COMPACTED = "compacted"


def make_topic(
    lab: RealLab,
    source: Settings,
    topic: str,
    shape: Shape,
    *,
    partitions: int,
    records: int,
    in_one_transaction: int = 10,
) -> None:
    """Create a source topic and write ``records`` to each partition, of which aborting and compaction take some.

    Every value is unique. A third of the transactions is aborted; a record of the compacted topic has one of
    ``records`` / 4 keys.

    :param in_one_transaction: records of each partition.
    """
    settings = COMPACTED if shape is Shape.COMPACTED else None
    lab.create_topic(Side.SOURCE, topic, partitions=partitions, settings=settings)
    parts = [TopicPartition(topic, number) for number in range(partitions)]
    if shape is Shape.TRANSACTIONAL:
        _write_transactions(source, parts, records, in_one_transaction)
    else:
        _write(source, parts, records, keys=max(1, records // 4))
    if shape is Shape.COMPACTED:
        for part in parts:
            lab.compact(Side.SOURCE, part)
    admin = AdminClient({**source})
    until(lambda: all(stable_end_of(admin, part) == end_of(admin, part) for part in parts), f"the end of {topic}")


def _write(source: Settings, parts: list[TopicPartition], records: int, *, keys: int) -> None:
    dice = random.Random(records)  # noqa: S311 - the same holes every time
    producer = Producer({**source, "enable.idempotence": True, "linger.ms": 5})
    for number in range(records):
        for part in parts:
            _produce(producer, part, number, b"k%d" % dice.randrange(keys))
        producer.poll(0)
    assert producer.flush(LIMIT_S) == 0


def _write_transactions(source: Settings, parts: list[TopicPartition], records: int, in_one: int) -> None:
    producer = Producer({**source, "transactional.id": f"app-{uuid.uuid4().hex[:8]}"})
    producer.init_transactions(LIMIT_S)
    for count, first in enumerate(range(0, records, in_one)):
        producer.begin_transaction()
        for number in range(first, min(records, first + in_one)):
            for part in parts:
                _produce(producer, part, number, None)
        producer.flush(LIMIT_S)
        if count % 3 == 1:
            producer.abort_transaction(LIMIT_S)
        else:
            producer.commit_transaction(LIMIT_S)


def _produce(producer: Producer, part: TopicPartition, number: int, key: bytes | None) -> None:
    producer.produce(part.topic, b"%d/%d" % (part.partition, number), key, part.partition, timestamp=BASE_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a consumer is given that goes on at a translated position.

    :param again: records that its group has read already.
    :param skipped: records that it has not read, that are on the target and lie before the position.
    :param missing: records that it has not read and that are not on the target.
    """

    again: int
    skipped: int
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BothSides:
    """One partition's records as a ``read_committed`` reader sees them: value by offset."""

    source: Mapping[int, bytes]
    target: Mapping[int, bytes]

    @classmethod
    def of(
        cls, source: Settings, target: Settings, source_part: TopicPartition, target_part: TopicPartition
    ) -> BothSides:
        """Read both sides to their ends."""
        return cls(source=_values(source, source_part), target=_values(target, target_part))

    @property
    def is_whole(self) -> bool:
        """Whether the target has each record of the source once and in order."""
        return list(self.source.values()) == list(self.target.values())

    def given(self, source_offset: int, target_offset: int) -> Given:
        """What a group that stands at ``source_offset`` is given from ``target_offset`` on."""
        unread = {value for offset, value in self.source.items() if offset >= source_offset}
        here = list(self.target.values())
        from_here = [value for offset, value in self.target.items() if offset >= target_offset]
        mirrored = unread.intersection(here)
        return Given(
            again=len(from_here) - len(mirrored.intersection(from_here)),
            skipped=len(mirrored.difference(from_here)),
            missing=len(unread) - len(mirrored),
        )


def _values(cluster: Settings, part: TopicPartition) -> dict[int, bytes]:
    found = read_committed(cluster, AdminClient({**cluster}), part)
    return {offset: message.value or b"" for offset, message in found}
