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


class Delivery(str, Enum):
    """What a flow promises of each record after a failure; it decides how chunks and state are written."""

    EXACTLY_ONCE = "exactly_once"
    AT_LEAST_ONCE = "at_least_once"

    @property
    def cost(self) -> str:
        """What readers of the target have to put up with, in a sentence."""
        if self is Delivery.EXACTLY_ONCE:
            return "readers on the target need isolation.level=read_committed"
        return (
            "records of a chunk can be on the target twice after a failure, never missing; "
            "isolation.level=read_committed spares a reader nothing"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRecord:
    """One record to be written to a state topic; ``value`` None removes what the key said.

    ``turn``: where there are no transactions, a record is written once all of lower turns are there, so that a write
    which stops anywhere leaves a state that is true. Records of one turn do not depend on each other.
    """

    topic: str
    partition: int
    key: bytes
    value: bytes | None
    turn: int = field(default=0, compare=False)


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
    ``watched``: state partitions that nobody else may write to meanwhile; looked at where nothing can be fenced.
    """

    flow: str
    transactional_id: str
    progress_group: str
    transaction_timeout_s: int
    max_record_bytes: int
    silence_limit_s: int
    batch_bytes: int = 1_000_000
    shared_target: bool = False
    watched: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkLimits:
    """Limits of one transaction: whichever is met first ends the chunk."""

    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One record of the ledger: progress of a partition, and the part of its offset map from ``first`` on.

    ``target_end`` is the target's log end after the entry's own transaction was committed (its marker counted).
    ``delivery`` is how the entry was written: behind an ``at_least_once`` entry there may be repeats on the target.
    ``through_ms``: mirrored through this time; None: nothing can be claimed. ``pending`` is (last stable offset,
    first seen at ms) while an open transaction holds the source's LSO back. ``expired`` counts records of entries that
    this one, without segments, stands for since they expired on the target.
    """

    generation: int
    source_topic_id: str
    topic: str
    partition: int
    first: int
    segments: tuple[Segment, ...]
    next_offset: int
    target_topic: str
    target_topic_id: str
    target_end: int
    source_cluster_id: str
    leader_epoch: int | None
    records: int
    through_ms: int | None
    sequence: int
    pending: tuple[int, int] | None = None
    expired: int = 0
    delivery: Delivery = Delivery.EXACTLY_ONCE

    @property
    def source(self) -> TopicPartition:
        """The partition on the source."""
        return TopicPartition(self.topic, self.partition)

    @property
    def target(self) -> TopicPartition:
        """The partition on the target."""
        return TopicPartition(self.target_topic, self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLedger:
    """All entries of one partition in its newest generation, in source order; never empty."""

    entries: tuple[LedgerEntry, ...]

    @property
    def latest(self) -> LedgerEntry:
        """The entry that tells the progress."""
        return self.entries[-1]

    @property
    def records(self) -> int:
        """Records mirrored in this generation."""
        return sum(entry.records + entry.expired for entry in self.entries)


class ActiveSide(Enum):
    """The cluster that applications write to."""

    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRecord:
    """The gate: what is fixed for a flow, and whether a mirror run may write."""

    flow: str
    source_alias: str
    target_alias: str
    policy: str
    separator: str
    source_cluster_id: str
    target_cluster_id: str
    shards: int
    delivery: Delivery = Delivery.EXACTLY_ONCE
    active_side: ActiveSide = ActiveSide.SOURCE
    frozen: bool = False


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
