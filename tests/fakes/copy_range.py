"""What the fake copy engine does with one partition: position, cut, bound, and the map of what it wrote."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_mm2.mirror.errors import (
    ForeignWrites,
    HeaderUnfaithful,
    RecordRefused,
    RecordTooLarge,
    SourceGap,
    SourceTruncated,
    TimestampZero,
)
from airflow_provider_mm2.mirror.model import CopiedRange, CopyRange, RangeEnd, Segment, TopicPartition
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import NO_TIMESTAMP, Entry, Message

Append = Callable[[TopicPartition, Message], int]


class RangeCopy:
    """One assigned range; ``position`` and ``ended`` go over chunks, the rest begins anew with each."""

    def __init__(
        self, asked: CopyRange, future_ms: int, source: FakeCluster, target: FakeCluster, append: Append
    ) -> None:
        self.asked = asked
        self.position = asked.start
        self.ended = RangeEnd.BOUND if asked.start >= asked.end else None
        self._future_ms = future_ms
        self._source = source
        self._target = target
        self._append = append
        self._leader_epoch = asked.leader_epoch
        self.begin_chunk()

    def begin_chunk(self) -> None:
        """Forget what the last chunk wrote."""
        self._written: list[tuple[int, int]] = []
        self._runs: list[list[int]] = []
        self._bytes = 0
        self._future: list[tuple[int, int]] = []

    def copy_batch(self, records: int, limit_bytes: int) -> int:
        """Copy up to so many records or bytes and return the bytes.

        :raises SourceGap: the log begins behind the position.
        :raises SourceTruncated: the log ends, in the epoch of the last record mirrored, before the start.
        """
        log = self._source.log(self.asked.source)
        if log.start > self.position:
            topic, partition = self.asked.source
            raise SourceGap(topic=topic, partition=partition, start=self.position, end=log.start)
        self._refuse_truncated()
        self._runs.append([])
        before = self._bytes
        for _ in range(records):
            if self.ended is None and self._bytes - before < limit_bytes and not self._step(log.next_visible):
                self._reach(log.stable)
                break
        return self._bytes - before

    def result(self, *, shared: bool = False) -> CopiedRange:
        """The chunk's outcome.

        :param shared: whether others may write to the target as well.

        :raises ForeignWrites: a batch does not lie in one piece on the target.
        """
        for run in () if shared else self._runs:
            if run and run[-1] - run[0] != len(run) - 1:
                raise ForeignWrites(
                    topic=self.asked.source.topic,
                    target_topic=self.asked.target.topic,
                    partition=self.asked.target.partition,
                    records=run[-1] - run[0] + 1 - len(run),
                    start=run[0],
                    end=run[-1] + 1,
                )
        return CopiedRange(
            source=self.asked.source,
            next_offset=self.position,
            segments=segments_of(self._written),
            records=len(self._written),
            bytes=self._bytes,
            leader_epoch=self._leader_epoch,
            ended=self.ended,
            future=self._future[0] if self._future else None,
            future_records=len(self._future),
        )

    def _step(self, next_visible: Callable[[int], Entry | None]) -> bool:
        """Copy one record or end; False when there is no record to be read."""
        entry = next_visible(self.position)
        if entry is None or entry.message is None:
            return False
        timestamp = entry.message.timestamp_ms
        is_future = timestamp > self._future_ms
        cut_ms = self.asked.cut_ms
        is_cut = cut_ms is not None and timestamp != NO_TIMESTAMP and timestamp >= cut_ms and not is_future
        if entry.offset >= self.asked.end:
            self._reach(self.asked.end)
        elif is_cut:
            self.position, self.ended = entry.offset, RangeEnd.CUT
        else:
            if is_future:
                self._future.append((entry.offset, timestamp))
            self._copy(entry.offset, entry.message)
            self._leader_epoch = entry.leader_epoch
            self._reach(entry.offset + 1)
        return True

    def _copy(self, offset: int, message: Message) -> None:
        self._refuse(offset, message)
        target_offset = self._append(self.asked.target, message)
        self._written.append((offset, target_offset))
        self._runs[-1].append(target_offset)
        self._bytes += len(message.value or b"")

    def _reach(self, offset: int) -> None:
        """Everything below ``offset`` has been read."""
        self.position = max(self.position, min(offset, self.asked.end))
        if self.position >= self.asked.end:
            self.ended = RangeEnd.BOUND

    def _refuse(self, offset: int, message: Message) -> None:
        """Refuse what a client cannot carry or the target does not take.

        :raises TimestampZero: stamped 0.
        :raises HeaderUnfaithful: a header key that is not UTF-8.
        :raises RecordTooLarge: above the target's ``max.message.bytes``.
        :raises RecordRefused: too far in the future, or without a key for a compacted topic.
        """
        topic, partition = self.asked.source
        if message.timestamp_ms == 0:
            raise TimestampZero(topic=topic, partition=partition, offset=offset)
        if any("\udc80" <= letter <= "\udcff" for key, _ in message.headers for letter in key):
            raise HeaderUnfaithful(topic=topic, partition=partition, offset=offset, problem="a key is not UTF-8")
        self._target.log(self.asked.target)
        found = self._target.topics[self.asked.target.topic]
        if message.size > int(found.setting("max.message.bytes")):
            raise RecordTooLarge(
                topic=topic, partition=partition, offset=offset, bytes=message.size, setting="max.message.bytes"
            )
        latest = self._target.clock.now_ms + int(found.setting("message.timestamp.after.max.ms"))
        problems = {
            "INVALID_TIMESTAMP": message.timestamp_ms > latest,
            "INVALID_RECORD": message.key is None and "compact" in found.setting("cleanup.policy"),
        }
        for problem, is_so in problems.items():
            if is_so:
                raise RecordRefused(target_topic=self.asked.target.topic, problem=problem)

    def _refuse_truncated(self) -> None:
        if self._leader_epoch is None:
            return
        end = self._source.log(self.asked.source).epoch_end(self._leader_epoch)
        if end < self.position:
            topic, partition = self.asked.source
            raise SourceTruncated(topic=topic, partition=partition, progress=self.position, end=end)


def segments_of(pairs: list[tuple[int, int]]) -> tuple[Segment, ...]:
    """Join pairs of source and target offsets that follow each other on both sides."""
    segments: list[Segment] = []
    for source, target in pairs:
        last = segments[-1] if segments else None
        if last is not None and (last.source_end, last.target_end) == (source, target):
            segments[-1] = Segment(source_start=last.source_start, target_start=last.target_start, count=last.count + 1)
        else:
            segments.append(Segment(source_start=source, target_start=target, count=1))
    return tuple(segments)
