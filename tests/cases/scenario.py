"""One flow of its own on real Kafka, told as a case tells it: produce, run, look at the target."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from threading import Event
from typing import Any, TypeVar

import pytest
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.interval.replicate import Report
from airflow_provider_mm2.mirror.model import PartitionResult, TopicPartition
from airflow_provider_mm2.mirror.run import RunSummary, no_report, run_mirror
from tests.cases.snapshot import group_offsets, take_snapshot
from tests.contract.lab import Side
from tests.contract.real_lab import RealLab, RealOpenTransaction, Settings
from tests.fakes.log import Message, Outcome

MIDNIGHT = datetime(2024, 1, 1, tzinfo=timezone.utc)
"""The cases' 00:00."""

Error = TypeVar("Error", bound=MirrorError)


def at(clock: str) -> datetime:
    """The time of a clock that begins at the cases' midnight: ``at("01:05")``, and on: ``at("25:00")``."""
    hours, minutes = clock.split(":")
    return MIDNIGHT + timedelta(hours=int(hours), minutes=float(minutes))


def ms(moment: datetime) -> int:
    """Milliseconds since 1970."""
    return int(moment.timestamp() * 1000)


def record(number: int, when: datetime | int = MIDNIGHT) -> Message:
    """A record that differs from those of other numbers, stamped ``when`` (a time or milliseconds)."""
    stamp = when if isinstance(when, int) else ms(when)
    return Message(key=b"k%d" % number, value=b"v%d" % number, timestamp_ms=stamp)


def records(count: int, *, first: int = 0, start: str = "00:00", step_s: float = 1) -> list[Message]:
    """Records ``first`` and on, ``step_s`` seconds apart from ``start`` on."""
    begin = at(start)
    return [record(first + index, begin + timedelta(seconds=index * step_s)) for index in range(count)]


@dataclass(slots=True)
class Scenario:
    """A flow from one topic of the source (more by ``topics``) and both clusters around it.

    :param addresses: librdkafka settings of ``source`` and ``target``, as a user's connection would have them.
    :param options: keys of the flow beyond name, clusters and topics.
    :param alias: the source's.
    """

    lab: RealLab
    addresses: Mapping[str, Settings]
    flow: str
    topic: str
    topics: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    alias: str = "us"

    def source(self, partition: int = 0, topic: str | None = None) -> TopicPartition:
        """A partition of a source topic."""
        return TopicPartition(topic or self.topic, partition)

    def target(self, partition: int = 0, topic: str | None = None) -> TopicPartition:
        """The partition it is mirrored to."""
        prefix = "" if self.options.get("replication_policy") == "identity" else f"{self.alias}."
        return TopicPartition(prefix + (topic or self.topic), partition)

    @property
    def progress_group(self) -> str:
        """The group that carries the progress."""
        return f"mm2.{self.flow}.progress"

    def progress(self, partition: int = 0, topic: str | None = None) -> int | None:
        """Next source offset to copy, as the progress group has it."""
        offsets = group_offsets(AdminClient({**self.addresses["target"]}), self.progress_group)
        return offsets.get(self.target(partition, topic))

    def create(self, *, topic: str | None = None, partitions: int = 1, settings: Settings | None = None) -> None:
        """Create a source topic."""
        self.lab.create_topic(Side.SOURCE, topic or self.topic, partitions=partitions, settings=settings)

    def create_target(self, *, partitions: int = 1, settings: Settings | None = None) -> None:
        """Create the target topic before the mirror does."""
        self.lab.create_topic(Side.TARGET, self.target().topic, partitions=partitions, settings=settings)

    def produce(self, *messages: Message, partition: int = 0, topic: str | None = None) -> None:
        """Write records to the source."""
        self.lab.produce(Side.SOURCE, self.source(partition, topic), *messages)

    def transaction(self, *messages: Message, outcome: Outcome = Outcome.COMMITTED, partition: int = 0) -> None:
        """Write records to the source in one transaction."""
        self.lab.transaction(Side.SOURCE, self.source(partition), *messages, outcome=outcome)

    def open_transaction(self, *messages: Message, partition: int = 0) -> RealOpenTransaction:
        """Write records to the source in a transaction that stays open."""
        return self.lab.open_transaction(Side.SOURCE, self.source(partition), *messages)

    def retain_from(self, offset: int, partition: int = 0) -> None:
        """Let retention move the source's log start to ``offset``."""
        self.lab.delete_records(Side.SOURCE, self.source(partition), offset)

    def mirrored(self, partition: int = 0, topic: str | None = None) -> list[Message]:
        """What a ``read_committed`` reader of the target is given."""
        return [message for _, message in self.lab.visible(Side.TARGET, self.target(partition, topic))]

    def numbers(self, partition: int = 0) -> list[int]:
        """Numbers of the mirrored ``record(number)``."""
        return [int((message.value or b"?")[1:]) for message in self.mirrored(partition)]

    def mirror_flow(self, **options: Any) -> MirrorFlow:
        """The flow; ``options`` win over the scenario's."""
        clusters: dict[str, Any] = {
            "source": {"alias": self.alias, "settings": dict(self.addresses["source"])},
            "target": {"alias": "eu", "settings": dict(self.addresses["target"])},
        }
        return MirrorFlow.model_validate(
            {"name": self.flow, "topics": self.topics, **clusters, **self.options, **options}
        )

    def run(
        self,
        until: datetime | None = None,
        *,
        since: datetime | None = None,
        stop: Event | None = None,
        report: Report = no_report,
        **options: Any,
    ) -> RunSummary:
        """One run, with clients of its own as a process of its own has them."""
        flow = self.mirror_flow(**options)
        pair: ClusterPair = connect(flow)
        try:
            return run_mirror(flow, pair, bounds=bounds(until, since), stop=stop, report=report, owner="case")
        finally:
            pair.close()

    def fails(self, error: type[Error], until: datetime | None = None, **arguments: Any) -> Error:
        """Run, and give the error, which must be of this kind and tell what was found, why, and what to do."""
        with pytest.raises(error) as caught:
            self.run(until, **arguments)
        assert_three_parts(caught.value)
        return caught.value

    def refuses(self, error: type[Error], until: datetime | None = None, **arguments: Any) -> Error:
        """Like ``fails``; and nothing whatever of this flow and its topics has changed on either cluster."""
        before = self.snapshot()
        raised = self.fails(error, until, **arguments)
        assert self.snapshot() == before
        return raised

    def snapshot(self) -> Mapping[str, object]:
        """All that the two clusters hold of this flow: topics with their ids, partitions and ends, and groups.

        Lease groups are left out: a member of one has come and gone, which changes nothing.
        """
        mine = (self.flow, self.topic, *self.topics)
        return {side: take_snapshot(self.addresses[side], mine) for side in ("source", "target")}


def bounds(until: datetime | None, since: datetime | None = None) -> RunBounds:
    """Bounds of a run that is asked for now."""
    return RunBounds(until=until, since=since, started=datetime.now(timezone.utc))


def part(summary: RunSummary, partition: int = 0, topic: str | None = None) -> PartitionResult:
    """What a run did with one partition."""
    (found,) = (
        each for each in summary.partitions if each.source.partition == partition and topic in (None, each.source.topic)
    )
    return found


def copied(summary: RunSummary) -> int:
    """Records that a run copied."""
    return sum(each.records for each in summary.partitions)


def assert_three_parts(error: MirrorError) -> None:
    """An error says what was found, the likely cause and the next move, and leaves no blank unfilled."""
    found, *rest = str(error).split("\n  Likely cause: ")
    assert found
    assert len(rest) == 1
    cause, move = rest[0].split("\n  Next move: ")
    assert cause.strip()
    assert move.strip()
    assert re.search(r"(?<!\$)\{\w*\}", str(error)) is None


def shuffled(messages: Sequence[Message], order: Sequence[int]) -> list[Message]:
    """Messages in another order."""
    return [messages[index] for index in order]
