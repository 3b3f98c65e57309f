"""Three topics, mirrored, and applications that have read some of them."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import Message as KafkaMessage
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.model import TopicPartition
from tests.bench.offset_topics import BothSides, Shape, make_topic
from tests.cases.group_stage import GroupStage
from tests.contract.lab import Side
from tests.contract.real_lab import Settings, until

PARTITIONS, RECORDS = 2, 90
Values = dict[TopicPartition, list[bytes]]


@dataclass(slots=True)
class MirroredTopics:
    """One topic of each shape on a stage of its own."""

    stage: GroupStage
    both: dict[TopicPartition, BothSides] = field(default_factory=dict)

    @classmethod
    def make(cls, stage: GroupStage, shapes: Iterable[Shape] = Shape) -> MirroredTopics:
        """Write the topics; they are not mirrored yet."""
        scenario = stage.scenario
        scenario.topics = tuple(f"{scenario.topic}-{shape.value}" for shape in shapes)
        source = scenario.addresses["source"]
        for topic, shape in zip(scenario.topics, shapes, strict=True):
            make_topic(scenario.lab, source, topic, shape, partitions=PARTITIONS, records=RECORDS)
        return cls(stage)

    @property
    def partitions(self) -> list[TopicPartition]:
        """All partitions on the source."""
        return [self.stage.scenario.source(number, topic) for topic in self.topics for number in range(PARTITIONS)]

    @property
    def topics(self) -> tuple[str, ...]:
        """The source topics."""
        return self.stage.scenario.topics

    def target(self, part: TopicPartition) -> TopicPartition:
        """Where a source partition is mirrored to."""
        return self.stage.scenario.target(part.partition, part.topic)

    def look(self) -> None:
        """Read both sides, which must hold the same."""
        addresses = self.stage.scenario.addresses
        for part in self.partitions:
            self.both[part] = BothSides.of(addresses["source"], addresses["target"], part, self.target(part))
            assert self.both[part].is_whole

    def commit_randomly(self, name: str, seed: int) -> dict[TopicPartition, int]:
        """Let a group stand somewhere on every partition, be it at a record, a marker or in a hole."""
        dice = random.Random(seed)  # noqa: S311
        offsets = {part: dice.randrange(max(self.both[part].source) + 2) for part in self.partitions}
        self.commit(name, offsets)
        return offsets

    def commit(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Let a group have committed on the source."""
        self.stage.scenario.lab.commit_offsets(Side.SOURCE, self.stage.group(name), offsets)


def read_some(cluster: Settings, group: str, topics: Collection[str], count: int) -> Values:
    """What an application is given that joins ``group``, reads ``count`` records, some of each topic, and commits."""
    consumer = Consumer(
        {
            **cluster,
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(list(topics))
    values: Values = {}

    def is_done() -> bool:
        for message in consumer.consume(7, 1):
            _take(values, message)
        return _count(values) >= count and {part.topic for part in values} == {*topics}

    until(is_done, f"{count} records for {group}")
    consumer.commit(asynchronous=False)
    consumer.close()
    return values


def read_from(cluster: Settings, positions: Mapping[TopicPartition, int]) -> Values:
    """What an application is given that assigns these positions and reads to the end."""
    consumer = Consumer(
        {
            **cluster,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        }
    )
    consumer.assign([KafkaPartition(*part, offset) for part, offset in positions.items()])
    values: Values = {part: [] for part in positions}
    ended: set[TopicPartition] = set()

    def is_done() -> bool:
        for message in consumer.consume(500, 0.1):
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                ended.add(TopicPartition(message.topic() or "", message.partition() or 0))
            else:
                _take(values, message)
        return len(ended) == len(positions)

    until(is_done, "the end of all partitions")
    consumer.close()
    return values


def _take(values: Values, message: KafkaMessage) -> None:
    assert message.error() is None, message.error()
    value = message.value()
    assert isinstance(value, bytes)
    values.setdefault(TopicPartition(message.topic() or "", message.partition() or 0), []).append(value)


def _count(values: Values) -> int:
    return sum(map(len, values.values()))
