"""A scenario with consumer groups: where they stand on both sides, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupKind
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.run import locate_groups, mirror_groups
from tests.cases.by_hand import produce_keyed, set_group
from tests.cases.published import checkpoints_of, syncs_of
from tests.cases.scenario import Scenario
from tests.cases.snapshot import group_offsets
from tests.contract.lab import Side
from tests.contract.real_lab import until

T = TypeVar("T")


@dataclass(slots=True)
class GroupStage:
    """A flow whose groups are those that end in its name, so that tests on one pair do not meet.

    Its runs have clients of their own each; whatever it does with groups alone shares a pair.
    """

    scenario: Scenario
    _pair: ClusterPair | None = None

    def __post_init__(self) -> None:
        """Let the flow take no groups but its own."""
        self.scenario.options.setdefault("groups", (f".*-{self.scenario.flow}",))

    def group(self, name: str) -> str:
        """The whole name of a group."""
        return f"{name}-{self.scenario.flow}"

    def commit(self, name: str, offsets: Mapping[int, int] | int, *, topic: str | None = None) -> None:
        """Let a group have committed on the source: an offset of partition 0, or several by partition."""
        by_partition = {0: offsets} if isinstance(offsets, int) else offsets
        parts = {self.scenario.source(number, topic): offset for number, offset in by_partition.items()}
        self.scenario.lab.commit_offsets(Side.SOURCE, self.group(name), parts)

    def commit_on_target(self, name: str, parts: Mapping[TopicPartition, int]) -> None:
        """Let a group have committed on the target."""
        set_group(self.scenario.addresses["target"], self.group(name), parts)

    def member(self, name: str, kind: GroupKind) -> AbstractContextManager[None]:
        """Somebody who is in a group on the target, and leaves it in the end."""
        return self.scenario.lab.member(Side.TARGET, self.group(name), self.scenario.target().topic, kind)

    def publish(self, name: str, *, source_offset: int, target_offset: int) -> None:
        """Publish a checkpoint as another writer does."""
        found = Checkpoint(
            group=self.group(name),
            topic=self.scenario.target().topic,
            partition=0,
            source_offset=source_offset,
            target_offset=target_offset,
        )
        topic = TopicPartition(f"{self.scenario.alias}.checkpoints.internal", 0)
        produce_keyed(self.scenario.addresses["target"], topic, found.encode_key(), found.encode_value())

    def target_offsets(self, name: str, *, topic: str | None = None) -> dict[int, int]:
        """What a group has committed on the target, by partition of one topic."""
        found = group_offsets(AdminClient({**self.scenario.addresses["target"]}), self.group(name))
        wanted = self.scenario.target(0, topic).topic
        return {number: offset for (found_in, number), offset in found.items() if found_in == wanted}

    def checkpoints(self, name: str, *, topic: str | None = None) -> dict[int, list[tuple[int, int]]]:
        """Source and target offsets of a group's published checkpoints, oldest first, by partition of one topic."""
        wanted = self.scenario.target(0, topic).topic
        found: dict[int, list[tuple[int, int]]] = {}
        for each in checkpoints_of(self.scenario.addresses["target"], self.scenario.alias, group=self.group(name)):
            if each.topic == wanted:
                found.setdefault(each.partition, []).append((each.source_offset, each.target_offset))
        return found

    def syncs(self, partition: int = 0) -> list[tuple[int, int]]:
        """Source and target offsets of a partition's offset syncs, oldest first."""
        found = syncs_of(self.scenario.addresses["target"], self.scenario.alias, self.scenario.topic)
        return [(each.source_offset, each.target_offset) for each in found if each.partition == partition]

    def groups(self, **options: Any) -> GroupsReport:
        """The end of a run alone: snapshot, checkpoints, group sync."""
        return self.with_pair(mirror_groups, **options)

    def locate(self, *names: str, apply: bool = False, **options: Any) -> GroupsReport:
        """Where the groups stand."""
        only = [self.group(name) for name in names]
        return self.with_pair(lambda flow, pair: locate_groups(flow, pair, only=only, apply=apply), **options)

    def with_pair(self, do: Callable[[MirrorFlow, ClusterPair], T], **options: Any) -> T:
        """Do something with the flow and the pair."""
        flow = self.scenario.mirror_flow(**options)
        if self._pair is None:
            self._pair = connect(flow)
        return do(flow, self._pair)

    def close(self) -> None:
        """Let the pair go."""
        if self._pair is not None:
            self._pair.close()

    def row(self, report: GroupsReport, name: str, partition: int = 0, *, topic: str | None = None) -> dict[str, Any]:
        """One row of the report's document."""
        wanted = (self.group(name), topic or self.scenario.topic, partition)
        rows: list[dict[str, Any]] = report.to_json()["groups"]
        (found,) = (each for each in rows if (each["group"], each["topic"], each["partition"]) == wanted)
        return found

    def result(self, report: GroupsReport, name: str) -> dict[str, Any]:
        """What became of a group, as the report's document has it."""
        (found,) = (each for each in report.to_json()["results"] if each["group"] == self.group(name))
        result: dict[str, Any] = found
        return result

    def read_on(self, name: str, topics: Sequence[str], count: int) -> list[bytes]:
        """What a consumer on the target is given that joins a group and reads until ``count`` records and the end.

        :raises AssertionError: that many did not come within a minute.
        """
        consumer = Consumer(
            {
                **self.scenario.addresses["target"],
                "group.id": self.group(name),
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
            }
        )
        consumer.subscribe(list(topics))
        values: list[bytes] = []
        ended: set[tuple[str, int]] = set()

        def is_done() -> bool:
            for message in consumer.consume(500, 0.1):
                error, topic, partition = message.error(), message.topic(), message.partition()
                if error is None:
                    value = message.value()
                    assert isinstance(value, bytes)
                    values.append(value)
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add((topic or "", partition or 0))
                else:
                    raise AssertionError(str(error))
            return len(values) >= count and len(ended) == len(consumer.assignment()) > 0

        until(is_done, f"{count} records for {name}")
        consumer.close()
        return values
