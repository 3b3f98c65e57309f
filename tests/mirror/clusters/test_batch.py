"""One partition's part of a batch of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError

from airflow_provider_mm2.mirror.clusters.confluent.batch import PartitionCopy
from airflow_provider_mm2.mirror.model import CopyRange, RangeEnd, TopicPartition

FUTURE_MS = 10_000_000


@dataclass
class Stub:
    """What is read of a message."""

    at: int
    problem: KafkaError | None = None

    def offset(self) -> int:
        """Its offset."""
        return self.at

    def error(self) -> KafkaError | None:
        """Its error."""
        return self.problem


def part() -> PartitionCopy:
    """A partition to be copied from 0 to 10."""
    source, target = TopicPartition("orders", 0), TopicPartition("us.orders", 0)
    return PartitionCopy(
        CopyRange(source=source, target=target, start=0, end=10, cut_ms=None, leader_epoch=None), FUTURE_MS
    )


def test_records_behind_an_error_that_passes_are_taken() -> None:
    """A transient error among records leaves no hole: what comes behind it in the batch is taken too."""
    some = part()
    passing = KafkaError(KafkaError._TRANSPORT)
    messages: list[Any] = [Stub(0), Stub(-1, passing), Stub(1), Stub(2)]
    taken, stamps, error = some.accept(messages, [5, -1, 6, 7])
    assert [message.at for message in taken] == [0, 1, 2]  # type: ignore[attr-defined]
    assert (stamps, error, some.position) == ([5, 6, 7], passing, 3)


def test_nothing_is_taken_behind_the_end() -> None:
    """A late end of the partition or a record after the bound moves nothing."""
    some = part()
    end = KafkaError(KafkaError._PARTITION_EOF)
    messages: list[Any] = [Stub(8), Stub(10, end), Stub(11), Stub(12, end)]
    taken, _, error = some.accept(messages, [5, -1, 6, -1])
    assert [message.at for message in taken] == [8]  # type: ignore[attr-defined]
    assert (error, some.position, some.ended) == (None, 10, RangeEnd.BOUND)
