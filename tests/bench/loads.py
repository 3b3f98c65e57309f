"""What is copied: four loads of a size that keeps the copy busy for about twenty seconds on two cores."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from airflow_provider_mm2.local.jars import kafka_classpath
from airflow_provider_mm2.local.java import run_java

Settings = Mapping[str, str]

PARTITIONS = 4
QUIET = {"log_level": 3}
"""Clients say errors only: that a topic is being made, or a client was let go, is no news here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Records of one kind; ``value_bytes`` is the size of each value, and there is no key and no header."""

    name: str
    value_bytes: int
    codec: str
    records: int

    @property
    def slug(self) -> str:
        """The name as part of a topic's."""
        return self.name.replace(" ", "-")

    def sized(self, share: float) -> Load:
        """The same load with a share of its records."""
        return replace(self, records=max(2_000, int(self.records * share)))


LOADS = (
    Load(name="100 B", value_bytes=100, codec="none", records=14_000_000),
    Load(name="1 kB", value_bytes=1_000, codec="none", records=6_000_000),
    Load(name="10 kB", value_bytes=10_000, codec="none", records=700_000),
    Load(name="1 kB lz4", value_bytes=1_000, codec="lz4", records=5_000_000),
)


class Filler:
    """Makes topics and fills them with Kafka's own performance producer, at its default batch size of 16 kB.

    :param folder: where payloads and logs go; Java is tied to it.
    :param cluster: librdkafka settings of the cluster that is filled.
    """

    def __init__(self, folder: Path, cluster: Settings) -> None:
        self._folder = folder
        self._cluster = cluster

    def fill(self, topic: str, load: Load) -> None:
        """Create ``topic`` and write the load's records to it.

        :raises RuntimeError: the producer failed; its log is in the folder.
        """
        create_topic(self._cluster, topic)
        payloads = self._folder / f"payload-{load.value_bytes}.txt"
        payloads.write_text("\n".join(_values(load.value_bytes)), encoding="ascii")
        log_file = self._folder / "fill.log"
        producer = run_java(
            "org.apache.kafka.tools.ProducerPerformance",
            [
                *("--topic", topic, "--num-records", str(load.records), "--throughput", "-1"),
                *("--payload-file", payloads, "--producer-props", f"compression.type={load.codec}"),
                *(f"bootstrap.servers={self._cluster['bootstrap.servers']}", "buffer.memory=134217728"),
            ],
            folder=self._folder,
            log_file=log_file,
            classpath=kafka_classpath(),
        )
        if producer.wait() != 0:
            raise RuntimeError(f"filling {topic} failed, see {log_file}")


def _values(size: int) -> list[str]:
    """Two thousand values that look like JSON and that lz4 makes about half as large."""
    dice = random.Random(size)  # noqa: S311 - the same values every time
    names = [f"{dice.getrandbits(28):07x}" for _ in range(20)]
    values = []
    for _ in range(2_000):
        fields: list[str] = []
        while sum(map(len, fields)) < size:
            fields.append(f'"{dice.choice(names)}":"{dice.getrandbits(40):010x}",')
        values.append(("{" + "".join(fields))[:size])
    return values


def create_topic(cluster: Settings, topic: str) -> None:
    """Create a topic of four partitions and wait until it has leaders."""
    admin = AdminClient({**cluster, **QUIET})
    admin.create_topics([NewTopic(topic, num_partitions=PARTITIONS, replication_factor=1)])[topic].result()
    while not _has_leaders(admin, topic):
        admin.poll(0.1)


def _has_leaders(admin: AdminClient, topic: str) -> bool:
    known = admin.list_topics(timeout=10).topics.get(topic)
    return known is not None and [part.leader >= 0 for part in known.partitions.values()] == [True] * PARTITIONS


def delete_topic(cluster: Settings, topic: str) -> None:
    """Delete a topic, so that its files leave the page cache to the next load; a missing one is fine."""
    admin = AdminClient({**cluster, **QUIET})
    try:
        admin.delete_topics([topic])[topic].result()
    except KafkaException as error:
        if error.args[0].code() != error.args[0].UNKNOWN_TOPIC_OR_PART:
            raise


def visible_records(cluster: Settings, topic: str) -> int:
    """How many records a ``read_committed`` reader sees in a topic of four partitions."""
    reading = {"group.id": "count", "isolation.level": "read_committed", "enable.partition.eof": True}
    reader = Consumer({**cluster, **reading, **QUIET})
    reader.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    seen = ended = 0
    while ended < PARTITIONS:
        for message in reader.consume(10_000, 0.1):
            error = message.error()
            if error is None:
                seen += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                ended += 1
            else:
                raise KafkaException(error)
    reader.close()
    return seen
