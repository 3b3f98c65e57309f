"""What a way home was opened from, kept beside its flow record."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace

from pydantic import TypeAdapter, ValidationError

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.json_text import compact_json, json_object
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

VERSION = 1
KIND = "way home"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a way home was opened from; kept beside its flow record.

    :param digest: of the forward flow's progress.
    :param owes: whether it was failed over without the side that it left, and the forward flow does not know of it.
    """

    digest: str
    by: str
    at_ms: int
    owes: bool = False


_OPENED = TypeAdapter(Opened)


def read_opened(home: ClusterReader, flow: str, tick: Tick) -> Opened | None:
    """What a way home was last opened from, by its name; None: it never was.

    :raises StateDamaged: the record cannot be believed.
    """
    topic, found = naming.gate_topic(flow), None
    if not home.describe_topics([topic]):
        return None
    for record in home.read_state(TopicPartition(topic, 0), tick):
        if json_object(record.key).get("kind") != KIND or record.value is None:
            continue
        document = json_object(record.value)
        try:
            if document.pop("version", None) != VERSION:
                raise ValueError(f"not of version {VERSION}")
            found = _OPENED.validate_python(document)
        except (ValidationError, ValueError) as error:
            raise StateDamaged(topic=topic, partition=0, offset=record.offset, problem=str(error)) from error
    return found


def owed_hand_over(home: ClusterReader, flow: str, tick: Tick) -> list[StateRecord]:
    """The record that says so, for a way home that is failed over without the side it leaves."""
    known = read_opened(home, flow, tick)
    return [] if known is None else [opened_record(flow, replace(known, owes=True))]


def opened_record(flow: str, opened: Opened) -> StateRecord:
    """The record that keeps it."""
    key = compact_json({"kind": KIND, "version": VERSION})
    value = compact_json({**dataclasses.asdict(opened), "version": VERSION})
    return StateRecord(topic=naming.gate_topic(flow), partition=0, key=key, value=value)
