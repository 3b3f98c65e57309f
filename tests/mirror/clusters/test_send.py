"""The hot path: how a batch is told apart, and what of each message is sent on."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from airflow_provider_mm2.mirror.clusters.confluent.batch import Run
from airflow_provider_mm2.mirror.clusters.confluent.send import send_run, split_runs, timestamps_of
from airflow_provider_mm2.mirror.model import TopicPartition

TARGET = TopicPartition("us.orders", 3)


def record(offset: int, *, topic: str = "orders", partition: int = 0, headers: Any = None) -> Message:
    """A message of the source."""
    return Message(
        topic=topic,
        partition=partition,
        offset=offset,
        key=b"k%d" % offset,
        value=b"v%d" % offset,
        timestamp=(1, 1000 + offset),
        headers=headers,
    )


def trouble() -> Message:
    """An error that belongs to no partition."""
    return Message(error=KafkaError(KafkaError._TRANSPORT), partition=-1)


class Producer:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def produce(self, *call: Any) -> None:
        """Take one message; the call's tuple is the caller's to use again."""
        self.calls.append(tuple(call))


@pytest.mark.parametrize("one_topic", [True, False])
def test_runs_are_told_apart(one_topic: bool) -> None:
    """A batch comes apart where the partition changes, in order, also when one comes back."""
    batch = [record(number, partition=partition) for number, partition in enumerate((0, 0, 1, 1, 1, 0, 2))]
    runs = [
        (place.partition, [message.offset() for message in run])
        for place, run in split_runs(batch, one_topic=one_topic)
    ]
    assert runs == [(0, [0, 1]), (1, [2, 3, 4]), (0, [5]), (2, [6])]


def test_one_run_is_the_batch_itself() -> None:
    """A batch of one partition is not copied."""
    batch = [record(number) for number in range(3)]
    ((place, run),) = split_runs(batch, one_topic=True)
    assert place == TopicPartition("orders", 0)
    assert run is batch


def test_topics_are_told_apart() -> None:
    """Partitions of the same number of two topics are two runs."""
    batch = [record(0), record(1), record(7, topic="carts"), record(8, topic="carts"), record(2)]
    runs = [(place, [message.offset() for message in run]) for place, run in split_runs(batch, one_topic=False)]
    assert runs == [
        (TopicPartition("orders", 0), [0, 1]),
        (TopicPartition("carts", 0), [7, 8]),
        (TopicPartition("orders", 0), [2]),
    ]


def test_an_error_without_a_partition_hides_no_record() -> None:
    """Connection trouble at the head of a batch is a run of its own; the records behind it keep their topic."""
    runs = list(split_runs([trouble(), record(0), record(1)], one_topic=True))
    assert [place for place, _ in runs] == [TopicPartition("", -1), TopicPartition("orders", 0)]
    assert [message.offset() for message in runs[1][1]] == [0, 1]


def send(producer: Any, batch: list[Any]) -> Run:
    """Send a batch on as the copy does."""
    headers, values = [message.headers() for message in batch], [message.value() for message in batch]
    return send_run(producer, TARGET, batch, timestamps_of(batch), headers, values)


@pytest.mark.parametrize("headers", [None, [("a", b"1")]])
def test_every_part_of_a_message_is_sent(headers: Any) -> None:
    """Value, key, timestamp and headers of each message go to the target's partition, and two callbacks are set."""
    producer: Any = Producer()
    batch = [record(5), record(6, headers=headers), record(7)]
    sent = send(producer, batch)
    wanted = [("us.orders", b"v%d" % at, b"k%d" % at, 3, None, 1000 + at) for at in (5, 6, 7)]
    assert [(*call[:4], *call[5:7]) for call in producer.calls] == wanted
    assert [call[7] if len(call) > 7 else None for call in producer.calls] == [None, headers, None]
    assert [call[4] for call in producer.calls] == [sent.first_delivered, None, sent.last_delivered]
    assert (sent.count, sent.pieces) == (3, [(5, 3)])


def test_one_message_has_one_callback() -> None:
    """The delivery of a single message tells both ends of its run."""
    producer: Any = Producer()
    sent = send(producer, [record(9)])
    ((*_, callback, _, _),) = producer.calls
    callback(None, record(40))
    assert (sent.first, sent.last) == (40, 40)


def test_holes_part_a_run() -> None:
    """Source offsets that are missing, by compaction or markers, show as pieces."""
    producer: Any = Producer()
    batch = [record(offset) for offset in (3, 4, 8, 10, 11)]
    sent = send(producer, batch)
    assert sent.pieces == [(3, 2), (8, 1), (10, 2)]
