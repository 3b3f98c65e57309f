"""MirrorMaker 2's own records, byte for byte: offset syncs, checkpoints and heartbeats. Pure.

MirrorMaker 2 and its clients read what is written here, so the bytes are a contract. Numbers are big-endian; a string
is two bytes of length, counted in bytes of UTF-8, and those bytes. All records go to partition 0 of their topic,
without headers. Checkpoints and heartbeats carry a version, offset syncs do not. A record without a value crashes
MirrorMaker 2's readers, so none is ever written.

Source: MirrorMaker 2, ``OffsetSync``, ``Checkpoint``, ``Heartbeat``.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_mm2.mirror.model import TopicPartition

PARTITION = 0
"""The partition that holds the records and that MirrorMaker 2 reads, whatever the topic has besides."""

VERSION = 0
"""Of checkpoints and heartbeats; there is no other yet."""

STRING_LIMIT_BYTES = 2**15 - 1
"""Source: Kafka's protocol type ``STRING``, whose length is a signed 16-bit number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSync:
    """One record's offset on both sides; ``topic`` is its name on the source."""

    topic: str
    partition: int
    source_offset: int
    target_offset: int

    @property
    def source(self) -> TopicPartition:
        """The partition on the source."""
        return TopicPartition(self.topic, self.partition)

    def encode_key(self) -> bytes:
        """Bytes of the key.

        :raises ValueError: a field does not fit into its bytes.
        """
        return _text("topic", self.topic) + _number("partition", self.partition, 4)

    def encode_value(self) -> bytes:
        """Bytes of the value, which has no version.

        :raises ValueError: a field does not fit into its bytes.
        """
        return _number("source offset", self.source_offset, 8) + _number("target offset", self.target_offset, 8)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> OffsetSync:
        """An offset sync from its two parts; bytes behind the last field are ignored.

        :raises ValueError: a part is null, too short, or holds what no offset sync can.
        """
        name, pair = _Fields("key of an offset sync", key), _Fields("value of an offset sync", value)
        return cls(
            topic=name.text("topic"),
            partition=name.number("partition", 4),
            source_offset=pair.number("source offset", 8),
            target_offset=pair.number("target offset", 8),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A group's next record to read on both sides; ``topic`` is its name on the target.

    ``metadata`` is what the group committed beside its offset; None is written as the empty string, because the
    format has no null.
    """

    group: str
    topic: str
    partition: int
    source_offset: int
    target_offset: int
    metadata: str | None = None

    @property
    def target(self) -> TopicPartition:
        """The partition on the target."""
        return TopicPartition(self.topic, self.partition)

    def encode_key(self) -> bytes:
        """Bytes of the key.

        :raises ValueError: a field does not fit into its bytes.
        """
        return _text("group", self.group) + _text("topic", self.topic) + _number("partition", self.partition, 4)

    def encode_value(self) -> bytes:
        """Bytes of the value.

        :raises ValueError: a field does not fit into its bytes.
        """
        offsets = _number("source offset", self.source_offset, 8) + _number("target offset", self.target_offset, 8)
        return _number("version", VERSION, 2) + offsets + _text("metadata", self.metadata or "")

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> Checkpoint:
        """A checkpoint from its two parts; bytes behind the last field are ignored.

        :raises ValueError: a part is null or too short, holds what no checkpoint can, or is of an unknown version.
        """
        name, position = _Fields("key of a checkpoint", key), _Fields("value of a checkpoint", value)
        position.check_version()
        return cls(
            group=name.text("group"),
            topic=name.text("topic"),
            partition=name.number("partition", 4),
            source_offset=position.number("source offset", 8),
            target_offset=position.number("target offset", 8),
            metadata=position.text("metadata"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A sign of life of the mirror between two clusters; MirrorMaker 2 stamps the record with the same time."""

    source_alias: str
    target_alias: str
    timestamp_ms: int

    def encode_key(self) -> bytes:
        """Bytes of the key.

        :raises ValueError: a field does not fit into its bytes.
        """
        return _text("source alias", self.source_alias) + _text("target alias", self.target_alias)

    def encode_value(self) -> bytes:
        """Bytes of the value.

        :raises ValueError: a field does not fit into its bytes.
        """
        return _number("version", VERSION, 2) + _number("timestamp", self.timestamp_ms, 8)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> Heartbeat:
        """A heartbeat from its two parts; bytes behind the last field are ignored.

        :raises ValueError: a part is null or too short, holds what no heartbeat can, or is of an unknown version.
        """
        name, beat = _Fields("key of a heartbeat", key), _Fields("value of a heartbeat", value)
        beat.check_version()
        return cls(
            source_alias=name.text("source alias"),
            target_alias=name.text("target alias"),
            timestamp_ms=beat.number("timestamp", 8),
        )


def _number(field: str, value: int, size: int) -> bytes:
    limit = 2 ** (8 * size - 1)
    if not 0 <= value < limit:
        raise ValueError(f"the {field} is {value}, and can be 0 to {limit - 1}")
    return value.to_bytes(size, "big")


def _text(field: str, value: str) -> bytes:
    data = value.encode()
    if len(data) > STRING_LIMIT_BYTES:
        raise ValueError(f"the {field} has {len(data)} bytes, and can have {STRING_LIMIT_BYTES}")
    return _number(f"length of the {field}", len(data), 2) + data


class _Fields:
    """Takes the fields off one part of a record, from the front."""

    def __init__(self, part: str, data: bytes | None) -> None:
        if data is None:
            raise ValueError(f"the {part} is null")
        self._part, self._data, self._at = part, data, 0

    def check_version(self) -> None:
        """Take the version, and refuse one that is not known."""
        version = int.from_bytes(self._take("version", 2), "big", signed=True)
        if version != VERSION:
            raise ValueError(f"the {self._part} has version {version}, known is {VERSION}")

    def number(self, field: str, size: int) -> int:
        """Take a number."""
        value = int.from_bytes(self._take(field, size), "big", signed=True)
        if value < 0:
            raise ValueError(f"the {self._part} has a negative {field}: {value}")
        return value

    def text(self, field: str) -> str:
        """Take a string."""
        data = self._take(field, self.number(f"length of the {field}", 2))
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"the {self._part} has a {field} that is not UTF-8: {data!r}") from error

    def _take(self, field: str, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ValueError(f"the {self._part} ends inside the {field}: {len(taken)} of {size} bytes are there")
        self._at += size
        return taken
