"""A mirrored topic that the test knows record by record, and the judgement whether the mirror is exact."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import NewPartitions, NewTopic

from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.flow import Chunk, ClusterSettings, MirrorFlow
from airflow_provider_mm2.mirror.model import LogRecord, TopicPartition
from airflow_provider_mm2.mirror.state.ledger import decode_ledger
from airflow_provider_mm2.mirror.state_model import PartitionLedger
from tests.proof.eyes import LIMIT_S, Eyes, Record

BASE_MS = 1_700_000_000_000
"""Time of the first hour's records."""


@dataclass(slots=True)
class Truth:
    """One topic on the source, all that was ever committed to it, and the flow that mirrors it."""

    source: Eyes
    target: Eyes
    topic: str
    flow: MirrorFlow
    partitions: int
    written: dict[int, list[Record]] = field(default_factory=dict)
    _hour_ms: int = BASE_MS
    _random: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311

    @property
    def progress_group(self) -> str:
        """The flow's progress group."""
        return f"mm2.{self.flow.name}.progress"

    def progress(self) -> dict[TopicPartition, int]:
        """What the progress group says, by target partition."""
        return self.target.committed(self.progress_group, [self.target_of(part) for part in self.source_partitions])

    @property
    def source_partitions(self) -> list[TopicPartition]:
        """All partitions on the source."""
        return [TopicPartition(self.topic, index) for index in range(self.partitions)]

    def target_of(self, part: TopicPartition) -> TopicPartition:
        """A partition's place on the target."""
        return TopicPartition(f"us.{part.topic}", part.partition)

    def write(self, count: int, *, size: int = 100, hour: int = 0) -> None:
        """Write ``count`` records to every partition: plain ones, a committed transaction, an aborted one, plain ones.

        What is visible of it is noted; the log gets gaps at the transactions' ends.

        :param size: bytes of random value in each.
        :param hour: the hour after ``BASE_MS`` that the records are stamped in, in no order.
        """
        self._hour_ms = BASE_MS + hour * 3_600_000
        quarter = max(1, count // 4)
        self._plain(count - 2 * quarter, size)
        self._transaction(quarter, size, commit=True)
        self._transaction(max(1, quarter // 2), size, commit=False)
        self._plain(quarter, size)

    def write_to(self, index: int, count: int, *, hour: int = 0) -> None:
        """Write ``count`` plain records to one partition."""
        self._hour_ms = BASE_MS + hour * 3_600_000
        self._plain(count, 100, [index])

    def _plain(self, count: int, size: int, indexes: Iterable[int] | None = None) -> None:
        producer = Producer({**self.source.settings, "enable.idempotence": True, "linger.ms": 5})
        for index in range(self.partitions) if indexes is None else indexes:
            records = self._make(index, count, size)
            self._send(producer, index, records)
            self.written.setdefault(index, []).extend(records)
        assert producer.flush(LIMIT_S) == 0

    def _transaction(self, count: int, size: int, *, commit: bool) -> None:
        producer = Producer({**self.source.settings, "transactional.id": f"app-{uuid.uuid4().hex[:8]}"})
        producer.init_transactions(LIMIT_S)
        producer.begin_transaction()
        for index in range(self.partitions):
            records = self._make(index, count, size)
            self._send(producer, index, records)
            if commit:
                self.written.setdefault(index, []).extend(records)
        assert producer.flush(LIMIT_S) == 0
        producer.commit_transaction(LIMIT_S) if commit else producer.abort_transaction(LIMIT_S)

    def _make(self, index: int, count: int, size: int) -> list[Record]:
        return [self._one(index, number, size) for number in range(count)]

    def _one(self, index: int, number: int, size: int) -> Record:
        """A record like no other: keys and values of all kinds, double headers, timestamps out of order."""
        unique = b"%d/%s/" % (index, uuid.uuid4().hex.encode())
        value = None if number % 17 == 3 else unique + self._random.randbytes(size)
        key = unique if value is None else (None, b"", b"k%d" % (number % 5))[number % 3]
        headers = ((), (("a", b"1"), ("a", None)), (("h", b"\xff\x00"),))[number % 3]
        stamp = self._hour_ms + self._random.randrange(3_600_000)
        return Record(key=key, value=value, headers=headers, timestamp_ms=stamp)

    def _send(self, producer: Producer, index: int, records: list[Record]) -> None:
        for record in records:
            producer.produce(
                self.topic,
                record.value,
                record.key,
                index,
                on_delivery=_check,
                timestamp=record.timestamp_ms,
                headers=list(record.headers) or None,
            )
            producer.poll(0)

    def assert_exact(self) -> None:
        """Everything committed on the source is on the target exactly once, in order; the state says the same.

        :raises AssertionError: says what is missing, doubled or different.
        """
        sources = self.source_partitions
        targets = [self.target_of(part) for part in sources]
        stable = self.source.offsets(sources)
        here, there = self.source.read(sources), self.target.read(targets)
        ledger = self.ledger()
        committed = self.progress()
        for part, target in zip(sources, targets, strict=True):
            assert_same(f"{part} itself", list(here[part].values()), self.written.get(part.partition, []))
            assert_same(f"{target}", list(there[target].values()), list(here[part].values()))
            latest = ledger[part].latest
            assert latest.next_offset == stable[part], f"{part}: ledger {latest.next_offset}, source {stable[part]}"
            assert committed[target] == latest.next_offset, f"{target}: group {committed[target]}, ledger {latest}"
            assert ledger[part].records == len(here[part])
            mapped: dict[int, int] = {}
            for segment in (segment for entry in ledger[part].entries for segment in entry.segments):
                for index in range(segment.count):
                    assert segment.source_start + index not in mapped
                    mapped[segment.source_start + index] = segment.target_start + index
            assert list(mapped) == list(here[part]), f"{part}: the map does not have exactly the visible records"
            assert all(there[target].get(mapped[offset]) == record for offset, record in here[part].items())

    def grow(self, partitions: int) -> None:
        """Raise the source topic's partition count."""
        self.source.admin.create_partitions([NewPartitions(self.topic, partitions)])[self.topic].result(LIMIT_S)
        self.partitions = partitions

        def shown() -> bool:
            found = self.source.admin.list_topics(self.topic, timeout=LIMIT_S).topics[self.topic].partitions
            return len(found) == partitions and all(part.leader >= 0 for part in found.values())

        assert poll(shown, timeout_s=LIMIT_S), f"{self.topic} did not grow"

    def ledger(self) -> dict[TopicPartition, PartitionLedger]:
        """What the flow's ledger says, over all shards."""
        topic = f"mm2-offset-map.{self.flow.name}.internal"
        shards = [TopicPartition(topic, shard) for shard in range(self.flow.shards)]
        found: dict[TopicPartition, PartitionLedger] = {}
        for shard, state in self.target.read(shards).items():
            records = [LogRecord(offset=at, key=each.key, value=each.value) for at, each in state.items()]
            found.update(decode_ledger(topic, shard.partition, records))
        return found

    def assert_prefix(self) -> None:
        """What is on the target so far is a prefix of the source: nothing doubled, nothing skipped, nothing foreign."""
        targets = [self.target_of(part) for part in self.source_partitions]
        there = self.target.read(targets)
        for target in targets:
            found = list(there[target].values())
            assert_same(f"{target}", found, self.written.get(target.partition, [])[: len(found)])


def assert_same(where: str, found: list[Record], wanted: list[Record]) -> None:
    """Two lists of records are equal; if not, say how in numbers.

    :raises AssertionError: with counts of missing, doubled and foreign records.
    """
    if found == wanted:
        return
    distinct = set(found)
    doubled = len(found) - len(distinct)
    missing = len(set(wanted) - distinct)
    foreign = len(distinct - set(wanted))
    first = next((i for i, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]), len(found))
    raise AssertionError(
        f"{where}: {len(found)} records instead of {len(wanted)}: {doubled} doubled, {missing} missing, "
        f"{foreign} foreign or changed; the first difference is at record {first}"
    )


def make_truth(
    source: Mapping[str, str],
    target: Mapping[str, str],
    *,
    partitions: int = 2,
    topic_settings: Mapping[str, str] | None = None,
    **changes: Any,
) -> Truth:
    """Create a topic on the source and a flow for it, with small chunks.

    :param changes: keys of the flow that differ.
    """
    topic = f"orders-{uuid.uuid4().hex[:8]}"
    flow = {
        "name": f"flow-{topic}",
        "source": ClusterSettings(alias="us", settings={**source}),
        "target": ClusterSettings(alias="eu", settings={**target}),
        "topics": (topic,),
        "cut": "end",
        "chunk": Chunk(seconds=5, bytes=4096),
        **changes,
    }
    truth = Truth(
        source=Eyes(source),
        target=Eyes(target),
        topic=topic,
        flow=MirrorFlow.model_validate(flow),
        partitions=partitions,
    )
    wanted = NewTopic(topic, num_partitions=partitions, config=dict(topic_settings or {}))
    truth.source.admin.create_topics([wanted])[topic].result(LIMIT_S)
    return truth


def _check(error: KafkaError | None, message: Message) -> None:
    assert error is None, f"{message.topic()}: {error}"
