"""The values of consumer groups: what a cluster says of them, and what they have committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from airflow_provider_mm2.mirror.model import TopicPartition


class GroupKind(str, Enum):
    """The protocol of a consumer group."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    """The protocol of KIP-848."""
    OTHER = "other"
    """Share and streams groups, and what later brokers have: their positions are not offsets of a consumer group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupListing:
    """A group that a cluster knows of."""

    name: str
    kind: GroupKind


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffsets:
    """What a group has committed. ``pending``: an open transaction holds newer offsets of these partitions."""

    offsets: Mapping[TopicPartition, int]
    metadata: Mapping[TopicPartition, str] = field(default_factory=dict)
    pending: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """What a source group had committed when it was last read, at ``taken_ms``."""

    name: str
    taken_ms: int
    found: GroupOffsets


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """Whether somebody is in a group.

    :param exists: whether the cluster knows the group at all.
    :param members: client id and host of each member.
    :param once_used: a classic group that had members: all its offsets expire by the time since it became empty.
    """

    name: str
    exists: bool
    members: tuple[str, ...] = ()
    once_used: bool = False
