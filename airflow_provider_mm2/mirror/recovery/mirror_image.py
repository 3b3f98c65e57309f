"""The ledger of one direction as that of the other: for going home, and for going on after it. Pure.

A segment is contiguous on both sides, so turned round it is one of the flow in the opposite direction: the record that
lies at ``target_start`` here came from ``source_start`` there. So the way home begins with all of the forward map,
groups behind the failover point have their exact place too, and nothing that was mirrored is mirrored back. When it has
ended, its map, turned round again, is that of the forward flow, which goes on behind it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_provider_mm2.mirror.json_text import compact_json
from airflow_provider_mm2.mirror.model import Segment, TopicPartition
from airflow_provider_mm2.mirror.state.ledger import split_segments
from airflow_provider_mm2.mirror.state.rebase import FIRST_GENERATION, Place, ended, opening
from airflow_provider_mm2.mirror.state.unfenced import claim
from airflow_provider_mm2.mirror.state_model import Delivery, LedgerEntry, PartitionLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """A partition of a flow as the opposite direction left it: entries to write, and those to remove."""

    entries: tuple[LedgerEntry, ...]
    removed: tuple[LedgerEntry, ...] = ()


def mirror_image(
    ledger: PartitionLedger | None,
    before: PartitionLedger | None,
    place: Place,
    *,
    keep_older: bool = False,
    since: int | None = None,
) -> Turned:
    """A partition's ledger turned round, as a new generation of the opposite flow's.

    Entries that stand for expired records have no segments and are left out: the map begins later.

    :param ledger: of the flow that is turned round; None: it has nothing of the topics as they are now.
    :param before: what the opposite flow had recorded of the partition; None: nothing.
    :param place: of the opposite flow: its topics, where it goes on to copy, and where its target's log ends. What is
        mapped behind that offset is left out.
    :param keep_older: keep what ``before`` maps below all that ``ledger`` does: there it has expired since; and begin
        where it began.
    :param since: an offset of ``place``'s source from which on nobody sees a record before the first that is mapped, so
        that the map may begin there: a group that stands on what an aborted copy left is not behind the start.
    """
    generation, sequence = FIRST_GENERATION, _behind(-1, place.delivery)
    mapped = [] if ledger is None else [segment for entry in ledger.entries for segment in entry.segments]
    segments = [_cut(turned(segment), place.offset) for segment in mapped]
    segments = [segment for segment in segments if segment.count > 0]
    if before is not None:
        generation, sequence = before.latest.generation + 1, _behind(before.latest.sequence, place.delivery)
        if keep_older and segments:
            segments = [*_older(before, segments[0]), *segments]
    first = segments[0].source_start if segments else place.offset
    if keep_older and before is not None and _began(before, place):
        since = before.entries[0].first
    begin = replace(opening(place, generation, sequence), first=first if since is None else min(first, since))
    return Turned(entries=tuple(_entries(begin, segments, place)), removed=() if before is None else before.entries)


def turned(segment: Segment) -> Segment:
    """A segment of the opposite direction."""
    return Segment(source_start=segment.target_start, target_start=segment.source_start, count=segment.count)


def progress_digest(ledgers: Mapping[TopicPartition, PartitionLedger]) -> str:
    """By which it can be told whether a flow has gone on since: of each partition's generation, write and offset."""
    latest = [(str(part), ledger.latest) for part, ledger in sorted(ledgers.items())]
    rows = [[part, entry.generation, entry.sequence, entry.next_offset] for part, entry in latest]
    return hashlib.sha256(compact_json(rows)).hexdigest()[:16]


def _older(before: PartitionLedger, first: Segment) -> list[Segment]:
    every = (segment for entry in before.entries for segment in entry.segments)
    return [
        segment
        for segment in every
        if segment.source_end <= first.source_start and segment.target_end <= first.target_start
    ]


def _began(before: PartitionLedger, place: Place) -> bool:
    """Whether a ledger maps all from where it began, of the topic that the place is of."""
    return not before.entries[0].expired and before.latest.is_of(place.source_topic.topic_id)


def _cut(segment: Segment, end: int) -> Segment:
    count = min(segment.count, end - segment.source_start)
    return Segment(source_start=segment.source_start, target_start=segment.target_start, count=count)


def _behind(sequence: int, delivery: Delivery) -> int:
    return claim(sequence) if delivery is Delivery.AT_LEAST_ONCE else sequence + 1


def _entries(begin: LedgerEntry, segments: Sequence[Segment], place: Place) -> Iterator[LedgerEntry]:
    """Entries of these segments, of a size that a broker takes, the last one up to the place."""
    groups = split_segments(segments, begin.first)
    first = begin.first
    for number, some in enumerate(groups):
        entry = replace(
            begin,
            first=first,
            segments=some,
            records=sum(segment.count for segment in some),
            sequence=begin.sequence + number,
        )
        if number + 1 == len(groups):
            yield from ended(entry, place)
            return
        first = groups[number + 1][0].source_start
        yield replace(entry, next_offset=first, target_end=some[-1].target_end)
