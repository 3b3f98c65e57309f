"""What a contract test needs beside the Protocols: to bring the clusters into a state, and to look at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Protocol

from airflow_provider_mm2.mirror.clusters.applications import CopyReaders
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.group_model import GroupKind
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.fakes.log import Message, Outcome

BASE_MS = 1_700_000_000_000
"""Time of the tests' records; far enough back that no broker's limit on future timestamps is near."""

FILLER = Message(key=b"filler", value=b"", timestamp_ms=BASE_MS + 3_600_000)
"""Written by ``compact`` at the log's end, since brokers never clean the segment that is being written."""


class Side(Enum):
    """Which of the two clusters."""

    SOURCE = "source"
    TARGET = "target"


class OpenTransaction(Protocol):
    """A transaction that a test left open."""

    def end(self, outcome: Outcome) -> None:
        """Commit or abort it, and wait until its marker is written."""


class Lab(Protocol):
    """Test-side hands and eyes on one pair."""

    pair: ClusterPair
    delivery: Delivery

    def new_name(self) -> str:
        """A name that no other test uses."""

    def create_topic(
        self, side: Side, name: str, *, partitions: int = 1, settings: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic."""

    def delete_topic(self, side: Side, name: str) -> None:
        """Delete a topic and wait until it is gone."""

    def produce(self, side: Side, partition: TopicPartition, *messages: Message) -> None:
        """Write records outside any transaction, in order."""

    def transaction(self, side: Side, partition: TopicPartition, *messages: Message, outcome: Outcome) -> None:
        """Write records in a transaction, end it, and wait until its marker is written."""

    def open_transaction(self, side: Side, partition: TopicPartition, *messages: Message) -> OpenTransaction:
        """Write records in a transaction that stays open until the test ends it, or ends itself."""

    def delete_records(self, side: Side, partition: TopicPartition, before: int) -> None:
        """Let the log start at ``before``."""

    def compact(self, side: Side, partition: TopicPartition) -> None:
        """Write ``FILLER``, and let the cleaner pass over all before it. The topic has ``COMPACTED``."""

    def commit_offsets(self, side: Side, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets as an application's consumer does."""

    def member(self, side: Side, group: str, topic: str, kind: GroupKind) -> AbstractContextManager[None]:
        """Somebody who is in a group, subscribed to a topic, and leaves it in the end."""

    def copy_readers(self, side: Side) -> CopyReaders:
        """Makes plain consumers on one side."""

    def visible(self, side: Side, partition: TopicPartition) -> Sequence[tuple[int, Message]]:
        """All records that a ``read_committed`` reader is given, with their offsets."""

    def intruder(self, partition: TopicPartition) -> AbstractContextManager[None]:
        """Somebody who writes to a target partition all the time."""


COMPACTED: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.001",
    "segment.ms": "60000",
    "delete.retention.ms": "0",
}
"""Settings under which ``Lab.compact`` works: a record stamped an hour later begins a new segment."""


def messages(count: int, *, first: int = 0, step_ms: int = 1000) -> list[Message]:
    """Records that differ, ``step_ms`` apart from ``BASE_MS`` on."""
    return [
        Message(key=b"k%d" % number, value=b"v%d" % number, timestamp_ms=BASE_MS + number * step_ms)
        for number in range(first, first + count)
    ]
