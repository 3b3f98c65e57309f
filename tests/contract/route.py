"""One topic on both sides with a copy engine between: what the tests of ``Copier`` share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.clusters.ports import Copier
from airflow_provider_mm2.mirror.model import (
    ChunkLimits,
    CopiedRange,
    CopierSettings,
    CopyRange,
    Segment,
    TopicPartition,
)
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.contract.lab import BASE_MS, Lab, Side
from tests.fakes.log import Message, Outcome

NOW_MS = BASE_MS + 86_400_000
"""The run's own time: a day after the tests' records."""

ALL = ChunkLimits(seconds=60, bytes=1 << 30)
"""Limits that no test reaches."""


def no_tick() -> None:
    """Let everything that waits go on."""


@dataclass(slots=True)
class Route:
    """A source topic, its target, and the flow that copies from one to the other."""

    lab: Lab
    flow: str
    topic: str
    target_topic: str
    _copiers: list[Copier] = field(default_factory=list)

    @property
    def marker(self) -> int:
        """Offsets on the target that a chunk takes beside its records."""
        return 1 if self.lab.delivery is Delivery.EXACTLY_ONCE else 0

    def source(self, partition: int = 0) -> TopicPartition:
        """A partition of the source topic."""
        return TopicPartition(self.topic, partition)

    def target(self, partition: int = 0) -> TopicPartition:
        """A partition of the target topic."""
        return TopicPartition(self.target_topic, partition)

    @property
    def group(self) -> str:
        """The flow's progress group."""
        return f"mm2.{self.flow}.progress"

    def produce(self, *messages: Message, partition: int = 0) -> None:
        """Write records to the source."""
        self.lab.produce(Side.SOURCE, self.source(partition), *messages)

    def transaction(self, *messages: Message, outcome: Outcome = Outcome.COMMITTED) -> None:
        """Write records to the source in a transaction."""
        self.lab.transaction(Side.SOURCE, self.source(), *messages, outcome=outcome)

    def bound(self, partition: int = 0) -> int:
        """The source's last stable offset."""
        source = self.source(partition)
        return self.lab.pair.source.log_offsets([source])[source].stable

    def range(
        self,
        *,
        start: int = 0,
        end: int | None = None,
        cut_ms: int | None = None,
        partition: int = 0,
        leader_epoch: int | None = None,
    ) -> CopyRange:
        """A range of the source; ``end`` None is its last stable offset."""
        return CopyRange(
            source=self.source(partition),
            target=self.target(partition),
            start=start,
            end=self.bound(partition) if end is None else end,
            cut_ms=cut_ms,
            leader_epoch=leader_epoch,
        )

    def copier(
        self,
        *,
        silence_limit_s: int = 30,
        max_record_bytes: int = 1_048_588,
        fence: bool = True,
        shared_target: bool = False,
        watched: Mapping[TopicPartition, bytes | None] | None = None,
    ) -> Copier:
        """A copy engine of the flow, closed when the test is over."""
        settings = CopierSettings(
            flow=self.flow,
            transactional_id=f"mm2.{self.flow}.0",
            progress_group=self.group,
            transaction_timeout_s=60,
            max_record_bytes=max_record_bytes,
            silence_limit_s=silence_limit_s,
            shared_target=shared_target,
            watched=watched or {},
        )
        copier = self.lab.pair.copier(settings)
        self._copiers.append(copier)
        if fence:
            copier.fence(no_tick)
        return copier

    def assigned(self, *ranges: CopyRange, now_ms: int = NOW_MS) -> Copier:
        """A fenced copy engine with its ranges."""
        copier = self.copier()
        copier.assign(ranges, now_ms)
        return copier

    def copy(self, *ranges: CopyRange, now_ms: int = NOW_MS) -> Sequence[CopiedRange]:
        """Copy the ranges in one chunk, with a copy engine of its own."""
        return self.chunk(self.assigned(*ranges, now_ms=now_ms))

    def chunk(self, copier: Copier, limits: ChunkLimits = ALL) -> Sequence[CopiedRange]:
        """One chunk from begin to the commit that can be seen."""
        copier.begin()
        copier.copy(limits, no_tick)
        results = copier.flush(no_tick)
        progress = {self.target(result.source.partition): result.next_offset for result in results}
        copier.add([], progress, no_tick)
        copier.commit(no_tick)
        ends = {
            self.target(result.source.partition): result.segments[-1].target_end
            for result in results
            if result.segments
        }
        copier.see(progress, ends, no_tick)
        return results

    def copied(self, partition: int = 0) -> list[Message]:
        """What a reader of the target is given."""
        return [message for _, message in self.lab.visible(Side.TARGET, self.target(partition))]

    def assert_exact(self, *results: CopiedRange, partition: int = 0) -> None:
        """Check the map: each visible source record below the last position has one place, and is found there."""
        offsets = mapped(results)
        end = results[-1].next_offset
        source = dict(self.lab.visible(Side.SOURCE, self.source(partition)))
        target = dict(self.lab.visible(Side.TARGET, self.target(partition)))
        assert list(offsets) == [offset for offset in source if offset < end]
        assert [target[there] for there in offsets.values()] == [source[here] for here in offsets]
        assert list(offsets.values()) == sorted(offsets.values())
        assert sum(result.records for result in results) == len(offsets)

    def close(self) -> None:
        """Let every copy engine go."""
        for copier in self._copiers:
            copier.abort()
            copier.close()


def mapped(results: Sequence[CopiedRange]) -> Mapping[int, int]:
    """Source offset to target offset by the segments of several chunks of one partition.

    :raises AssertionError: a source offset is in two segments.
    """
    offsets: dict[int, int] = {}
    for segment in (segment for result in results for segment in result.segments):
        for index in range(segment.count):
            assert segment.source_start + index not in offsets
            offsets[segment.source_start + index] = segment.target_start + index
    return offsets


def segment(source_start: int, target_start: int, count: int) -> Segment:
    """A segment, short."""
    return Segment(source_start=source_start, target_start=target_start, count=count)


MakeRoute = Callable[..., Route]
