"""The offset map of one partition: which record of the source lies where on the target. Pure.

Made from the ledger, which is written in the data's own transaction, it is exact by construction. What holds, and
what translation rests on:

* **A** Segments rise on both sides and do not overlap; inside one both logs are contiguous.
* **B** Every record that a reader sees on the source in ``[kept_from, source_end)`` is in exactly one segment. So
  between two segments there is nothing unread on either side, only markers, aborted data and compacted holes.
* **C** ``source_end`` and ``target_end`` come from the same read of the ledger as the segments, never from a
  watermark: while a run is in flight the log is ahead of what is committed, and positions skipped records.
* **D** All of it is of one generation of the topic: the newest. An older one's ranges never answer.
* **E** Records below ``kept_from`` were mirrored from ``source_start`` on and have expired on the target.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from airflow_provider_mm2.mirror.model import Segment, TopicPartition
from airflow_provider_mm2.mirror.state_model import PartitionLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetMap:
    """Segments of one partition as four columns of equal length, and the ends they lie between.

    Columns, since a partition can have tens of thousands of segments and a process reads them for many partitions:
    32 bytes a segment. ``before`` counts the records of the segments before each one.

    :param source_start: source offset at which the mirror began.
    :param kept_from: source offset from which segments are kept; below it they have expired.
    :param source_end: next source offset to be mirrored.
    :param target_end: the target's end after the last transaction, its marker counted.
    """

    source: TopicPartition
    target: TopicPartition
    source_start: int
    kept_from: int
    source_end: int
    target_end: int
    source_starts: array[int]
    target_starts: array[int]
    counts: array[int]
    before: array[int]

    @classmethod
    def of(cls, ledger: PartitionLedger) -> OffsetMap:
        """The map that a partition's ledger records.

        :raises ValueError: the segments contradict invariant A.
        """
        first, latest = ledger.entries[0], ledger.latest
        segments = [segment for entry in ledger.entries for segment in entry.segments]
        offset_map = cls(
            source=latest.source,
            target=latest.target,
            source_start=first.first,
            kept_from=first.next_offset if first.expired else first.first,
            source_end=latest.next_offset,
            target_end=latest.target_end,
            source_starts=array("q", (segment.source_start for segment in segments)),
            target_starts=array("q", (segment.target_start for segment in segments)),
            counts=array("q", (segment.count for segment in segments)),
            before=array("q", accumulate((segment.count for segment in segments[:-1]), initial=0))
            if segments
            else array("q"),
        )
        offset_map.check()
        return offset_map

    def check(self) -> None:
        """Refuse columns that contradict invariant A.

        :raises ValueError: says where.
        """
        source = target = 0
        for source_start, target_start, count in zip(self.source_starts, self.target_starts, self.counts, strict=True):
            if source_start < source or target_start < target or count < 1:
                raise ValueError(
                    f"{self.source}: the segment at {source_start} -> {target_start} ({count} records) does not "
                    f"follow the one before, which ends at {source} -> {target}"
                )
            source, target = source_start + count, target_start + count

    @property
    def mirrored_end(self) -> int:
        """Target offset behind the last mapped record; the recorded end where nothing is mapped."""
        if not self.counts:
            return self.target_end
        return self.target_starts[-1] + self.counts[-1]

    def to_target(self, source_offset: int) -> int:
        """Target offset of the first mirrored record at or after a source offset in ``[kept_from, source_end]``."""
        return _across(source_offset, self.source_starts, self.target_starts, self.counts, self.mirrored_end)

    def to_source(self, target_offset: int) -> int:
        """Source offset of the first mirrored record at or after a target offset up to ``target_end``."""
        return _across(target_offset, self.target_starts, self.source_starts, self.counts, self.source_end)

    def segments_from(self, source_offset: int) -> list[Segment]:
        """Segments from the one on that holds a source offset, or lies behind it."""
        first = max(0, bisect_right(self.source_starts, source_offset) - 1)
        columns = zip(self.source_starts[first:], self.target_starts[first:], self.counts[first:], strict=True)
        return [Segment(source_start=source, target_start=target, count=count) for source, target, count in columns]

    def records_before(self, target_offset: int) -> int:
        """How many of the mapped records lie below a target offset."""
        index = bisect_right(self.target_starts, target_offset)
        if index == 0:
            return 0
        return self.before[index - 1] + min(self.counts[index - 1], target_offset - self.target_starts[index - 1])


def _across(offset: int, starts: array[int], other_starts: array[int], counts: array[int], end: int) -> int:
    """The place on the other side of the first mapped record at or after ``offset``; ``end`` where there is none."""
    index = bisect_right(starts, offset) - 1
    if index >= 0 and offset < starts[index] + counts[index]:
        return other_starts[index] + offset - starts[index]
    return other_starts[index + 1] if index + 1 < len(starts) else end
