"""The values of a flow's state topics, and how it delivers: frozen, as ``model.py``'s are."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from airflow_provider_mm2.mirror.model import Segment, TopicPartition


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

    ``headers`` and ``timestamp_ms`` (None: now) are those of a record of an application that is written beside state.
    """

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    turn: int = field(default=0, compare=False)
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One record of the ledger: progress of a partition, and the part of its offset map from ``first`` on.

    ``target_end`` is the target's log end after the entry's own transaction was committed (its marker counted).
    ``delivery`` is how the entry was written: behind an ``at_least_once`` entry there may be repeats on the target.
    ``source_topic_id`` is empty where the source could not be asked for it.
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

    def is_of(self, source_topic_id: str) -> bool:
        """Whether it is of this topic of the source, as far as that is known."""
        return self.source_topic_id in ("", source_topic_id)

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


class Engine(str, Enum):
    """What mirrors a flow; the third one is on record while it changes, and then nothing does."""

    BOUNDED = "bounded"
    CONNECT = "connect"
    TO_CONNECT = "bounded to connect"


class ActiveSide(Enum):
    """The cluster that applications write to."""

    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRecord:
    """The gate: what is fixed for a flow, and whether a mirror run may write.

    ``engine``: only what stands here mirrors, whatever a flow's file says; a hand-over changes it.
    """

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
    engine: Engine = Engine.BOUNDED
