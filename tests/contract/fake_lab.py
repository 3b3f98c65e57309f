"""The lab on the fake pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.group_model import GroupKind
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.contract.lab import FILLER, Side
from tests.fakes.applications import FakeCopyReaders
from tests.fakes.cluster import FakeCluster
from tests.fakes.groups import FakeGroup
from tests.fakes.hooks import do_nothing
from tests.fakes.log import Message, Outcome, Transaction
from tests.fakes.pair import FakePair


class FakeOpenTransaction:
    """A transaction left open on a fake cluster."""

    def __init__(self, cluster: FakeCluster, transaction: Transaction) -> None:
        self._cluster = cluster
        self._transaction = transaction

    def end(self, outcome: Outcome) -> None:
        """End it."""
        self._cluster.end(self._transaction, outcome)


class FakeLab:
    """``Lab`` on a fake pair of its own."""

    def __init__(self, delivery: Delivery = Delivery.EXACTLY_ONCE) -> None:
        self.delivery = delivery
        self._fake = FakePair(delivery=delivery)
        self._names = count(1)
        self.pair: ClusterPair = self._fake

    def new_name(self) -> str:
        """The next name."""
        return f"name-{next(self._names)}"

    def create_topic(
        self, side: Side, name: str, *, partitions: int = 1, settings: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic."""
        self._cluster(side).create_topic(name, partitions, settings)

    def delete_topic(self, side: Side, name: str) -> None:
        """Delete a topic."""
        self._cluster(side).delete_topic(name)

    def produce(self, side: Side, partition: TopicPartition, *messages: Message) -> None:
        """Write records."""
        self._cluster(side).produce(*partition, *messages)

    def transaction(self, side: Side, partition: TopicPartition, *messages: Message, outcome: Outcome) -> None:
        """Write records in a transaction."""
        self._cluster(side).transaction(*partition, *messages, outcome=outcome)

    def open_transaction(self, side: Side, partition: TopicPartition, *messages: Message) -> FakeOpenTransaction:
        """Write records in a transaction and leave it open."""
        cluster = self._cluster(side)
        return FakeOpenTransaction(cluster, cluster.transaction(*partition, *messages, outcome=Outcome.OPEN))

    def delete_records(self, side: Side, partition: TopicPartition, before: int) -> None:
        """Move the log start."""
        self._cluster(side).advance_log_start(*partition, before)

    def compact(self, side: Side, partition: TopicPartition) -> None:
        """Write the filler and compact."""
        self._cluster(side).produce(*partition, FILLER)
        self._cluster(side).compact(*partition)

    def commit_offsets(self, side: Side, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets."""
        self._cluster(side).commit_offsets(group, offsets)

    @contextmanager
    def member(self, side: Side, group: str, topic: str, kind: GroupKind) -> Iterator[None]:
        """Somebody who is in a group; a group stays without offsets too."""
        cluster = self._cluster(side)
        said = cluster.said.setdefault(group, FakeGroup())
        cluster.groups.setdefault(group, {})
        said.kind = kind
        said.members.append("somebody (127.0.0.1)")
        yield
        said.members.clear()
        said.once_used = kind is GroupKind.CLASSIC

    def copy_readers(self, side: Side) -> FakeCopyReaders:
        """Makes consumers on one side."""
        return FakeCopyReaders(self._cluster(side))

    def visible(self, side: Side, partition: TopicPartition) -> Sequence[tuple[int, Message]]:
        """What a reader sees."""
        return self._cluster(side).visible(*partition)

    @contextmanager
    def intruder(self, partition: TopicPartition) -> Iterator[None]:
        """Write a record to the target before every third one that is copied."""
        copied = count()

        def write(step: str) -> None:
            if step == "produce" and next(copied) % 3 == 2:
                self._fake.eu.produce(*partition, Message(value=b"foreign"))

        self._fake.hooks.before = write
        yield
        self._fake.hooks.before = do_nothing

    def _cluster(self, side: Side) -> FakeCluster:
        return self._fake.us if side is Side.SOURCE else self._fake.eu
