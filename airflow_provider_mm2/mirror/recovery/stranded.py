"""Records that were written to the old source and never mirrored: found, listed, and dealt with as a person says.

They lie behind the progress that the forward flow recorded. Nothing is written before somebody has said what becomes of
them; then they stay, or are copied to the new side: behind what is there, or to a topic of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

from airflow_provider_mm2.mirror.clusters import mm2_topics, naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, StateWriter, TargetCluster, Tick
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.errors import (
    FailbackRefused,
    StrandedDecided,
    StrandedUndecided,
    TargetTransactionOpen,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow, TopicSync
from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.interval.carried import carried_settings
from airflow_provider_mm2.mirror.model import NewTopic, Record, TopicInfo, TopicPartition, TopicSetting
from airflow_provider_mm2.mirror.recovery.work import Report, now_ms
from airflow_provider_mm2.mirror.state.incidents import to_record as incident_record
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded, StrandedNote, note_record
from airflow_provider_mm2.mirror.state_model import PartitionLedger, StateRecord

HEADER = "mm2-stranded"
"""Of a copied record; its value says where it came from: ``<alias>/<topic>-<partition>@<offset>``."""

LISTED = 100
"""Records of a partition that are kept for a list; all are counted."""

CHUNK_RECORDS, CHUNK_BYTES = 1000, 8_000_000
"""Limits of one transaction of copies."""


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
    is_known = ledger is not None and ledger.latest.source_topic_id == info.topic_id
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


@dataclass(slots=True, kw_only=True)
class StrandedWork:
    """Doing what was said; the control lease of the flow is held and its control id fenced.

    :param old: the old source, which is only read.
    :param new: the new side.
    """

    flow: MirrorFlow
    old: ClusterReader
    new: TargetCluster
    writer: StateWriter
    by: str
    tick: Tick
    report: Report

    def decide(self, ranges: Sequence[StrandedRange], choice: Stranded) -> list[StrandedNote]:
        """Put on record what was said of all ranges, in one write."""
        places = self._places([each.source.topic for each in ranges], choice)
        notes = [
            StrandedNote(
                topic=each.source.topic,
                partition=each.source.partition,
                topic_id=each.topic_id,
                start=each.start,
                end=each.end,
                records=each.records,
                choice=choice,
                next_offset=each.end if choice is Stranded.KEEP else each.start,
                copied_to=places.get(each.source.topic),
                by=self.by,
                at_ms=now_ms(),
            )
            for each in ranges
        ]
        self._record(notes)
        return notes

    def decide_anew(self, notes: Sequence[StrandedNote], choice: Stranded) -> list[StrandedNote]:
        """Put another choice on record for what was decided and not begun."""
        places = self._places([note.topic for note in notes], choice)
        changed = [
            replace(
                note,
                choice=choice,
                copied_to=places.get(note.topic),
                next_offset=note.end if choice is Stranded.KEEP else note.start,
                by=self.by,
                at_ms=now_ms(),
            )
            for note in notes
        ]
        self._record(changed)
        return changed

    def _record(self, notes: Sequence[StrandedNote]) -> None:
        incidents = [incident_record(self.flow.name, _incident(note)) for note in notes]
        self.writer.write([*incidents, *(note_record(self.flow.name, note, turn=1) for note in notes)], self.tick)

    def carry_out(self, notes: Sequence[StrandedNote]) -> int:
        """Copy what is left of it; gives how many records were copied."""
        left = [note for note in notes if not note.is_done]
        if left:
            self._make_places(left)
        return sum(self._copy(note) for note in left)

    def _places(self, topics: Iterable[str], choice: Stranded) -> dict[str, str]:
        """The topic on the new side for each topic."""
        if choice is Stranded.KEEP:
            return {}
        if choice is Stranded.QUARANTINE:
            return {topic: naming.stranded_topic(self.flow.name, topic) for topic in topics}
        policy, alias = naming.policy_of(self.flow), self.flow.source.alias
        return {topic: policy.format_remote_topic(alias, topic) for topic in topics}

    def _make_places(self, notes: Sequence[StrandedNote]) -> None:
        """Topics with the partitions that the copies need, which take and keep what the old ones do."""
        sources = self.old.describe_topics(sorted({note.topic for note in notes}))
        settings = self.old.topic_settings(list(sources))
        wanted = {note.copied_to: note for note in notes if note.copied_to is not None}
        present = self.new.describe_topics(list(wanted))
        self.new.create_topics(
            [
                NewTopic(
                    name=name,
                    partitions=sources[note.topic].partitions,
                    replication_factor=self.flow.replication_factor,
                    settings=self._settings(note, settings[note.topic]),
                )
                for name, note in wanted.items()
                if name not in present
            ]
        )
        for name, info in present.items():
            partitions = sources[wanted[name].topic].partitions
            if info.partitions < partitions:
                self.new.grow_topic(name, partitions)

    def _settings(self, note: StrandedNote, source: Mapping[str, TopicSetting]) -> dict[str, str]:
        """Settings of a topic that is made for copies; what is put aside is kept until somebody deletes it."""
        carrying = self.flow.model_copy(update={"sync_topics": TopicSync()})
        carried = carried_settings(carrying, source)
        if note.choice is Stranded.QUARANTINE:
            return {**carried, "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
        return carried

    def _copy(self, note: StrandedNote) -> int:
        """Copy one partition, chunk by chunk, each in one transaction with how far it came."""
        copied = 0
        with closing(self.old.read_records(note.source, note.next_offset, note.end, self.tick)) as records:
            for chunk in _chunks(records):
                self._write(note, chunk, chunk[-1].offset + 1)
                copied += len(chunk)
                self.report(f"{copied:,} stranded record(s) of {note.source} copied to {note.copied_to}")
        self._write(note, (), note.end)
        return copied

    def _write(self, note: StrandedNote, chunk: Sequence[Record], next_offset: int) -> None:
        copies = [self._copy_of(note, record) for record in chunk]
        told = note_record(self.flow.name, replace(note, next_offset=next_offset), turn=1)
        self.writer.write([*copies, told], self.tick)

    def _copy_of(self, note: StrandedNote, record: Record) -> StateRecord:
        if record.timestamp_ms == 0:
            problem = f"{note.source} offset {record.offset} is stamped exactly 0 (1970), which cannot be carried over"
            raise FailbackRefused(flow=self.flow.name, problems=(problem,))
        origin = f"{self.flow.source.alias}/{note.source}@{record.offset}".encode()
        return StateRecord(
            topic=str(note.copied_to),
            partition=note.partition,
            key=record.key,
            value=record.value,
            headers=(*record.headers, (HEADER, origin)),
            timestamp_ms=record.timestamp_ms,
        )


def _chunks(records: Iterator[Record]) -> Iterator[list[Record]]:
    chunk: list[Record] = []
    size = 0
    for record in records:
        chunk.append(record)
        size += record.size
        if len(chunk) == CHUNK_RECORDS or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _incident(note: StrandedNote) -> Incident:
    return Incident(
        kind=IncidentKind.STRANDED,
        topic=note.topic,
        partition=note.partition,
        at_ms=note.at_ms,
        start=note.start,
        end=note.end,
        records=note.records,
        decided_by=f"--stranded {note.choice.value}, {note.by}",
    )
