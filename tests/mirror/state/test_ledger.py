"""The ledger's bytes: what is written is read back, and what cannot be believed is refused with its place."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.model import LogRecord, Segment
from airflow_provider_mm2.mirror.state.ledger import (
    ENTRY_LIMIT_BYTES,
    VERSION,
    decode_entry,
    decode_segments,
    encode_key,
    encode_segments,
    encode_value,
    split_segments,
)
from airflow_provider_mm2.mirror.state_model import LedgerEntry
from tests.mirror.state.ledger_entries import (
    OFFSETS,
    altered,
    entries,
    entry,
    record,
    refused,
    segment_lists,
)


@given(entries())
def test_entry_round_trip(found: LedgerEntry) -> None:
    """An entry is read back from its bytes as it was."""
    assert decode_entry(encode_key(found), encode_value(found)) == found


@given(st.data(), OFFSETS)
def test_segments_round_trip(data: st.DataObject, first: int) -> None:
    """Segments are read back from their bytes as they were, holes on both sides included."""
    segments = data.draw(segment_lists(first))
    assert decode_segments(encode_segments(segments, first), first) == segments


@given(entries(), entries())
def test_key_is_what_names_the_entry(one: LedgerEntry, other: LedgerEntry) -> None:
    """Later writes of an entry have the same key bytes, so that the cleaner keeps the newest; others never have."""

    def name(found: LedgerEntry) -> tuple[object, ...]:
        return found.generation, found.source_topic_id, found.topic, found.partition, found.first

    rewritten = replace(
        other, generation=one.generation, source_topic_id=one.source_topic_id, topic=one.topic, partition=one.partition
    )
    assert (encode_key(rewritten) == encode_key(one)) == (rewritten.first == one.first)
    assert (encode_key(other) == encode_key(one)) == (name(other) == name(one))


@given(st.lists(st.integers(1, 127), min_size=1, max_size=300), st.integers(0, 2**40))
def test_three_bytes_a_segment(counts: list[int], first: int) -> None:
    """Where holes and counts are small a segment takes three bytes, behind the first one's place on the target."""
    segments = entry(*counts, first=first).segments
    assert len(encode_segments(segments, first)) <= 3 * len(segments) + 8


@given(st.data())
def test_split_keeps_every_segment(data: st.DataObject) -> None:
    """What fits into one entry stays together, and nothing is one group of nothing."""
    segments = data.draw(segment_lists(0))
    assert split_segments(segments, 0) == [segments]


def test_split_keeps_to_the_limit() -> None:
    """Many segments are split in order into groups of which none is larger than an entry may be."""
    segments = tuple(Segment(source_start=at * 30_000, target_start=at * 20_000, count=10_000) for at in range(4000))
    groups = split_segments(segments, 0)
    assert tuple(segment for group in groups for segment in group) == segments
    sizes = [len(encode_segments(group, group[0].source_start)) for group in groups]
    assert max(sizes) <= ENTRY_LIMIT_BYTES + 10
    assert min(sizes[:-1]) > ENTRY_LIMIT_BYTES - 20


@given(st.data(), entries())
def test_flipped_bits_are_refused(data: st.DataObject, found: LedgerEntry) -> None:
    """One byte that is another one, in the key or in the value, is noticed, and the record named."""
    key, value = bytearray(encode_key(found)), bytearray(encode_value(found))
    part = data.draw(st.sampled_from([key, value]))
    part[data.draw(st.integers(0, len(part) - 1))] ^= data.draw(st.integers(1, 255))
    error = refused(LogRecord(offset=17, key=bytes(key), value=bytes(value)))
    assert error.offset == 17


@given(st.data(), entries())
def test_cut_bytes_are_refused(data: st.DataObject, found: LedgerEntry) -> None:
    """A key or a value that ends too early is noticed."""
    key, value = encode_key(found), encode_value(found)
    if data.draw(st.booleans()):
        key = key[: data.draw(st.integers(0, len(key) - 1))]
    else:
        value = value[: data.draw(st.integers(0, len(value) - 1))]
    refused(LogRecord(offset=0, key=key, value=value))


@given(entries(), entries())
def test_key_and_value_of_two_entries(one: LedgerEntry, other: LedgerEntry) -> None:
    """A value under another entry's key is refused."""
    if encode_key(one) != encode_key(other):
        refused(LogRecord(offset=0, key=encode_key(one), value=encode_value(other)))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(st.binary(max_size=60) | JSON_VALUES.map(lambda document: json.dumps(document).encode()))
def test_anything_else_is_refused(data: bytes) -> None:
    """Bytes of a stranger are refused, and never end in another error than the one that names the record."""
    refused(LogRecord(offset=0, key=encode_key(entry(1)), value=data))
    refused(LogRecord(offset=0, key=data, value=encode_value(entry(1))))


def test_deep_nesting_is_refused() -> None:
    """A document nested deeper than the reader goes is refused like any other."""
    deep = b"[" * 200_000
    refused(LogRecord(offset=0, key=encode_key(entry(1)), value=deep))


def test_record_without_key_is_refused() -> None:
    """A record without a key is nobody's entry."""
    assert refused(LogRecord(offset=4, key=None, value=encode_value(entry(1)))).offset == 4


@pytest.mark.parametrize("part", ["key", "value"])
@pytest.mark.parametrize("version", [0, VERSION + 1, "1", None])
def test_unknown_versions_are_refused(part: str, version: object) -> None:
    """A record of another version is refused by that version's number, whatever else it holds."""

    def change(key: dict[str, Any], value: dict[str, Any]) -> None:
        (key if part == "key" else value)["version"] = version

    assert repr(version) in refused(altered(entry(3), change)).problem


@pytest.mark.parametrize("name", ["generation", "topic", "first", "next_offset", "segments", "pending", "sequence"])
def test_missing_fields_are_refused(name: str) -> None:
    """An entry that lacks a field is refused."""

    def change(key: dict[str, Any], value: dict[str, Any]) -> None:
        key.pop(name, None)
        value.pop(name, None)

    refused(altered(entry(3), change))


def test_unknown_fields_are_refused() -> None:
    """An entry with a field that is not known is refused: it means something that this version would pass over."""
    refused(altered(entry(3), lambda key, value: value.update(more=1)))


@pytest.mark.parametrize(
    "name", ["generation", "partition", "first", "next_offset", "target_end", "records", "sequence"]
)
@pytest.mark.parametrize("odd", ["1", 1.0, None, True, [1]])
def test_numbers_of_another_kind_are_refused(name: str, odd: object) -> None:
    """A number that is none is refused before anything is reckoned with it."""

    def change(key: dict[str, Any], value: dict[str, Any]) -> None:
        (key if name in key else value)[name] = odd

    refused(altered(entry(first=1, next_offset=1, target_end=1, sequence=1, partition=1), change))


@pytest.mark.parametrize("odd", ["AQ==", "AQEBAQ==", "gA==", "!!!!", "A", 5, None])
def test_odd_segments_are_refused(odd: object) -> None:
    """Segments that are no text, no base64, or end inside a number or a segment are refused."""
    refused(altered(entry(3), lambda key, value: value.update(segments=odd)))


@pytest.mark.parametrize(
    "changes",
    [
        {"records": 4},
        {"records": -1},
        {"next_offset": 2},
        {"target_end": 2},
        {"sequence": -1},
        {"partition": -1},
        {"generation": -1},
        {"segments": (Segment(source_start=0, target_start=0, count=0),), "records": 0},
    ],
    ids=str,
)
def test_contradictions_are_refused(changes: dict[str, Any]) -> None:
    """An entry that contradicts itself is refused though its checksum fits."""
    refused(record(entry(3, **changes)))
