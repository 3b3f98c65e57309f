"""What was accepted although it would have stopped a run: kept in the gate's topic for ever, and shown.

An incident is written in the transaction that goes on because of it, so neither is there without the other.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.json_text import json_object
from airflow_provider_mm2.mirror.model import LogRecord, TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.state_model import StateRecord

VERSION = 1
KIND = "incident"


def encode_key(incident: Incident) -> bytes:
    """Bytes of an incident's key: one for each, but foreign writes that a policy accepts, which are counted up."""
    return _json(
        {
            "kind": KIND,
            "incident": incident.kind.value,
            "topic": incident.topic,
            "partition": incident.partition,
            "at_ms": 0 if is_counted_up(incident) else incident.at_ms,
        }
    )


def is_counted_up(incident: Incident) -> bool:
    """Whether an incident of a partition goes on where the one before it ended, in one entry."""
    return incident.kind is IncidentKind.FOREIGN_WRITES and incident.decided_by.startswith("on_foreign_writes")


def encode_value(incident: Incident) -> bytes:
    """Bytes of an incident."""
    return _json({**dataclasses.asdict(incident), "kind": incident.kind.value, "version": VERSION})


def decode_value(value: bytes) -> Incident:
    """An incident from its bytes.

    :raises ValueError: not an incident of a known version.
    """
    document: Any = json.loads(value)
    if not isinstance(document, dict) or document.pop("version", None) != VERSION:
        raise ValueError(f"not an incident of version {VERSION}")
    try:
        return Incident(**{**document, "kind": IncidentKind(document["kind"])})
    except (TypeError, KeyError) as error:
        raise ValueError(f"fields are missing or unknown: {error}") from error


def to_record(flow: str, incident: Incident) -> StateRecord:
    """The record that keeps an incident."""
    topic = naming.gate_topic(flow)
    return StateRecord(topic=topic, partition=0, key=encode_key(incident), value=encode_value(incident))


def read_incidents(target: ClusterReader, flow: str, tick: Tick) -> tuple[Incident, ...]:
    """Every incident of a flow, oldest first; none where it never ran.

    :raises StateDamaged: a record cannot be believed.
    """
    topic = naming.gate_topic(flow)
    if topic not in target.describe_topics([topic]):
        return ()
    found: dict[bytes, Incident] = {}
    for record in target.read_state(TopicPartition(topic, 0), tick):
        if record.key is None or record.value is None or not _is_incident(record):
            continue
        try:
            found[record.key] = decode_value(record.value)
        except ValueError as error:
            raise StateDamaged(topic=topic, partition=0, offset=record.offset, problem=str(error)) from error
    return tuple(sorted(found.values(), key=lambda incident: (incident.at_ms, incident.source)))


def counted_up(new: Iterable[Incident], known: Iterable[Incident]) -> tuple[Incident, ...]:
    """Incidents to be written, those of a kind that is counted up with what they add to the known one."""
    before = {encode_key(incident): incident for incident in known}
    return tuple(_added(before.get(encode_key(incident)), incident) for incident in new)


def describe(incident: Incident) -> str:
    """An incident as people read it."""
    span = f"[{incident.start:,}, {incident.end:,})"
    records = "" if incident.records is None else f", {incident.records:,} record(s)"
    times = f", {incident.times:,} times" if incident.times > 1 else ""
    is_first = incident.start == incident.end
    seeded = "progress began" if is_first else f"progress was set from {incident.start:,}"
    what = {
        IncidentKind.GAP: f"source offsets {span} were gone before they were copied",
        IncidentKind.TRUNCATED: f"the source lost offsets {span}, which are copied and stay on the target",
        IncidentKind.SOURCE_RECREATED: f"the source topic was made anew after offsets {span} of the old one",
        IncidentKind.TARGET_RECREATED: f"the target topic was made anew; source offsets {span} are copied once more",
        IncidentKind.FOREIGN_WRITES: f"somebody else wrote to target offsets {span}",
        IncidentKind.SEEDED: f"{seeded} {'at' if is_first else 'to'} {incident.end:,}",
        IncidentKind.FORGOTTEN: f"progress at {incident.end:,} was forgotten",
        IncidentKind.STRANDED: f"source offsets {span} were stranded by a failover and are not mirrored",
    }[incident.kind]
    if incident.kind is IncidentKind.SEEDED and records:
        records += " before it" if is_first else " between"
    return f"{incident.source}: {what}{records}{times} ({incident.decided_by})"


def incident_json(incident: Incident) -> dict[str, Any]:
    """An incident as plain values; offsets are those of the source, with foreign writes those of the target."""
    document = {**dataclasses.asdict(incident), "kind": incident.kind.value, "text": describe(incident)}
    return {**document, "at": show(document.pop("at_ms"))}


def _added(before: Incident | None, new: Incident) -> Incident:
    if before is None or not is_counted_up(new):
        return new
    records = None if before.records is None or new.records is None else before.records + new.records
    return replace(new, start=before.start, records=records, times=before.times + new.times)


def _is_incident(record: LogRecord) -> bool:
    return json_object(record.key).get("kind") == KIND


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
