"""What a shard's run has done so far, and what is told of it at the end. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.interval.admission import Admission, Shard
from airflow_provider_mm2.mirror.interval.book import LedgerBook, target_span
from airflow_provider_mm2.mirror.interval.repeats import among_warnings, found_warnings
from airflow_provider_mm2.mirror.model import CopiedRange, PartitionResult, RangeEnd, TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.state.incidents import describe


@dataclass(slots=True)
class Tally:
    """What a run has done with one partition so far."""

    records: int = 0
    bytes: int = 0
    target_start: int | None = None
    target_end: int | None = None
    ended: RangeEnd | None = None
    future: tuple[int, int] | None = None
    future_records: int = 0

    def add(self, copied: CopiedRange) -> None:
        """Take in one chunk."""
        self.records += copied.records
        self.bytes += copied.bytes
        self.ended = copied.ended
        self.future = self.future or copied.future
        self.future_records += copied.future_records
        span = target_span(copied.segments)
        if span is not None:
            self.target_start = span[0] if self.target_start is None else self.target_start
            self.target_end = span[1]


Tallies = Mapping[TopicPartition, Tally]


def partition_results(admission: Admission, book: LedgerBook, tallies: Tallies) -> tuple[PartitionResult, ...]:
    """What the run did with each partition of the shard."""
    return tuple(
        PartitionResult(
            source=item.source,
            target_topic=item.target.topic,
            start=item.start,
            end=book.entry(item.source).next_offset,
            bound=item.end,
            records=tallies[item.source].records,
            bytes=tallies[item.source].bytes,
            ended=tallies[item.source].ended or RangeEnd.BOUND,
            target_start=tallies[item.source].target_start,
            target_end=tallies[item.source].target_end,
            through_ms=book.entry(item.source).through_ms,
        )
        for item in admission.ranges
    )


def run_warnings(
    shard: Shard,
    admission: Admission,
    tallies: Tallies,
    incidents: Iterable[Incident],
    results: Iterable[PartitionResult],
    among: Mapping[TopicPartition, int],
) -> Iterator[str]:
    """What did not stop the run and is worth knowing.

    :param among: records of others, or repeats, that came among those of the run, by target partition.
    """
    is_told = shard.flow.on_foreign_writes != "accept"
    for incident in incidents:
        if is_told or incident.kind is not IncidentKind.FOREIGN_WRITES:
            yield describe(incident)
    for part in admission.restored:
        yield f"{part}: the progress group had no offset (expired or deleted); restored from the ledger"
    yield from found_warnings(admission.facts.values())
    yield from among_warnings(sorted(among.items()))
    for late in admission.late:
        yield f"{late} came up after the plan and waits for the next run"
    yield from _future_warnings(tallies)
    yield from _open_warnings(admission)
    yield from _empty_warnings(shard.number, results)


def _future_warnings(tallies: Tallies) -> Iterator[str]:
    for part, tally in tallies.items():
        if tally.future is not None:
            offset, stamp = tally.future
            yield (
                f"{part}: {tally.future_records} record(s) stamped in the future were copied and did not end the "
                f"interval, the first at offset {offset} stamped {show(stamp)}"
            )


def _open_warnings(admission: Admission) -> Iterator[str]:
    for part, fact in admission.facts.items():
        held_back = fact.source_log.end - fact.source_log.stable
        seen = None if fact.ledger is None else fact.ledger.latest.pending
        if held_back and seen is not None and seen[0] == fact.source_log.stable:
            yield (
                f"{part}: a transaction is open on the source at offset {seen[0]:,} since {show(seen[1])} at least; "
                f"the {held_back:,} offsets from there on cannot be read before it ends"
            )


def _empty_warnings(number: int, results: Iterable[PartitionResult]) -> Iterator[str]:
    looked_at = [result for result in results if result.bound > result.start]
    if looked_at and not any(result.records for result in looked_at):
        offsets = sum(result.bound - result.start for result in looked_at)
        yield (
            f"shard {number}: {offsets:,} offset(s) to look at and no record to copy, on "
            f"{len(looked_at)} partition(s), the first {looked_at[0].source} (ended by {looked_at[0].ended.value} at "
            f"{looked_at[0].end}): all is stamped at the run's end or later, or was aborted"
        )
