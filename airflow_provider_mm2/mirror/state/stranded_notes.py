"""What a person has said of records that a failover left behind on the old source, and how far it is done.

One record a partition in the gate's topic on the new side, under a key of its own kind. A chunk of copies and the note
of how far it came are one transaction, so none is copied twice however often it is interrupted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pydantic import TypeAdapter

from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state.kinds import kind_record, read_kind
from airflow_provider_mm2.mirror.state_model import StateRecord

KIND = "stranded"


class Stranded(str, Enum):
    """What becomes of records that were written to the old source and never mirrored."""

    KEEP = "keep"
    COPY = "copy"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrandedNote:
    """What was said of the source offsets ``[start, end)`` of a partition; below ``next_offset`` it is done.

    :param records: how many a reader sees among them.
    :param copied_to: the topic on the new side that has them; None: they stay where they are.
    """

    topic: str
    partition: int
    topic_id: str
    start: int
    end: int
    records: int
    choice: Stranded
    next_offset: int
    copied_to: str | None
    by: str
    at_ms: int

    @property
    def source(self) -> TopicPartition:
        """The partition on the old source."""
        return TopicPartition(self.topic, self.partition)

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to be copied."""
        return self.next_offset >= self.end


_NOTE = TypeAdapter(StrandedNote)


def note_record(flow: str, note: StrandedNote, turn: int = 0) -> StateRecord:
    """The record that keeps a note."""
    return kind_record(flow, KIND, {"topic": note.topic, "partition": note.partition}, note, turn)


def read_notes(new_side: ClusterReader, flow: str, tick: Tick) -> dict[TopicPartition, StrandedNote]:
    """What was said, by partition of the old source.

    :raises StateDamaged: a record cannot be believed.
    """
    return {note.source: note for note in read_kind(new_side, flow, KIND, _NOTE, tick)}
