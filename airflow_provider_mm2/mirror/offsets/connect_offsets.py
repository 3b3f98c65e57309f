"""MirrorMaker 2's own progress, as Kafka Connect keeps it: the records of its offsets topic. Pure.

Key: JSON ``[connector, {"cluster", "partition", "topic"}]``; value: JSON ``{"offset": N}``. N is the last record that
was replicated, so the next one is N + 1. A record without a value means that the offset was forgotten. Other kinds of
connector, MirrorMaker 2's own for checkpoints and heartbeats among them, have keys of another shape.

Source: Kafka Connect, ``OffsetStorageWriter``; MirrorMaker 2, ``MirrorUtils.wrapPartition`` and ``wrapOffset``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.json_text import read_json
from airflow_provider_mm2.mirror.model import LogRecord, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectOffset:
    """Where a connector stands in one source partition; ``next_offset`` is the first that it has not replicated."""

    connector: str
    source: TopicPartition
    next_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadOffset:
    """What a connector has last written of a source partition, and it tells no offset."""

    connector: str
    source: TopicPartition
    problem: str


def read_offsets(
    partitions: Iterable[Iterable[LogRecord]], cluster: str
) -> tuple[tuple[ConnectOffset, ...], tuple[UnreadOffset, ...]]:
    """The newest offset of each connector and source partition, and what stands in the place of one.

    In one partition of the topic the last record is the newest. A key lies in two partitions where the topic was grown:
    then the later timestamp counts.

    :param partitions: all records of the offsets topic, those of each of its partitions in order.
    :param cluster: alias of the source, as MirrorMaker 2 knows it.
    """
    newest: dict[tuple[str, TopicPartition], tuple[int, LogRecord]] = {}
    for number, records in enumerate(partitions):
        for place, record in _last_of_each(records, cluster).items():
            before = newest.get(place)
            if before is None or _stamp(before[1]) <= _stamp(record):
                newest[place] = (number, record)
    read = [_read(place, *found) for place, found in newest.items() if found[1].value is not None]
    good = tuple(found for found in read if isinstance(found, ConnectOffset))
    return good, tuple(found for found in read if isinstance(found, UnreadOffset))


def _last_of_each(records: Iterable[LogRecord], cluster: str) -> dict[tuple[str, TopicPartition], LogRecord]:
    last: dict[tuple[str, TopicPartition], LogRecord] = {}
    for record in records:
        place = _place(record.key, cluster)
        if place is not None:
            last[place] = record
    return last


def _stamp(record: LogRecord) -> int:
    return -1 if record.timestamp_ms is None else record.timestamp_ms


def _read(place: tuple[str, TopicPartition], number: int, record: LogRecord) -> ConnectOffset | UnreadOffset:
    connector, source = place
    try:
        offset = _offset(record.value or b"")
    except ValueError as error:
        value = f"the value of {source} by {connector!r}, at {record.offset} of partition {number},"
        return UnreadOffset(connector=connector, source=source, problem=f"{value} {error}")
    return ConnectOffset(connector=connector, source=source, next_offset=offset + 1)


def _place(key: bytes | None, cluster: str) -> tuple[str, TopicPartition] | None:
    """Connector and source partition of a key; None when it is not of a mirror of that cluster."""
    try:
        document: Any = read_json(key or b"")
    except ValueError:
        return None
    match document:
        case [str(connector), {"cluster": str(name), "topic": str(topic), "partition": int(partition), **others}]:
            is_ours = name == cluster and not others and not isinstance(partition, bool)
            return (connector, TopicPartition(topic, partition)) if is_ours else None
    return None


def _offset(value: bytes) -> int:
    try:
        document: Any = read_json(value)
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from error
    offset = document.get("offset") if isinstance(document, dict) else None
    if type(offset) is not int or offset < 0:
        raise ValueError(f"has no offset: {value[:100]!r}")
    return offset
