"""Ledger entries for tests: any, and plain ones."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.model import LogRecord, Segment
from airflow_provider_mm2.mirror.state.ledger import (
    decode_ledger,
    encode_key,
    encode_value,
)
from airflow_provider_mm2.mirror.state_model import Delivery, LedgerEntry

TOPIC = "mm2-offset-map.orders.internal"
SHARD = 3
OFFSETS = st.integers(0, 2**62)
NAMES = st.text("abcXYZ019._-", min_size=1, max_size=40)


@st.composite
def segment_lists(draw: st.DrawFn, first: int | None = None, max_size: int = 20) -> tuple[Segment, ...]:
    """Segments that rise on both sides, from ``first`` on."""
    source, target = draw(OFFSETS) if first is None else first, draw(OFFSETS)
    segments: list[Segment] = []
    for _ in range(draw(st.integers(0, max_size))):
        source += draw(st.integers(0, 2**40))
        segments.append(Segment(source_start=source, target_start=target, count=draw(st.integers(1, 2**40))))
        source, target = segments[-1].source_end, segments[-1].target_end + draw(st.integers(0, 2**40))
    return tuple(segments)


@st.composite
def entries(draw: st.DrawFn) -> LedgerEntry:
    """Entries as a run may write them."""
    first = draw(OFFSETS)
    segments = draw(segment_lists(first))
    source_end = segments[-1].source_end if segments else first
    target_end = segments[-1].target_end if segments else 0
    return LedgerEntry(
        generation=draw(st.integers(1, 1000)),
        source_topic_id=draw(NAMES),
        topic=draw(NAMES),
        partition=draw(st.integers(0, 100_000)),
        first=first,
        segments=segments,
        next_offset=source_end + draw(st.integers(0, 2**40)),
        target_topic=draw(NAMES),
        target_topic_id=draw(NAMES),
        target_end=target_end + draw(st.integers(0, 2**40)),
        source_cluster_id=draw(NAMES),
        leader_epoch=draw(st.none() | st.integers(0, 2**31 - 1)),
        records=sum(segment.count for segment in segments),
        through_ms=draw(st.none() | OFFSETS),
        sequence=draw(st.integers(0, 2**40)),
        pending=draw(st.none() | st.tuples(OFFSETS, OFFSETS)),
        delivery=draw(st.sampled_from(Delivery)),
    )


def entry(*counts: int, first: int = 0, sequence: int = 1, **changes: Any) -> LedgerEntry:
    """An entry whose segments follow each other with a marker's hole between, on both sides."""
    segments: list[Segment] = []
    at = first
    for count in counts:
        segments.append(Segment(source_start=at, target_start=at, count=count))
        at += count + 1
    made = LedgerEntry(
        generation=1,
        source_topic_id="id-1",
        topic="orders",
        partition=0,
        first=first,
        segments=tuple(segments),
        next_offset=at,
        target_topic="us.orders",
        target_topic_id="id-2",
        target_end=at,
        source_cluster_id="cluster",
        leader_epoch=0,
        records=sum(counts),
        through_ms=None,
        sequence=sequence,
    )
    return replace(made, **changes)


def record(found: LedgerEntry, offset: int = 0) -> LogRecord:
    """The record that holds an entry."""
    return LogRecord(offset=offset, key=encode_key(found), value=encode_value(found))


def log_of(*found: LedgerEntry) -> list[LogRecord]:
    """Records that hold entries, in this order."""
    return [record(each, offset) for offset, each in enumerate(found)]


def refused(*records: LogRecord) -> StateDamaged:
    """The error with which a ledger of these records is refused; it names the topic and the shard."""
    with pytest.raises(StateDamaged) as caught:
        decode_ledger(TOPIC, SHARD, records)
    assert (caught.value.topic, caught.value.partition) == (TOPIC, SHARD)
    return caught.value


def altered(found: LedgerEntry, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> LogRecord:
    """A record whose documents were changed by somebody who gets the checksum right."""
    key, value = json.loads(encode_key(found)), json.loads(encode_value(found))
    del value["checksum"]
    change(key, value)
    key_bytes = json.dumps(key, sort_keys=True, separators=(",", ":")).encode()
    plain = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    value["checksum"] = zlib.crc32(key_bytes + plain)
    return LogRecord(offset=0, key=key_bytes, value=json.dumps(value, sort_keys=True, separators=(",", ":")).encode())
