"""The group snapshot: what every selected source group had committed, kept on the target for when the source is gone.

One record a group, so that a run writes only the groups that moved; one that says when all were last gone through; and
one for each target group that is being made anew, so that a crash in between loses none of its offsets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import TargetCluster, Tick
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.model import (
    GroupOffsets,
    GroupRecord,
    GroupSnapshot,
    LogRecord,
    StateRecord,
    TopicPartition,
)

VERSION = 1
_TAKEN, _GROUP, _SAVED = "taken", "group", "saved"


def read_snapshot(target: TargetCluster, flow: str, tick: Tick) -> GroupSnapshot:
    """The snapshot as it stands; an empty one before the first.

    :raises StateDamaged: a record cannot be believed.
    """
    topic = naming.groups_topic(flow)
    taken_ms: int | None = None
    groups: dict[str, GroupRecord] = {}
    saved: dict[str, Mapping[TopicPartition, int]] = {}
    for record in _records(target, topic, tick):
        try:
            kind, name = _decode_key(record.key)
            value = None if record.value is None else _document(record.value)
            if kind == _TAKEN:
                taken_ms = None if value is None else int(value["taken_ms"])
            elif value is None:
                (groups if kind == _GROUP else saved).pop(name, None)
            elif kind == _GROUP:
                groups[name] = _group(name, value)
            else:
                saved[name] = dict(_offsets(value["offsets"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StateDamaged(topic=topic, partition=0, offset=record.offset, problem=str(error)) from error
    return GroupSnapshot(taken_ms=taken_ms, groups=groups, saved=saved)


def _records(target: TargetCluster, topic: str, tick: Tick) -> Iterator[LogRecord]:
    if target.describe_topics([topic]):
        yield from target.read_state(TopicPartition(topic, 0), tick)


def taken_record(flow: str, taken_ms: int) -> StateRecord:
    """The record that says when all groups were last gone through."""
    return _record(flow, _TAKEN, "", {"taken_ms": taken_ms})


def group_record(flow: str, group: GroupRecord) -> StateRecord:
    """The record of one group."""
    found = group.found
    document = {
        "taken_ms": group.taken_ms,
        "offsets": [[*part, offset] for part, offset in sorted(found.offsets.items())],
        "metadata": [[*part, text] for part, text in sorted(found.metadata.items())],
        "pending": [list(part) for part in sorted(found.pending)],
    }
    return _record(flow, _GROUP, group.name, document)


def saved_record(flow: str, name: str, offsets: Mapping[TopicPartition, int]) -> StateRecord:
    """The record that keeps a target group's offsets while it is made anew."""
    return _record(flow, _SAVED, name, {"offsets": [[*part, offset] for part, offset in sorted(offsets.items())]})


def group_removal(flow: str, name: str) -> StateRecord:
    """The record that removes a group which is not selected any more."""
    return _record(flow, _GROUP, name, None)


def saved_removal(flow: str, name: str) -> StateRecord:
    """The record that removes what was saved of a target group."""
    return _record(flow, _SAVED, name, None)


def _record(flow: str, kind: str, name: str, document: dict[str, Any] | None) -> StateRecord:
    return StateRecord(
        topic=naming.groups_topic(flow),
        partition=0,
        key=_json({"kind": kind, "name": name, "version": VERSION}),
        value=None if document is None else _json({**document, "version": VERSION}),
    )


def _decode_key(key: bytes | None) -> tuple[str, str]:
    if key is None:
        raise ValueError("it has no key")
    document = _document(key)
    if document["kind"] not in (_TAKEN, _GROUP, _SAVED):
        raise ValueError(f"kind {document['kind']!r} is not known")
    return document["kind"], str(document["name"])


def _group(name: str, value: dict[str, Any]) -> GroupRecord:
    found = GroupOffsets(
        offsets=dict(_offsets(value["offsets"])),
        metadata={TopicPartition(topic, number): text for topic, number, text in value["metadata"]},
        pending=frozenset(TopicPartition(topic, number) for topic, number in value["pending"]),
    )
    return GroupRecord(name=name, taken_ms=int(value["taken_ms"]), found=found)


def _offsets(rows: list[tuple[str, int, int]]) -> Iterator[tuple[TopicPartition, int]]:
    for topic, number, offset in rows:
        if type(number) is not int or type(offset) is not int or min(number, offset) < 0:
            raise ValueError(f"{topic!r}, {number!r}, {offset!r} is not a position")
        yield TopicPartition(topic, number), offset


def _document(data: bytes) -> dict[str, Any]:
    document: object = json.loads(data)
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    if document.get("version") != VERSION:
        raise ValueError(f"version {document.get('version')!r}, known is {VERSION}")
    return document


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
