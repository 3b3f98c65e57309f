"""Records that were written to the old source and never mirrored: found, counted and listed.

They lie behind the progress that the forward flow recorded. Nothing is written before somebody has said what becomes of
them (``stranded_work.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

from airflow_provider_mm2.mirror.clusters import mm2_topics, naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.errors import (
    StrandedDecided,
    StrandedUndecided,
    TargetTransactionOpen,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import Record, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded, StrandedNote
from airflow_provider_mm2.mirror.state_model import PartitionLedger

LISTED = 100
"""Records of a partition that are kept for a list; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrandedRange:
    """The stranded records of one partition.

    :param start: first source offset that was not mirrored, and of which nobody has said anything.
    :param end: where the old source's log ended when it was looked at.
    :param records: how many a reader sees there.
    :param listed: the first of them.
    """

    source: TopicPartition
    topic_id: str
    start: int
    end: int
    records: int
    listed: tuple[Record, ...] = ()


def find_stranded(
    flow: MirrorFlow,
    old: ClusterReader,
    ledgers: Mapping[TopicPartition, PartitionLedger],
    notes: Mapping[TopicPartition, StrandedNote],
    tick: Tick,
) -> tuple[StrandedRange, ...]:
    """Every partition of the old source with records that were never mirrored and that nobody has decided on.

    Heartbeats are left out: they say nothing once their time is over.

    :raises TargetTransactionOpen: a transaction is open there, so that it is not known what will be a record.
    """
    selected = select_topics(flow, naming.policy_of(flow), old.list_topics()).topics
    beats = mm2_topics.heartbeats_topic(naming.policy_of(flow))
    topics = old.describe_topics([name for name in selected if name != beats])
    parts = [TopicPartition(name, number) for name, info in topics.items() for number in range(info.partitions)]
    logs = old.log_offsets(parts) if parts else {}
    for part, log in sorted(logs.items()):
        if log.stable < log.end:
            raise TargetTransactionOpen(
                target_topic=part.topic, partition=part.partition, stable=log.stable, end=log.end
            )
    found: list[StrandedRange] = []
    for part, log in sorted(logs.items()):
        info = topics[part.topic]
        start = max(log.start, _mirrored(ledgers.get(part), info), _decided(notes.get(part), info))
        if start < log.end:
            found.append(_counted(old, part, info, (start, log.end), tick))
    return tuple(each for each in found if each.records)


def _mirrored(ledger: PartitionLedger | None, info: TopicInfo) -> int:
    is_known = ledger is not None and ledger.latest.is_of(info.topic_id)
    return ledger.latest.next_offset if ledger is not None and is_known else 0


def _decided(note: StrandedNote | None, info: TopicInfo) -> int:
    return note.end if note is not None and note.topic_id == info.topic_id else 0


def _counted(
    old: ClusterReader, part: TopicPartition, info: TopicInfo, span: tuple[int, int], tick: Tick
) -> StrandedRange:
    start, end = span
    with closing(old.read_records(part, start, end, tick)) as records:
        listed = tuple(replace(record, value=None, headers=()) for record in islice(records, LISTED))
        more = sum(1 for _ in records)
    count = len(listed) + more
    return StrandedRange(source=part, topic_id=info.topic_id, start=start, end=end, records=count, listed=listed)


def list_stranded(
    old: ClusterReader, ranges: Sequence[StrandedRange], tick: Tick
) -> Iterator[tuple[TopicPartition, Record]]:
    """Every stranded record, partition by partition."""
    for each in ranges:
        with closing(old.read_records(each.source, each.start, each.end, tick)) as records:
            yield from ((each.source, record) for record in records)


def check_decided(flow: str, alias: str, ranges: Sequence[StrandedRange], choice: Stranded | None) -> None:
    """Refuse to go on while nobody has said what becomes of stranded records.

    :param flow: the forward flow, which people call.
    :param alias: the side that they are on.

    :raises StrandedUndecided: with how many there are.
    """
    if ranges and choice is None:
        raise StrandedUndecided(
            flow=flow,
            alias=alias,
            records=sum(each.records for each in ranges),
            partitions=tuple(f"{each.source} from {each.start:,}: {each.records:,}" for each in ranges[:10]),
        )


def check_same(flow: str, notes: Iterable[StrandedNote], choice: Stranded | None) -> None:
    """Refuse another choice while some of an earlier one is copied already.

    :raises StrandedDecided: it is another one.
    """
    for note in notes:
        if not note.is_done and note.next_offset > note.start and choice not in (None, note.choice):
            raise StrandedDecided(flow=flow, asked=str(choice and choice.value), decided=note.choice.value)
