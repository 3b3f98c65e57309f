"""What a failback is told as: the document of ``mm2 failback --json``. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.model import Record, TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.recovery.stranded import StrandedRange
from airflow_provider_mm2.mirror.state.stranded_notes import StrandedNote

NOT_PREPARED, PREPARED, NOT_HANDED_OVER = "not prepared", "prepared", "at home, not handed over"
"""How far a failback is before its own failover begins; the last: that one could not reach the side it left."""

HOME = "at home"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """What there is to bring home of one partition: offsets ``[start, end)`` of the active side."""

    source: TopicPartition
    target: TopicPartition
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailbackReport:
    """What coming home means, or that it is prepared.

    :param flow: the flow that failed over.
    :param way: the name of its way home.
    :param stranded: records nobody has decided on.
    :param notes: what was said of those before.
    """

    flow: str
    way: str
    old_side: str
    state: str
    stranded: tuple[StrandedRange, ...] = ()
    notes: tuple[StrandedNote, ...] = ()
    coming: tuple[Coming, ...] = ()
    copied: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def stranded_records(self) -> int:
        """How many records nobody has decided on."""
        return sum(each.records for each in self.stranded)

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 failback --json``; of stranded records the first of each partition are listed."""
        return {
            "flow": self.flow,
            "way_home": self.way,
            "state": self.state,
            "stranded_records": self.stranded_records,
            "stranded": [_stranded_json(each) for each in self.stranded],
            "decided": [_note_json(note) for note in self.notes],
            "coming_home": [
                {
                    "topic": each.source.topic,
                    "partition": each.source.partition,
                    "target_topic": each.target.topic,
                    "start": each.start,
                    "end": each.end,
                }
                for each in self.coming
            ],
            "copied": self.copied,
            "warnings": list(self.warnings),
        }


def _stranded_json(each: StrandedRange) -> dict[str, Any]:
    return {
        "topic": each.source.topic,
        "partition": each.source.partition,
        "start": each.start,
        "end": each.end,
        "records": each.records,
        "listed": [record_row(each.source, record) for record in each.listed],
    }


def record_row(part: TopicPartition, record: Record) -> dict[str, Any]:
    """A stranded record as plain values; its key as text where it is text."""
    text, hexadecimal = None, None
    if record.key is not None:
        try:
            text = record.key.decode()
        except UnicodeDecodeError:
            hexadecimal = record.key.hex()
    row = {"topic": part.topic, "partition": part.partition, "offset": record.offset, "key": text}
    stamp = None if record.timestamp_ms < 0 else show(record.timestamp_ms)
    return {**row, **({} if hexadecimal is None else {"key_hex": hexadecimal}), "timestamp": stamp}


def _note_json(note: StrandedNote) -> dict[str, Any]:
    return {
        "topic": note.topic,
        "partition": note.partition,
        "start": note.start,
        "end": note.end,
        "records": note.records,
        "choice": note.choice.value,
        "copied_to": note.copied_to,
        "done": note.is_done,
        "by": note.by,
        "at": show(note.at_ms),
    }
