"""Target groups that are being made anew: all they had, kept until it is committed again.

One topic for all flows to a target, since a group may read topics of several of them: whoever comes next, of whatever
flow, puts back what a crash left. The lease on it lets one flow at a time write groups there; without it one flow took
a group that another had just deleted for one without offsets, and set it back.
"""

from __future__ import annotations

import json
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.json_text import compact_json
from airflow_provider_mm2.mirror.model import LogRecord, TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

VERSION = 1


def saved_record(flow: str, name: str, found: GroupOffsets) -> StateRecord:
    """The record that keeps what a group has."""
    rows = [[*part, offset, found.metadata.get(part, "")] for part, offset in sorted(found.offsets.items())]
    return _record(flow, name, {"version": VERSION, "offsets": rows})


def saved_removal(flow: str, name: str) -> StateRecord:
    """The record that removes what was kept of a group."""
    return _record(flow, name, None)


def read_saved(target: ClusterReader, flow: str, tick: Tick) -> dict[str, GroupOffsets]:
    """What is kept, by group; of a drill's flow by its own groups alone.

    :raises StateDamaged: a record cannot be believed.
    """
    topic = naming.renewals_topic(flow)
    if not target.describe_topics([topic]):
        return {}
    found: dict[str, GroupOffsets] = {}
    for record in target.read_state(TopicPartition(topic, 0), tick):
        try:
            name = _name(record)
            found.pop(name, None)
            if record.value is not None:
                found[name] = _decode(record.value)
        except (ValueError, KeyError, TypeError) as error:
            problem = str(error)
            raise StateDamaged(topic=topic, partition=0, offset=record.offset, problem=problem) from error
    return found


def _record(flow: str, name: str, document: dict[str, Any] | None) -> StateRecord:
    return StateRecord(
        topic=naming.renewals_topic(flow),
        partition=0,
        key=compact_json({"kind": "renewal", "group": name}),
        value=None if document is None else compact_json(document),
    )


def _name(record: LogRecord) -> str:
    return str(json.loads(record.key or b"")["group"])


def _decode(value: bytes) -> GroupOffsets:
    document: Any = json.loads(value)
    if document["version"] != VERSION:
        raise ValueError(f"version {document['version']!r}, known is {VERSION}")
    rows = [
        (TopicPartition(str(topic), int(number)), int(at), str(text)) for topic, number, at, text in document["offsets"]
    ]
    return GroupOffsets(
        offsets={part: at for part, at, _ in rows}, metadata={part: text for part, _, text in rows if text}
    )
