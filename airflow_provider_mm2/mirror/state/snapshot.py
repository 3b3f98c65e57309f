"""The group snapshot: what every selected source group had committed, kept on the target for when the source is gone.

One record a group, so that a run writes only the groups that moved, and one that says when all were last gone through.
Beside them, what of MirrorMaker 2's topics was written or read, so that a run reads only their ends.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.group_model import GroupOffsets, GroupRecord
from airflow_provider_mm2.mirror.json_text import compact_json
from airflow_provider_mm2.mirror.model import LogRecord, TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

VERSION = 1
_TAKEN, _GROUP, _PUBLISHED, _SYNCS, _READ = "taken", "group", "published", "syncs", "read"
_TURNS = {_GROUP: 1, _PUBLISHED: 1, _SYNCS: 1, _READ: 2, _TAKEN: 2}
"""Where there are no transactions: what is published (turn 0) before it is remembered as published, that before the
topics are said to be accounted for up to an end, the groups before they are said to have all been gone through. Half of
a write then says too little, and the next run makes up for it; the other order hid what was never written."""

OffsetPair = tuple[int, int]
"""Source offset and target offset."""


@dataclass(slots=True, kw_only=True)
class GroupSnapshot:
    """What stands in the topic.

    :param taken_ms: when all groups were last gone through; None: never.
    :param unread: groups that could not be read then, so what stands here of them is older.
    :param groups: every selected source group as it was last read, by name.
    :param published: newest checkpoint by group and target partition.
    :param syncs: newest offset sync by source partition.
    :param read: id and offset up to which each of MirrorMaker 2's topics is accounted for in the two above.
    """

    taken_ms: int | None = None
    unread: frozenset[str] = frozenset()
    groups: dict[str, GroupRecord] = field(default_factory=dict)
    published: dict[str, dict[TopicPartition, OffsetPair]] = field(default_factory=dict)
    syncs: dict[TopicPartition, OffsetPair] = field(default_factory=dict)
    read: dict[str, tuple[str, int]] = field(default_factory=dict)


def read_snapshot(target: ClusterReader, flow: str, tick: Tick) -> GroupSnapshot:
    """The snapshot as it stands; an empty one before the first.

    :raises StateDamaged: a record cannot be believed.
    """
    topic = naming.groups_topic(flow)
    newest: dict[bytes | None, LogRecord] = {}
    if target.describe_topics([topic]):
        for record in target.read_state(TopicPartition(topic, 0), tick):
            newest[record.key] = record
    snapshot = GroupSnapshot()
    for record in newest.values():
        try:
            kind, name = _decode_key(record.key)
            if record.value is not None:
                _take(snapshot, kind, name, _document(record.value))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StateDamaged(topic=topic, partition=0, offset=record.offset, problem=str(error)) from error
    return snapshot


def _take(snapshot: GroupSnapshot, kind: str, name: str, value: dict[str, Any]) -> None:
    if kind == _TAKEN:
        snapshot.taken_ms, snapshot.unread = int(value["taken_ms"]), frozenset(value.get("unread", ()))
    elif kind == _GROUP:
        snapshot.groups[name] = _group(name, value)
    elif kind == _PUBLISHED:
        snapshot.published[name] = {part: (source, target) for part, (source, target) in _rows(value["offsets"], 2)}
    elif kind == _SYNCS:
        snapshot.syncs |= {part: (source, target) for part, (source, target) in _rows(value["offsets"], 2)}
    else:
        snapshot.read[name] = str(value["topic_id"]), int(value["end"])


def taken_record(flow: str, taken_ms: int, *, unread: Collection[str] = ()) -> StateRecord:
    """The record that says when all groups were last gone through, and which of them could not be read."""
    return _record(flow, _TAKEN, "", {"taken_ms": taken_ms, "unread": sorted(unread)})


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


def published_record(flow: str, name: str, checkpoints: Mapping[TopicPartition, OffsetPair]) -> StateRecord:
    """The record of a group's newest checkpoints, by target partition."""
    return _record(flow, _PUBLISHED, name, {"offsets": [[*part, *pair] for part, pair in sorted(checkpoints.items())]})


def syncs_record(flow: str, topic: str, syncs: Mapping[TopicPartition, OffsetPair]) -> StateRecord:
    """The record of the newest offset syncs of one source topic's partitions."""
    return _record(flow, _SYNCS, topic, {"offsets": [[*part, *pair] for part, pair in sorted(syncs.items())]})


def read_record(flow: str, topic: str, topic_id: str, end: int) -> StateRecord:
    """The record that says up to where one of MirrorMaker 2's topics is accounted for."""
    return _record(flow, _READ, topic, {"topic_id": topic_id, "end": end})


def group_removals(flow: str, name: str) -> tuple[StateRecord, ...]:
    """The records that remove a group which is not selected any more."""
    return (_record(flow, _GROUP, name, None), _record(flow, _PUBLISHED, name, None))


def _record(flow: str, kind: str, name: str, document: dict[str, Any] | None) -> StateRecord:
    return StateRecord(
        topic=naming.groups_topic(flow),
        partition=0,
        key=compact_json({"kind": kind, "name": name, "version": VERSION}),
        value=None if document is None else compact_json({**document, "version": VERSION}),
        turn=_TURNS[kind],
    )


def _decode_key(key: bytes | None) -> tuple[str, str]:
    if key is None:
        raise ValueError("it has no key")
    document = _document(key)
    if document["kind"] not in _TURNS:
        raise ValueError(f"kind {document['kind']!r} is not known")
    return document["kind"], str(document["name"])


def _group(name: str, value: dict[str, Any]) -> GroupRecord:
    found = GroupOffsets(
        offsets={part: offset for part, (offset,) in _rows(value["offsets"], 1)},
        metadata={TopicPartition(topic, number): text for topic, number, text in value["metadata"]},
        pending=frozenset(TopicPartition(topic, number) for topic, number in value["pending"]),
    )
    return GroupRecord(name=name, taken_ms=int(value["taken_ms"]), found=found)


def _rows(rows: list[list[Any]], offsets: int) -> Iterator[tuple[TopicPartition, list[int]]]:
    """Rows of topic, partition and one or two offsets."""
    for topic, number, *found in rows:
        numbers = [number, *found]
        if len(found) != offsets or any(type(each) is not int or each < 0 for each in numbers):
            raise ValueError(f"{topic!r}, {number!r}, {found!r} is not a position")
        yield TopicPartition(str(topic), number), found


def _document(data: bytes) -> dict[str, Any]:
    document: object = json.loads(data)
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    if document.get("version") != VERSION:
        raise ValueError(f"version {document.get('version')!r}, known is {VERSION}")
    return document
