"""MirrorMaker 2's own progress, as Kafka Connect keeps it: the records of its offsets topic. Pure.

Key: JSON ``[connector, {"cluster", "partition", "topic"}]``; value: JSON ``{"offset": N}``. N is the last record that
was replicated, so the next one is N + 1. A record without a value means that the offset was forgotten. Other kinds of
connector, MirrorMaker 2's own for checkpoints and heartbeats among them, have keys of another shape.

Source: Kafka Connect, ``OffsetStorageWriter``; MirrorMaker 2, ``MirrorUtils.wrapPartition`` and ``wrapOffset``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.model import LogRecord, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectOffset:
    """Where a connector stands in one source partition; ``next_offset`` is the first that it has not replicated."""

    connector: str
    source: TopicPartition
    next_offset: int


def read_offsets(records: Iterable[LogRecord], cluster: str) -> tuple[ConnectOffset, ...]:
    """The newest offset of each connector and source partition.

    :param records: all of the offsets topic, each partition's in order.
    :param cluster: alias of the source, as MirrorMaker 2 knows it.
    :raises ValueError: a record of that cluster cannot be read; says which.
    """
    newest: dict[tuple[str, TopicPartition], ConnectOffset | None] = {}
    for record in records:
        place = _place(record.key, cluster)
        if place is None:
            continue
        connector, source = place
        newest[place] = None
        if record.value is not None:
            offset = _offset(record.value, f"the value at {record.offset}, of {source} by {connector!r},")
            newest[place] = ConnectOffset(connector=connector, source=source, next_offset=offset + 1)
    return tuple(found for found in newest.values() if found is not None)


def _place(key: bytes | None, cluster: str) -> tuple[str, TopicPartition] | None:
    """Connector and source partition of a key; None when it is not of a mirror of that cluster."""
    try:
        document: Any = json.loads(key or b"")
    except ValueError:
        return None
    match document:
        case [str(connector), {"cluster": str(name), "topic": str(topic), "partition": int(partition), **others}]:
            is_ours = name == cluster and not others and not isinstance(partition, bool)
            return (connector, TopicPartition(topic, partition)) if is_ours else None
    return None


def _offset(value: bytes, what: str) -> int:
    try:
        document: Any = json.loads(value)
    except ValueError as error:
        raise ValueError(f"{what} is not JSON: {error}") from error
    offset = document.get("offset") if isinstance(document, dict) else None
    if type(offset) is not int or offset < 0:
        raise ValueError(f"{what} has no offset: {value[:100]!r}")
    return offset
