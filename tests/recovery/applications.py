"""Applications of a pair of clusters: one that writes numbered records, and consumer groups that read them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Part
from confluent_kafka.admin import AdminClient, NewTopic

from airflow_provider_mm2.local.wait import poll

Address = Mapping[str, object]
Numbers = dict[int, list[int]]
"""Record numbers by partition."""

LIMIT_S = 60


@dataclass(slots=True)
class Background:
    """Work in a thread of its own, until it is asked to stop."""

    stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def begin(self, work: Callable[[], None]) -> None:
        """Start it."""
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ask it to stop, and wait until it has."""
        self.stop.set()
        assert self._thread is not None
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()


@dataclass(slots=True)
class Writer:
    """Writes to every partition in turn, numbered each for itself, until it is stopped.

    With ``transactional`` every third transaction is aborted and its numbers are written again in the next one.
    """

    address: Address
    topic: str
    partitions: int
    transactional: bool = False
    start: Mapping[int, int] = field(default_factory=dict)
    pause_s: float = 0.005
    written: Numbers = field(default_factory=dict)
    stamps: dict[tuple[int, int], int] = field(default_factory=dict)
    _background: Background = field(default_factory=Background)

    def begin(self) -> Writer:
        """Write in a thread of its own."""
        self.written = {number: [] for number in range(self.partitions)}
        self._background.begin(self._write)
        return self

    def end(self) -> Numbers:
        """Stop, and wait until all that was sent is there; gives what was acknowledged."""
        self._background.end()
        return self.written

    @property
    def count(self) -> int:
        """How many records are acknowledged."""
        return sum(map(len, self.written.values()))

    def _write(self) -> None:
        settings: dict[str, object] = {**self.address, "acks": "all", "enable.idempotence": True, "linger.ms": 5}
        if self.transactional:
            settings["transactional.id"] = f"writer-{self.topic}"
        producer = Producer({**settings, "message.timeout.ms": 10_000, "log_level": 0})
        try:
            if self.transactional:
                producer.init_transactions(30)
            self._loop(producer)
        except KafkaException:
            if not self._background.stop.is_set():
                return  # the cluster is gone: what was acknowledged before is what counts

    def _loop(self, producer: Producer) -> None:
        following = {number: self.start.get(number, 0) for number in range(self.partitions)}
        rounds = 0
        while not self._background.stop.is_set():
            rounds += 1
            sent: list[Message] = []
            if self.transactional:
                producer.begin_transaction()
            for number in range(self.partitions):
                for each in range(following[number], following[number] + 10):
                    producer.produce(
                        self.topic,
                        value=f"{number}:{each}".encode(),
                        key=b"k",
                        partition=number,
                        on_delivery=partial(_keep_delivered, sent),
                    )
            aborts = self.transactional and rounds % 3 == 0
            if aborts:
                producer.flush(10)
                producer.abort_transaction(30)
            elif self.transactional:
                producer.commit_transaction(30)
            else:
                producer.flush(10)
            if not aborts:
                if len(sent) < 10 * self.partitions:
                    self._keep(sent)
                    return
                self._keep(sent)
                following = {number: end + 10 for number, end in following.items()}
            self._background.stop.wait(self.pause_s)

    def _keep(self, sent: list[Message]) -> None:
        for message in sent:
            partition, number = numbers_of(message)
            self.written[partition].append(number)
            self.stamps[partition, number] = message.timestamp()[1]


@dataclass(slots=True)
class Reader:
    """One member of a consumer group; commits what it has read, and all of it when it ends."""

    address: Address
    group: str
    topic: str
    protocol: str = "classic"
    read: Numbers = field(default_factory=dict)
    _background: Background = field(default_factory=Background)

    def begin(self) -> Reader:
        """Read in a thread of its own."""
        self._background.begin(self._loop)
        return self

    def end(self) -> Numbers:
        """Commit, leave the group; gives what was read, in order."""
        self._background.end()
        return self.read

    @property
    def count(self) -> int:
        """How many records it has read."""
        return sum(map(len, self.read.values()))

    def await_count(self, count: int) -> None:
        """Wait until it has read so many."""
        assert poll(lambda: self.count >= count, timeout_s=LIMIT_S), f"{self.group} read {self.count} of {count}"

    def _loop(self) -> None:
        settings: dict[str, object] = {**self.address, "group.id": self.group, "auto.offset.reset": "error"}
        if self.protocol == "classic":
            settings["session.timeout.ms"] = 6000
        consumer = Consumer(
            {
                **settings,
                "group.protocol": self.protocol,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        consumer.subscribe([self.topic])
        try:
            while not self._background.stop.is_set():
                self._take(consumer)
        finally:
            consumer.close()

    def _take(self, consumer: Consumer) -> None:
        messages = [message for message in consumer.consume(100, 0.2) if message.error() is None]
        for message in messages:
            partition, number = numbers_of(message)
            self.read.setdefault(partition, []).append(number)
        if messages:
            try:
                consumer.commit(asynchronous=False)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._NO_OFFSET:
                    raise


def _keep_delivered(sent: list[Message], error: KafkaError | None, message: Message) -> None:
    if error is None:
        sent.append(message)


def numbers_of(message: Message) -> tuple[int, int]:
    """Partition and number that a record was written with."""
    value = message.value()
    assert isinstance(value, bytes)
    partition, _, number = value.decode().partition(":")
    return int(partition), int(number)


def write_flow(folder: Path, topic: str, source: Address, target: Address, **options: object) -> Path:
    """Write the file of a flow that mirrors a topic, with the groups that end in its name."""
    path = folder / f"{topic}.yaml"
    document = {
        "name": topic,
        "source": {"alias": "us", "settings": {**source}},
        "target": {"alias": "eu", "settings": {**target}},
        "topics": [topic],
        "groups": [f".*-{topic}"],
        **options,
    }
    path.write_text(json.dumps(document), "utf-8")  # JSON is YAML
    return path


def make_topic(address: Address, topic: str, partitions: int, records: int = 0) -> None:
    """Create a topic, with so many records in each partition."""
    admin = AdminClient({**address})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(LIMIT_S)
    producer = Producer({**address})
    for each in range(records):
        for number in range(partitions):
            producer.produce(topic, value=f"{number}:{each}".encode(), key=b"k", partition=number)
    assert producer.flush(LIMIT_S) == 0


def commit_at_beginning(address: Address, group: str, topic: str, partitions: int) -> None:
    """Let a group stand at the beginning; on a new cluster its coordinator is loading for a moment."""
    consumer = Consumer({**address, "group.id": group})
    offsets = [Part(topic, number, 0) for number in range(partitions)]

    def committed() -> bool:
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
                raise
            return False
        return True

    assert poll(committed, timeout_s=LIMIT_S)
    consumer.close()


def read_all(address: Address, topic: str, partitions: int) -> Numbers:
    """Everything that a reader of committed records finds, by partition."""
    consumer = Consumer(
        {**address, "group.id": "nobody", "enable.auto.commit": False, "enable.partition.eof": True}
        | {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    )
    consumer.assign([Part(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
    found: Numbers = {number: [] for number in range(partitions)}
    ended: set[int] = set()
    deadline = time.monotonic() + LIMIT_S
    while len(ended) < partitions and time.monotonic() < deadline:
        for message in consumer.consume(1000, 1):
            if message.error() is not None:
                ended.add(message.partition() or 0)
                continue
            partition, number = numbers_of(message)
            found[partition].append(number)
    consumer.close()
    assert len(ended) == partitions
    return found


def together(*parts: Numbers) -> Numbers:
    """What was read one after the other."""
    partitions = sorted({number for part in parts for number in part})
    return {number: [each for part in parts for each in part.get(number, [])] for number in partitions}
