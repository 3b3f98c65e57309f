"""The values that cross steps: frozen, without behaviour beyond what follows from their own fields.

Offsets are whole numbers >= 0, ranges are half open (``end`` is not included), times are milliseconds since 1970
in UTC where the name ends in ``_ms``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of one topic on one cluster; the key of most mappings here."""

    topic: str
    partition: int

    def __str__(self) -> str:
        """Kafka's own way to write it: ``topic-partition``."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """``count`` records that are contiguous on both sides, without a hole in either log."""

    source_start: int
    target_start: int
    count: int

    @property
    def source_end(self) -> int:
        """Offset after the last record on the source."""
        return self.source_start + self.count

    @property
    def target_end(self) -> int:
        """Offset after the last record on the target."""
        return self.target_start + self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo:
    """What a cluster says of a topic. ``topic_id`` changes when the topic is deleted and made anew."""

    name: str
    topic_id: str
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSetting:
    """One configuration value of a topic; ``overridden`` says that it is set on the topic itself."""

    name: str
    value: str | None
    overridden: bool
    sensitive: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create: ``replication_factor`` None leaves the choice to the broker."""

    name: str
    partitions: int
    replication_factor: int | None
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TopicAcl:
    """One access rule of a topic, in Kafka's own words (``READ``, ``ALLOW``); ``prefixed``: of all that begin so."""

    name: str
    prefixed: bool
    principal: str
    host: str
    operation: str
    permission: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOffsets:
    """The three ends of a log: ``start <= stable <= end`` (``stable`` is the last stable offset, LSO)."""

    start: int
    stable: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One visible record of a state topic; ``value`` None is a tombstone. When it was written says nothing of it."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One visible record of a data topic, with all that a mirror carries over; a timestamp of -1 is none."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


Headers = Sequence[tuple[str, bytes | None]]
Row = tuple[bytes | None, bytes | None, int, object]
"""What a record says, without its offset: key, value, timestamp in ms, headers or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Records of one partition that lie side by side from offset ``start`` on, as columns of equal length.

    A column is a list, so that two of them are compared without a line of Python a record. ``headers`` has None for a
    record without any.
    """

    start: int
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers | None]
    timestamps: Sequence[int]

    def __len__(self) -> int:
        """How many records they are."""
        return len(self.timestamps)

    @property
    def end(self) -> int:
        """Offset behind the last one."""
        return self.start + len(self.timestamps)

    def slice(self, start: int, end: int) -> Columns:
        """The records from one place on to another, counted from the first one."""
        if start == 0 and end >= len(self.timestamps):
            return self
        return Columns(
            start=self.start + start,
            keys=self.keys[start:end],
            values=self.values[start:end],
            headers=self.headers[start:end],
            timestamps=self.timestamps[start:end],
        )

    def says_the_same(self, other: Columns) -> bool:
        """Whether the records of both are equal one by one, whatever their offsets."""
        return (
            self.timestamps == other.timestamps
            and self.keys == other.keys
            and self.values == other.values
            and self.headers == other.headers
        )

    def rows(self) -> list[Row]:
        """What each record says, as values that can be looked up."""
        headers = (None if each is None else tuple(each) for each in self.headers)
        return list(zip(self.keys, self.values, self.timestamps, headers, strict=True))


class RangeEnd(Enum):
    """Why a partition's part of a run is finished."""

    BOUND = "bound"  # the last stable offset taken in step 4 was reached
    CUT = "cut"  # a visible record stamped at or after the interval's end was met


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRange:
    """What is to be copied of one partition.

    ``end`` is the bound (the LSO of step 4), ``cut_ms`` the interval's end or None (copy to the bound),
    ``leader_epoch`` that of the last record mirrored, so that the broker can tell a truncated log.
    """

    source: TopicPartition
    target: TopicPartition
    start: int
    end: int
    cut_ms: int | None
    leader_epoch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedRange:
    """What one chunk copied of one partition; ``next_offset`` is where the next one goes on.

    ``future`` is (offset, timestamp) of the first record stamped later than now plus five minutes,
    ``future_records`` how many there were.
    """

    source: TopicPartition
    next_offset: int
    segments: tuple[Segment, ...]
    records: int
    bytes: int
    leader_epoch: int | None
    ended: RangeEnd | None
    future: tuple[int, int] | None = None
    future_records: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CopierSettings:
    """What a copy engine is made from, for one shard of one flow.

    ``max_record_bytes``: the largest record the source may hold, by its topics' ``max.message.bytes``.
    ``batch_bytes``: the smallest batch limit of the target's topics, by their ``max.message.bytes``.
    ``silence_limit_s``: how long the source may say nothing while a bound is not reached.
    ``shared_target``: others may write to the target as well, so each record's place there is taken, not a run's ends.
    ``watched``: state partitions, and of each the key under which nobody else may write meanwhile, None for every key;
    looked at where nothing can be fenced.
    """

    flow: str
    transactional_id: str
    progress_group: str
    transaction_timeout_s: int
    max_record_bytes: int
    silence_limit_s: int
    batch_bytes: int = 1_000_000
    shared_target: bool = False
    watched: Mapping[TopicPartition, bytes | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkLimits:
    """Limits of one transaction: whichever is met first ends the chunk."""

    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionResult:
    """What a run did with one partition; ``target_start``/``target_end`` None where nothing was written."""

    source: TopicPartition
    target_topic: str
    start: int
    end: int
    bound: int
    records: int
    bytes: int
    ended: RangeEnd
    target_start: int | None
    target_end: int | None
    through_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardResult:
    """What one shard of a run did."""

    shard: int
    partitions: tuple[PartitionResult, ...]
    transactions: int
    seconds: float
    copy_seconds: float
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a running shard is; ``remaining`` counts offsets below the bounds, not records."""

    shard: int
    records: int
    bytes: int
    remaining: int
    seconds: float


def total(results: Sequence[PartitionResult]) -> tuple[int, int]:
    """Sum of records and of value bytes over partitions."""
    return sum(part.records for part in results), sum(part.bytes for part in results)
