"""The bytes of MirrorMaker 2's records, held against what its own classes write."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import STRING_LIMIT_BYTES, Checkpoint, Heartbeat, OffsetSync

Mm2Record = OffsetSync | Checkpoint | Heartbeat

SYNC = OffsetSync(topic="topic-1", partition=2, source_offset=3, target_offset=4)
CHECKPOINT = Checkpoint(
    group="group-1", topic="topic-2", partition=3, source_offset=4, target_offset=5, metadata="metadata-6"
)
HEARTBEAT = Heartbeat(source_alias="source-1", target_alias="target-2", timestamp_ms=1234567890)
EXAMPLES = [SYNC, CHECKPOINT, HEARTBEAT]

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
PARTITIONS = st.integers(0, 2**31 - 1)
OFFSETS = st.integers(0, 2**63 - 1)
SYNCS = st.builds(OffsetSync, topic=NAMES, partition=PARTITIONS, source_offset=OFFSETS, target_offset=OFFSETS)
CHECKPOINTS = st.builds(
    Checkpoint,
    group=NAMES,
    topic=NAMES,
    partition=PARTITIONS,
    source_offset=OFFSETS,
    target_offset=OFFSETS,
    metadata=NAMES,
)
HEARTBEATS = st.builds(Heartbeat, source_alias=NAMES, target_alias=NAMES, timestamp_ms=OFFSETS)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (SYNC, "0007746f7069632d3100000002", "00000000000000030000000000000004"),
        (
            OffsetSync(topic="t", partition=0, source_offset=5, target_offset=3),
            "00017400000000",
            "00000000000000050000000000000003",
        ),
        (
            CHECKPOINT,
            "000767726f75702d310007746f7069632d3200000003",
            "000000000000000000040000000000000005000a6d657461646174612d36",
        ),
        (
            Checkpoint(group="g", topic="A.t", partition=0, source_offset=7, target_offset=8, metadata=""),
            "0001670003412e7400000000",
            "0000000000000000000700000000000000080000",
        ),
        (
            Checkpoint(group="g", topic="us.t", partition=0, source_offset=5, target_offset=3),
            "000167000475732e7400000000",
            "0000000000000000000500000000000000030000",
        ),
        (HEARTBEAT, "0008736f757263652d3100087461726765742d32", "000000000000499602d2"),
    ],
)
def test_golden_bytes(record: Mm2Record, key: str, value: str) -> None:
    """Key and value are what MirrorMaker 2's own classes write: no version in a sync, one in the two others."""
    assert (record.encode_key().hex(), record.encode_value().hex()) == (key, value)
    read = type(record).decode(bytes.fromhex(key), bytes.fromhex(value))
    assert (read.encode_key().hex(), read.encode_value().hex()) == (key, value)


@given(SYNCS | CHECKPOINTS | HEARTBEATS)
def test_round_trip(record: Mm2Record) -> None:
    """A record is read back from its bytes as it was."""
    assert type(record).decode(record.encode_key(), record.encode_value()) == record


@given(SYNCS | CHECKPOINTS | HEARTBEATS, st.binary(max_size=20))
def test_trailing_bytes(record: Mm2Record, more: bytes) -> None:
    """Bytes behind the last field are ignored, as MirrorMaker 2's readers do."""
    assert type(record).decode(record.encode_key() + more, record.encode_value() + more) == record


@given(SYNCS | CHECKPOINTS | HEARTBEATS, st.data())
def test_cut_bytes(record: Mm2Record, data: st.DataObject) -> None:
    """A key or a value that ends too early is refused."""
    key, value = record.encode_key(), record.encode_value()
    if data.draw(st.booleans()):
        key = key[: data.draw(st.integers(0, len(key) - 1))]
    else:
        value = value[: data.draw(st.integers(0, len(value) - 1))]
    with pytest.raises(ValueError, match=r"^the (key|value) of an? .* ends inside the .*: \d+ of \d+ bytes are there$"):
        type(record).decode(key, value)


@given(st.sampled_from([OffsetSync, Checkpoint, Heartbeat]), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes(kind: type[Mm2Record], key: bytes, value: bytes) -> None:
    """Bytes of somebody else are read as a record that has just these fields, or refused by a ValueError alone."""
    try:
        read = kind.decode(key, value)
    except ValueError:
        return
    assert key.startswith(read.encode_key())
    assert value.startswith(read.encode_value())


def test_length_is_counted_in_bytes() -> None:
    """The length of a name in another script is that of its UTF-8 bytes, not of its letters."""
    group = "\u0433\u0440\u0443\u043f\u043f\u0430"
    key = replace(CHECKPOINT, group=group).encode_key()
    assert key[:2] == b"\x00\x0c"
    assert key[2:14].decode() == group


def test_no_metadata_is_an_empty_string() -> None:
    """A group that committed no metadata has an empty string in its checkpoint: the format has no null."""
    record = replace(CHECKPOINT, metadata=None)
    assert record.encode_value() == replace(CHECKPOINT, metadata="").encode_value()
    assert Checkpoint.decode(record.encode_key(), record.encode_value()).metadata == ""


@pytest.mark.parametrize("letter", ["x", "\u0436"])
def test_longest_string(letter: str) -> None:
    """A string of 32767 bytes is written, and one with a letter more is refused with its length."""
    longest = letter * (STRING_LIMIT_BYTES // len(letter.encode()))
    record = replace(CHECKPOINT, metadata=longest)
    assert Checkpoint.decode(record.encode_key(), record.encode_value()).metadata == longest
    with pytest.raises(ValueError, match=r"^the metadata has 3276[89] bytes, and can have 32767$"):
        replace(CHECKPOINT, metadata=longest + letter).encode_value()


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (replace(SYNC, source_offset=-1), r"the source offset is -1, and can be 0 to 9223372036854775807"),
        (replace(SYNC, target_offset=2**63), r"the target offset is 9223372036854775808, and can be 0 to .*"),
        (replace(SYNC, partition=2**31), r"the partition is 2147483648, and can be 0 to 2147483647"),
        (replace(CHECKPOINT, target_offset=-1), r"the target offset is -1, and can be 0 to .*"),
        (replace(HEARTBEAT, timestamp_ms=-1), r"the timestamp is -1, and can be 0 to .*"),
    ],
)
def test_numbers_that_do_not_fit(record: Mm2Record, text: str) -> None:
    """An offset, partition or time that is no such thing is refused, never written as a sentinel."""
    with pytest.raises(ValueError, match=f"^{text}$"):
        record.encode_key() + record.encode_value()


@pytest.mark.parametrize("record", EXAMPLES)
def test_null_parts(record: Mm2Record) -> None:
    """A tombstone, which crashes MirrorMaker 2's readers, and a record without a key are refused by name."""
    with pytest.raises(ValueError, match=r"^the value of an? (offset sync|checkpoint|heartbeat) is null$"):
        type(record).decode(record.encode_key(), None)
    with pytest.raises(ValueError, match=r"^the key of an? (offset sync|checkpoint|heartbeat) is null$"):
        type(record).decode(None, record.encode_value())


@pytest.mark.parametrize("record", [CHECKPOINT, HEARTBEAT])
@pytest.mark.parametrize(("version", "shown"), [(b"\x00\x01", "1"), (b"\xff\xff", "-1")])
def test_unknown_version(record: Checkpoint | Heartbeat, version: bytes, shown: str) -> None:
    """A version that is not known is refused, where MirrorMaker 2 would read on as if it were 0."""
    with pytest.raises(ValueError, match=rf"^the value of a \w+ has version {shown}, known is 0$"):
        type(record).decode(record.encode_key(), version + record.encode_value()[2:])


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("ffff", "00" * 16, "the key of an offset sync has a negative length of the topic: -1"),
        ("000174ffffffff", "00" * 16, "the key of an offset sync has a negative partition: -1"),
        ("00017400000000", "ff" * 16, "the value of an offset sync has a negative source offset: -1"),
        ("0001ff00000000", "00" * 16, r"the key of an offset sync has a topic that is not UTF-8: b'\xff'"),
    ],
)
def test_bad_fields(key: str, value: str, text: str) -> None:
    """A field that cannot be what it stands for is refused with its name: a null string, a sentinel, bad text."""
    with pytest.raises(ValueError, match="offset sync") as caught:
        OffsetSync.decode(bytes.fromhex(key), bytes.fromhex(value))
    assert str(caught.value) == text


def test_partitions_of_records() -> None:
    """A sync names the partition on the source, a checkpoint the one on the target."""
    assert SYNC.source == TopicPartition("topic-1", 2)
    assert CHECKPOINT.target == TopicPartition("topic-2", 3)
