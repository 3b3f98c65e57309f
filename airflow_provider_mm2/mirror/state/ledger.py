"""The ledger: progress and offset map, written in the transaction of the data. Bytes and reading.

A record's key is compact JSON (so that the cleaner keeps the newest of each), its value JSON with a checksum; the
segments are base64 of unsigned LEB128 numbers: for each segment the hole before it on the source, the hole before
it on the target, and its count. About 3 bytes a segment.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.model import LogRecord, Segment, TopicPartition
from airflow_provider_mm2.mirror.state.unfenced import believed_generation, is_overtaken, standing
from airflow_provider_mm2.mirror.state_model import Delivery, LedgerEntry, PartitionLedger, StateRecord

VERSION = 1
ENTRY_LIMIT_BYTES = 16 * 1024
"""An entry whose segments take more is closed and a new one begun, so that little is written again and again."""

_KEY_FIELDS = ("generation", "source_topic_id", "topic", "partition", "first")
_VALUE_FIELDS = (
    "next_offset",
    "target_topic",
    "target_topic_id",
    "target_end",
    "source_cluster_id",
    "leader_epoch",
    "records",
    "through_ms",
    "sequence",
    "expired",
)


def encode_key(entry: LedgerEntry) -> bytes:
    """Bytes of an entry's key; equal keys have equal bytes."""
    return _json({"version": VERSION, **{name: getattr(entry, name) for name in _KEY_FIELDS}})


def encode_value(entry: LedgerEntry) -> bytes:
    """Bytes of an entry's value."""
    document = {name: getattr(entry, name) for name in _VALUE_FIELDS}
    document["segments"] = base64.b64encode(encode_segments(entry.segments, entry.first)).decode()
    document["pending"] = None if entry.pending is None else list(entry.pending)
    document["delivery"] = entry.delivery.value
    document["version"] = VERSION
    document["checksum"] = zlib.crc32(encode_key(entry) + _json(document))
    return _json(document)


def decode_entry(key: bytes, value: bytes) -> LedgerEntry:
    """An entry from its two parts.

    :raises ValueError: the bytes are not an entry of a known version, or contradict themselves.
    """
    key_fields, document = _document(key), _document(value)
    checksum = document.pop("checksum", None)
    if checksum != zlib.crc32(key + _json(document)):
        raise ValueError("the checksum does not fit key and value")
    for part in (key_fields, document):
        version = part.pop("version", None)
        if version != VERSION:
            raise ValueError(f"version {version!r}, known is {VERSION}")
    try:
        segments = base64.b64decode(document.pop("segments"), validate=True)
        pending = document.pop("pending")
        delivery = Delivery(document.pop("delivery", Delivery.EXACTLY_ONCE.value))
        entry = LedgerEntry(
            **key_fields,
            **document,
            segments=decode_segments(segments, key_fields["first"]),
            pending=None if pending is None else (pending[0], pending[1]),
            delivery=delivery,
        )
        _check(entry)
    except (TypeError, KeyError) as error:
        raise ValueError(f"fields are missing, unknown or of another kind: {error}") from error
    return entry


def encode_segments(segments: Sequence[Segment], first: int) -> bytes:
    """Delta-encode segments that begin at or after source offset ``first``."""
    return b"".join(_encoded(segments, first))


def split_segments(segments: Sequence[Segment], first: int) -> list[tuple[Segment, ...]]:
    """Segments in groups of at most ``ENTRY_LIMIT_BYTES`` encoded bytes each; at least one group, the last may grow.

    A topic that was compacted can have a segment for nearly every record, and a broker takes no record of a megabyte.
    """
    groups: list[tuple[Segment, ...]] = []
    size = begun = 0
    for index, encoded in enumerate(_encoded(segments, first)):
        size += len(encoded)
        if size > ENTRY_LIMIT_BYTES and index > begun:
            groups.append(tuple(segments[begun:index]))
            begun, size = index, len(encoded)
    return [*groups, tuple(segments[begun:])]


def _encoded(segments: Sequence[Segment], first: int) -> Iterator[bytes]:
    source, target = first, 0
    for segment in segments:
        yield (_varint(segment.source_start - source) + _varint(segment.target_start - target) + _varint(segment.count))
        source, target = segment.source_end, segment.target_end


def decode_segments(data: bytes, first: int) -> tuple[Segment, ...]:
    """The reverse of ``encode_segments``.

    :raises ValueError: the data ends inside a number or a segment.
    """
    numbers = _numbers(data)
    if len(numbers) % 3:
        raise ValueError("the segments end inside one")
    segments: list[Segment] = []
    source, target = first, 0
    for source_hole, target_hole, count in zip(*[iter(numbers)] * 3, strict=True):
        segment = Segment(source_start=source + source_hole, target_start=target + target_hole, count=count)
        segments.append(segment)
        source, target = segment.source_end, segment.target_end
    return tuple(segments)


def decode_ledger(topic: str, shard: int, records: Iterable[LogRecord]) -> Mapping[TopicPartition, PartitionLedger]:
    """The newest generation of each partition from a shard's records, in source order and without a hole.

    :raises StateDamaged: a record cannot be believed, or two do not fit together.
    """
    newest: dict[bytes, tuple[int, LedgerEntry]] = {}
    for record in records:
        try:
            _take(newest, record)
        except (ValueError, RecursionError) as error:
            raise StateDamaged(topic=topic, partition=shard, offset=record.offset, problem=str(error)) from error
    by_partition: dict[TopicPartition, list[tuple[int, LedgerEntry]]] = {}
    for offset, entry in newest.values():
        by_partition.setdefault(entry.source, []).append((offset, entry))
    return {source: _newest_generation(topic, shard, found) for source, found in by_partition.items()}


def _take(newest: dict[bytes, tuple[int, LedgerEntry]], record: LogRecord) -> None:
    """Let a record replace what its key said before, or, as a tombstone, remove it.

    :raises ValueError: the record is not an entry.
    """
    if record.key is None:
        raise ValueError("it has no key")
    if record.value is None:
        newest.pop(record.key, None)
        return
    entry, before = decode_entry(record.key, record.value), newest.get(record.key)
    if before is None or not is_overtaken(entry, before[1]):
        newest[record.key] = (record.offset, entry)


def _newest_generation(topic: str, shard: int, found: list[tuple[int, LedgerEntry]]) -> PartitionLedger:
    """Entries of the newest generation, each beginning where the one before it ends."""
    generation = believed_generation(entry for _, entry in found)
    newest = (item for item in found if item[1].generation == generation)
    current = standing(sorted(newest, key=lambda item: item[1].first))
    for (_, before), (offset, after) in pairwise(current):
        joins = after.first == before.next_offset and after.source_topic_id == before.source_topic_id
        if not joins or after.sequence <= before.sequence:
            problem = (
                f"{after.source} goes on at {after.first} (write {after.sequence}, topic {after.source_topic_id}), "
                f"the entry before ends at {before.next_offset} (write {before.sequence}, "
                f"topic {before.source_topic_id})"
            )
            raise StateDamaged(topic=topic, partition=shard, offset=offset, problem=problem)
        if after.segments and after.segments[0].target_start < _mapped_end(before):
            back_to = after.segments[0].target_start
            problem = f"{after.source} goes back on the target, from {_mapped_end(before)} to {back_to}"
            raise StateDamaged(topic=topic, partition=shard, offset=offset, problem=problem)
    return PartitionLedger(entries=tuple(entry for _, entry in current))


def _mapped_end(entry: LedgerEntry) -> int:
    return entry.segments[-1].target_end if entry.segments else 0


def _check(entry: LedgerEntry) -> None:
    """Refuse an entry that contradicts itself.

    :raises ValueError: says how.
    """
    numbers = (entry.first, entry.partition, entry.sequence, entry.records, entry.target_end, entry.generation)
    if any(type(number) is not int for number in (*numbers, entry.next_offset, entry.expired)):
        raise ValueError("a number is of another kind")
    if min(*numbers, entry.expired) < 0:
        raise ValueError("a negative number")
    if entry.expired and entry.segments:
        raise ValueError("segments beside records that have expired")
    if any(segment.count < 1 for segment in entry.segments):
        raise ValueError("an empty segment")
    last = entry.segments[-1] if entry.segments else None
    if entry.next_offset < (entry.first if last is None else last.source_end):
        raise ValueError(f"it ends at {entry.next_offset}, before its own segments")
    if last is not None and entry.target_end < last.target_end:
        raise ValueError(f"the target ends at {entry.target_end}, before its own segments")
    if entry.records != sum(segment.count for segment in entry.segments):
        raise ValueError("the record count is not that of the segments")


def _document(data: bytes) -> dict[str, Any]:
    document: object = json.loads(data)
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    return document


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _varint(number: int) -> bytes:
    """Unsigned LEB128: seven bits a byte, lowest first, the top bit says that more follow."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _numbers(data: bytes) -> list[int]:
    numbers: list[int] = []
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            numbers.append(number)
            number = shift = 0
    if shift:
        raise ValueError("the segments end inside a number")
    return numbers


def read_ledger(target: ClusterReader, flow: str, shard: int, tick: Tick) -> Mapping[TopicPartition, PartitionLedger]:
    """A shard's part of the ledger as it stands.

    :raises StateDamaged: a record cannot be believed.
    """
    topic = naming.ledger_topic(flow)
    return decode_ledger(topic, shard, target.read_state(TopicPartition(topic, shard), tick))


def read_shards(target: ClusterReader, flow: str, shards: int, tick: Tick) -> dict[TopicPartition, PartitionLedger]:
    """All shards' ledgers as they stand.

    :raises StateDamaged: a record cannot be believed.
    """
    found: dict[TopicPartition, PartitionLedger] = {}
    for shard in range(shards):
        found.update(read_ledger(target, flow, shard, tick))
    return found


def to_record(flow: str, shard: int, entry: LedgerEntry, turn: int = 0) -> StateRecord:
    """The record that writes an entry."""
    topic, key, value = naming.ledger_topic(flow), encode_key(entry), encode_value(entry)
    return StateRecord(topic=topic, partition=shard, key=key, value=value, turn=turn)
