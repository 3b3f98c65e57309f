"""Going on from another place than the ledger says: what of the map stays, and what a new generation begins with. Pure.

Forward the map stays as it is, and what was passed over is a hole on the source: right where nothing of it was copied.
Behind copies that another tool has made a new generation of the partition begins and keeps nothing, since a group in
such a hole would be put behind copies that it has not read. Back, or on another topic, a new generation begins, too: of
the same log it keeps what lies below the new place, of another one nothing.
The records of the old generation are removed in the same transaction, so a reader finds one or the other. Without
transactions they are removed last, and the entry that the new generation goes on from has the highest number of all:
the reader believes the generation that has it (``unfenced.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_provider_mm2.mirror.model import Segment, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.state.unfenced import claim
from airflow_provider_mm2.mirror.state_model import Delivery, LedgerEntry, PartitionLedger

FIRST_GENERATION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a partition goes on: the topics as they are now, the next source offset, the target's end.

    ``delivery`` is that of the flow. An entry that stays keeps its own, since its records were written so.
    """

    source: TopicPartition
    target: TopicPartition
    source_topic: TopicInfo
    target_topic: TopicInfo
    source_cluster_id: str
    offset: int
    target_end: int
    delivery: Delivery = Delivery.EXACTLY_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebased:
    """A partition's ledger as it is to be: all of its entries that are not on record yet, and those to remove."""

    ledger: PartitionLedger
    unwritten: tuple[LedgerEntry, ...]
    removed: tuple[LedgerEntry, ...]


def rebase(ledger: PartitionLedger | None, place: Place) -> Rebased:
    """The ledger of a partition that goes on at ``place``.

    What it was mirrored through is not claimed any more when it goes back; ahead, the claim stays what it was.

    :param ledger: what is recorded, None where nothing is.
    """
    if ledger is None:
        return _all_new((opening(place, FIRST_GENERATION, _next(-1, place)),), ())
    latest = ledger.latest
    is_same_log = latest.is_of(place.source_topic.topic_id)
    is_same_log &= latest.target_topic_id == place.target_topic.topic_id
    sequence = _next(latest.sequence, place)
    if is_same_log and place.offset >= latest.next_offset:
        epoch = latest.leader_epoch if place.offset == latest.next_offset else None
        moved = ended(replace(latest, leader_epoch=epoch, pending=None, sequence=sequence), place)
        return Rebased(ledger=PartitionLedger(entries=(*ledger.entries[:-1], *moved)), unwritten=moved, removed=())
    kept = _below(ledger, place.offset) if is_same_log else ()
    if not kept:
        return begun_anew(ledger, place)
    *earlier, last = (replace(entry, generation=latest.generation + 1) for entry in kept)
    end = ended(replace(last, leader_epoch=None, pending=None, through_ms=None, sequence=sequence), place)
    return _all_new((*earlier, *end), ledger.entries)


def begun_anew(ledger: PartitionLedger, place: Place) -> Rebased:
    """The ledger of a partition of which nothing is known any more but that it goes on at ``place``."""
    latest = ledger.latest
    return _all_new((opening(place, latest.generation + 1, _next(latest.sequence, place)),), ledger.entries)


def ended(last: LedgerEntry, place: Place) -> tuple[LedgerEntry, ...]:
    """A partition's last entry, ending at a place; in two where its end would pass for something else.

    One offset behind its last record the target's end is foretold for the marker of the entry's own transaction. Where
    somebody else's record lies there, which a person or a policy has accepted, the end stands in an entry of its own.
    """
    whole = replace(last, next_offset=place.offset, target_end=place.target_end)
    if not last.segments or place.target_end != last.segments[-1].target_end + 1:
        return (whole,)
    mapped = replace(last, next_offset=last.segments[-1].source_end, target_end=last.segments[-1].target_end)
    rest = replace(whole, first=mapped.next_offset, segments=(), records=0, sequence=last.sequence + 1)
    return (mapped, rest)


def opening(place: Place, generation: int, sequence: int) -> LedgerEntry:
    """The first entry of a generation: nothing is mapped yet."""
    return LedgerEntry(
        generation=generation,
        source_topic_id=place.source_topic.topic_id,
        topic=place.source.topic,
        partition=place.source.partition,
        first=place.offset,
        segments=(),
        next_offset=place.offset,
        target_topic=place.target.topic,
        target_topic_id=place.target_topic.topic_id,
        target_end=place.target_end,
        source_cluster_id=place.source_cluster_id,
        leader_epoch=None,
        records=0,
        through_ms=None,
        sequence=sequence,
        delivery=place.delivery,
    )


def _next(sequence: int, place: Place) -> int:
    """The number of what is written behind ``sequence``; where nothing is fenced, above all that a late one writes."""
    return claim(sequence) if place.delivery is Delivery.AT_LEAST_ONCE else sequence + 1


def _all_new(entries: tuple[LedgerEntry, ...], removed: tuple[LedgerEntry, ...]) -> Rebased:
    return Rebased(ledger=PartitionLedger(entries=entries), unwritten=entries, removed=removed)


def _below(ledger: PartitionLedger, offset: int) -> tuple[LedgerEntry, ...]:
    """The entries that begin below a source offset, the last one cut at it."""
    kept = [entry for entry in ledger.entries if entry.first < offset]
    if not kept:
        return ()
    segments = tuple(_cut(segment, offset) for segment in kept[-1].segments if segment.source_start < offset)
    records = sum(segment.count for segment in segments)
    return (*kept[:-1], replace(kept[-1], segments=segments, records=records))


def _cut(segment: Segment, offset: int) -> Segment:
    if segment.source_end <= offset:
        return segment
    count = offset - segment.source_start
    return Segment(source_start=segment.source_start, target_start=segment.target_start, count=count)
