"""Which offset syncs are written for a partition, from the offset map and the last one that was. Pure.

A sync says of one record where it lies on both sides. MirrorMaker 2 translates by the newest sync at or below a
group's position, so every pair on the map is right to write, and more of them only make a translation nearer. What
its own writer would send for these records is taken as the choice: the first record, a record whose target offset
lies too far behind the last sync's, each record behind a hole in the source's offsets, and at the end of a run the
last record, without which a group that has read everything would never be translated to the end.

Of this choice only what its readers can keep is written. Their store has room for one to four syncs in each distance
of 2^k to 2^(k+1) from the newest (invariants B and C in ``sync_store``), and the distance of older syncs only grows.
So, from the last record backwards, a sync is left out that lies nearer to the one kept before than a quarter of that
one's distance from the end. A run of any size then writes fewer than 200 a partition, 39 for a million records
instead of 9,901, and a reader is left with as many of them and translates as near. A reader that kept them all would
give a group a quarter of its lag and ``offset_lag_max`` again at most.

Source: MirrorMaker 2, ``OffsetSyncWriter.PartitionState`` and, for the last record, KAFKA-15906.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.model import Segment, TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import OffsetSync

OFFSET_LAG_MAX = 100
"""Source: MirrorMaker 2, default of ``offset.lag.max``."""

SPACING = 4
"""A sync is kept where it is at least this part of the kept one's distance further from the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    """Records of one segment, evenly spaced: their offsets on the source, and how far ahead the target's are."""

    records: range
    shift: int

    def at_or_below(self, offset: int) -> int | None:
        """The last of the records that is not above ``offset``."""
        index = min((offset - self.records.start) // self.records.step, len(self.records) - 1)
        return self.records[index] if index >= 0 else None


def syncs_to_write(
    source: TopicPartition,
    segments: Sequence[Segment],
    *,
    last: OffsetSync | None,
    offset_lag_max: int = OFFSET_LAG_MAX,
) -> tuple[OffsetSync, ...]:
    """The syncs that are missing, in the order in which they are to be written.

    They rise in source offset, from above ``last`` on. When only the first few of them were written, the same call
    with the last of those gives exactly the others, and after all of them nothing. It can be made again at any time
    with the whole map. A ``last`` that is not on the map is of another generation of the topic, or another tool's,
    and counts as none: the first record is then written again, and when that lies lower on the source, MirrorMaker
    2's readers forget what they knew, as they should.

    :param source: the partition on the source.
    :param segments: the offset map of the present generation in source order, rising on both sides; it may begin
        with the segment that holds the last sync.
    :param last: the newest sync of the partition in the topic.
    :param offset_lag_max: how many target offsets may lie between two syncs where no other reason comes first.
    :returns: the missing syncs, fewer than 200.
    """
    if not segments:
        return ()
    written = last if last is not None and _is_on_map(segments, last) else None
    end = segments[-1]
    if written is not None and written.source_offset == end.source_end - 1:
        return ()
    newest = _Stretch(records=range(end.source_end - 1, end.source_end), shift=end.target_start - end.source_start)
    stretches = [*_due(segments, written, offset_lag_max), newest]
    kept = list(_spaced(stretches))
    first = stretches[0]
    if written is None and kept[-1][0] != first.records.start:
        kept.append((first.records.start, first.shift))
    return tuple(
        OffsetSync(topic=source.topic, partition=source.partition, source_offset=at, target_offset=at + shift)
        for at, shift in reversed(kept)
    )


def _is_on_map(segments: Sequence[Segment], sync: OffsetSync) -> bool:
    """Whether the map puts a sync's record where the sync does."""
    index = bisect_right(segments, sync.source_offset, key=lambda segment: segment.source_start) - 1
    if index < 0 or sync.source_offset >= segments[index].source_end:
        return False
    return sync.target_offset - segments[index].target_start == sync.source_offset - segments[index].source_start


def _due(segments: Sequence[Segment], last: OffsetSync | None, offset_lag_max: int) -> Iterator[_Stretch]:
    """What MirrorMaker 2's writer sends for the records above ``last``.

    Its fourth reason, a target offset that goes back, cannot come up: a map rises on both sides.
    """
    before = None if last is None else (last.source_offset + 1, last.target_offset + 1)
    for segment in segments:
        shift = segment.target_start - segment.source_start
        if before is None:
            first = segment.source_start
        else:
            record_end, sync_end = before
            if segment.source_end <= record_end:
                continue
            follows_a_hole = segment.source_start > record_end
            stale_from = sync_end + offset_lag_max - shift
            first = segment.source_start if follows_a_hole else max(segment.source_start, record_end, stale_from)
        records = range(first, segment.source_end, offset_lag_max + 1)
        if records:
            yield _Stretch(records=records, shift=shift)
            before = (segment.source_end, records[-1] + shift + 1)
        elif before is not None:
            before = (segment.source_end, before[1])


def _spaced(stretches: Sequence[_Stretch]) -> Iterator[tuple[int, int]]:
    """Source offset and shift of what readers can keep, from the last record backwards."""
    end = limit = stretches[-1].records[-1]
    for stretch in reversed(stretches):
        while (at := stretch.at_or_below(limit)) is not None:
            yield at, stretch.shift
            limit = at - max(1, (end - at) // SPACING)
