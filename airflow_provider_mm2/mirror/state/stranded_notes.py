"""What a person has said of records that a failover left behind on the old source, and how far it is done.

One record a partition in the gate's topic on the new side, under a key of its own kind. A chunk of copies and the note
of how far it came are one transaction, so none is copied twice however often it is interrupted.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum

from pydantic import TypeAdapter, ValidationError

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.json_text import compact_json, json_object
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

VERSION = 1
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
    key = compact_json({"kind": KIND, "topic": note.topic, "partition": note.partition, "version": VERSION})
    value = compact_json({**dataclasses.asdict(note), "choice": note.choice.value, "version": VERSION})
    return StateRecord(topic=naming.gate_topic(flow), partition=0, key=key, value=value, turn=turn)


def read_notes(new_side: ClusterReader, flow: str, tick: Tick) -> dict[TopicPartition, StrandedNote]:
    """What was said, by partition of the old source.

    :raises StateDamaged: a record cannot be believed.
    """
    topic = naming.gate_topic(flow)
    found: dict[TopicPartition, StrandedNote] = {}
    for record in new_side.read_state(TopicPartition(topic, 0), tick):
        if json_object(record.key).get("kind") != KIND or record.value is None:
            continue
        document = json_object(record.value)
        try:
            if document.pop("version", None) != VERSION:
                raise ValueError(f"not of version {VERSION}")
            note = _NOTE.validate_python(document)
        except (ValidationError, ValueError) as error:
            raise StateDamaged(topic=topic, partition=0, offset=record.offset, problem=str(error)) from error
        found[note.source] = note
    return found
