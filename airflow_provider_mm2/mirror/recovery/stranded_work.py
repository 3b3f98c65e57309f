"""Doing with stranded records what a person said: deciding on record, then copying, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, StateWriter, TargetCluster, Tick
from airflow_provider_mm2.mirror.errors import (
    FailbackRefused,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow, TopicSync
from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.interval.carried import carried_settings
from airflow_provider_mm2.mirror.model import NewTopic, Record, TopicSetting
from airflow_provider_mm2.mirror.recovery.stranded import StrandedRange
from airflow_provider_mm2.mirror.recovery.work import Report, now_ms
from airflow_provider_mm2.mirror.state.incidents import to_record as incident_record
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded, StrandedNote, note_record
from airflow_provider_mm2.mirror.state_model import StateRecord

HEADER = "mm2-stranded"
"""Of a copied record; its value says where it came from: ``<alias>/<topic>-<partition>@<offset>``."""

CHUNK_RECORDS, CHUNK_BYTES = 1000, 8_000_000
"""Limits of one transaction of copies."""


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
