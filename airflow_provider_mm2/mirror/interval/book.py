"""The ledger as one run keeps it in memory: what each chunk adds, and the records that say so. Pure.

``target_end`` is foretold: after the last record comes our own commit marker, where the chunk is a transaction. A
partition that a transaction did not write gets no marker and keeps its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from airflow_provider_mm2.mirror.interval.plan import PartitionFacts, place_at
from airflow_provider_mm2.mirror.model import CopiedRange, Segment, TopicPartition
from airflow_provider_mm2.mirror.state.ledger import split_segments
from airflow_provider_mm2.mirror.state.pruning import prune
from airflow_provider_mm2.mirror.state.rebase import FIRST_GENERATION, Rebased, opening
from airflow_provider_mm2.mirror.state.unfenced import claim
from airflow_provider_mm2.mirror.state_model import Delivery, FlowRecord, LedgerEntry

MARKER = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """Offsets on the target among our records that we did not write: ``[start, end)``."""

    target: TopicPartition
    start: int
    end: int


class LedgerBook:
    """The newest entry of every partition of a shard, and which of them the next transaction must write."""

    def __init__(
        self,
        record: FlowRecord,
        facts: Mapping[TopicPartition, PartitionFacts],
        rebased: Mapping[TopicPartition, Rebased] | None = None,
        *,
        delivery: Delivery = Delivery.EXACTLY_ONCE,
    ) -> None:
        self._record = record
        self._delivery = delivery
        self._marker = MARKER if delivery is Delivery.EXACTLY_ONCE else 0
        self._facts = facts
        self._open = {part: self._opening(fact) for part, fact in facts.items()}
        self._closed: list[LedgerEntry] = []
        self._removed: list[LedgerEntry] = []
        claims = delivery is Delivery.AT_LEAST_ONCE
        self._unwritten = {part for part, fact in facts.items() if claims or self._is_new(fact)}
        for part, fresh in (rebased or {}).items():
            continues = self._open[part].first == fresh.unwritten[-1].first
            self._closed.extend(fresh.unwritten[:-1] if continues else fresh.unwritten)
            self._removed.extend(fresh.removed)
            self._unwritten.add(part)
        for part, fact in facts.items():
            if part not in (rebased or {}):
                self._prune(fact)

    def _prune(self, fact: PartitionFacts) -> None:
        """Let go of what has expired on the target, with the next transaction."""
        kept, removed = (None, ()) if fact.ledger is None else prune(fact.ledger, fact.target_log.start)
        if kept is not None:
            self._closed.append(kept)
            self._removed.extend(removed)

    def _opening(self, fact: PartitionFacts) -> LedgerEntry:
        """The entry a run begins with: the recorded one at the target's present end, or the very first."""
        if fact.ledger is not None:
            latest = fact.ledger.latest
            opened = replace(latest, target_end=max(latest.target_end, fact.target_log.end))
            if self._is_new(fact):
                opened = self._next_key(opened)
            return self._claimed(opened)
        return self._claimed(self._first_entry(fact))

    def _is_new(self, fact: PartitionFacts) -> bool:
        """Whether nothing was written of a partition yet, or not in this way of delivery."""
        return fact.ledger is None or fact.ledger.latest.delivery is not self._delivery

    def _next_key(self, latest: LedgerEntry) -> LedgerEntry:
        """The entry that goes on from one of the other way of delivery.

        Whether a marker comes behind an entry's last record is then known from the entry alone.
        """
        return replace(
            latest,
            first=latest.next_offset,
            segments=(),
            records=0,
            expired=0,
            delivery=self._delivery,
            sequence=latest.sequence + 1,
        )

    def _claimed(self, entry: LedgerEntry) -> LedgerEntry:
        """The entry as an attempt writes it first where nothing fences the one before (``state/unfenced.py``)."""
        if self._delivery is Delivery.EXACTLY_ONCE:
            return entry
        return replace(entry, sequence=claim(entry.sequence))

    def _first_entry(self, fact: PartitionFacts) -> LedgerEntry:
        place = place_at(fact, fact.progress, self._record.source_cluster_id, self._delivery)
        return opening(place, FIRST_GENERATION, 0)

    def entry(self, part: TopicPartition) -> LedgerEntry:
        """The newest entry of a partition."""
        return self._open[part]

    def hole_before(self, copied: CopiedRange) -> Foreign | None:
        """Offsets between the last record we knew of and where the chunk landed, if it is not where we expected."""
        entry = self._open[copied.source]
        if not copied.segments or copied.segments[0].target_start == entry.target_end:
            return None
        return Foreign(target=entry.target, start=counted_end(entry), end=copied.segments[0].target_start)

    def holes_inside(self, copied: CopiedRange) -> Iterator[Foreign]:
        """The holes on the target between the segments of one chunk: they are never markers of ours."""
        target = self._open[copied.source].target
        for before, after in pairwise(copied.segments):
            if after.target_start != before.target_end:
                yield Foreign(target=target, start=before.target_end, end=after.target_start)

    def add(self, copied: CopiedRange) -> None:
        """Take in what a chunk copied of one partition."""
        entry = self._open[copied.source]
        if copied.next_offset == entry.next_offset and not copied.segments:
            return
        *full, rest = split_segments(entry.segments + copied.segments, entry.first)
        for segments in full:
            closed = replace(
                entry,
                segments=segments,
                records=_count(segments),
                next_offset=segments[-1].source_end,
                target_end=segments[-1].target_end,
                leader_epoch=copied.leader_epoch,
                sequence=entry.sequence + 1,
            )
            self._closed.append(closed)
            entry = replace(closed, first=closed.next_offset)
        self._open[copied.source] = replace(
            entry,
            segments=rest,
            records=_count(rest),
            next_offset=copied.next_offset,
            target_end=copied.segments[-1].target_end + self._marker if copied.segments else entry.target_end,
            leader_epoch=copied.leader_epoch,
            sequence=entry.sequence + 1,
        )
        self._unwritten.add(copied.source)

    def finish(self, part: TopicPartition, *, through_ms: int | None, pending: tuple[int, int] | None) -> None:
        """Note through which time a partition is mirrored; every run writes this for every partition."""
        entry = self._open[part]
        self._open[part] = replace(entry, through_ms=through_ms, pending=pending, sequence=entry.sequence + 1)
        self._unwritten.add(part)

    def take_unwritten(self) -> list[LedgerEntry]:
        """Entries that the next transaction writes."""
        entries = self._closed + [self._open[part] for part in sorted(self._unwritten)]
        self._closed = []
        self._unwritten.clear()
        return entries

    def take_removed(self) -> list[LedgerEntry]:
        """Entries that the next transaction removes."""
        removed, self._removed = self._removed, []
        return removed

    def progress(self) -> dict[TopicPartition, int]:
        """Next source offset of every partition, by target partition, as the progress group gets it."""
        return {entry.target: entry.next_offset for entry in self._open.values()}


def counted_end(entry: LedgerEntry) -> int:
    """Target offset up to which every record is known to be ours; strangers are looked for from here on.

    Behind the last record comes our marker, unless somebody wrote between the two: then the offset foretold for the
    marker is a stranger's record. So the marker's place is looked at too; a marker is not seen by a reader.
    """
    if entry.delivery is Delivery.AT_LEAST_ONCE:
        return entry.target_end
    last = entry.segments[-1].target_end if entry.segments else entry.target_end
    return last if entry.target_end == last + MARKER else entry.target_end


def _count(segments: tuple[Segment, ...]) -> int:
    return sum(segment.count for segment in segments)


def target_span(segments: tuple[Segment, ...]) -> tuple[int, int] | None:
    """First and end target offset of segments, None without any."""
    return (segments[0].target_start, segments[-1].target_end) if segments else None
