"""Positions of another cluster's groups on this one, and what is known of how exact and how old they are. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from airflow_provider_mm2.mirror.group_model import GroupRecord
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition, target_offsets
from airflow_provider_mm2.mirror.offsets.translate import Reason, Translated
from airflow_provider_mm2.mirror.state.snapshot import GroupSnapshot

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.confluent.assign import Assignment


class AnsweredBy(str, Enum):
    """What a translation rests on."""

    MAP = "offset map"
    """This provider's map and its snapshot of the source's groups."""
    CHECKPOINTS = "checkpoints"
    """What a mirror published of the group, MirrorMaker 2 or this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointedGroup:
    """What checkpoints say of a group.

    :param checkpoints: the newest of each target partition.
    :param newest_ms: when the newest of them was written; a group that stands still gets no new ones.
    """

    checkpoints: Mapping[TopicPartition, Checkpoint]
    newest_ms: int | None

    @property
    def offsets(self) -> Mapping[TopicPartition, int]:
        """Target offsets by target partition."""
        return {part: found.target_offset for part, found in self.checkpoints.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOffsets:
    """What checkpoints say of groups.

    :param passed_over: records of the topic that are no checkpoint of a known version, as texts.
    """

    groups: Mapping[str, CheckpointedGroup]
    passed_over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedOffsets:
    """Where a group goes on on the target.

    :param offsets: by target partition.
    :param as_of_ms: when the group was last read on the source; by checkpoints, when the newest was written. What the
        group has read since is read again.
    :param moved_ms: when it was last seen to have moved; None where that is not known.
    :param inexact: target partitions whose offset may skip or repeat, and why.
    :param left_out: partitions without an offset, and why: source partitions by the map, target ones by checkpoints.
    :param passed_over: see :class:`RemoteOffsets`.
    """

    group: str
    answered_by: AnsweredBy
    offsets: Mapping[TopicPartition, int]
    as_of_ms: int | None
    moved_ms: int | None = None
    inexact: Mapping[TopicPartition, str] = field(default_factory=dict)
    left_out: Mapping[TopicPartition, str] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether each offset is that of the group's next unread record; of what is left out it says nothing."""
        return not self.inexact

    @property
    def complete(self) -> bool:
        """Whether each of the group's partitions has an offset; a consumer is never given records of one without."""
        return not self.left_out

    def to_assign(self) -> Assignment:
        """What ``Consumer.assign`` and ``Consumer.commit(offsets=)`` of confluent-kafka take."""
        from airflow_provider_mm2.mirror.clusters.confluent.assign import to_assign

        return to_assign(self.offsets)


def from_map(
    group: str, positions: Collection[GroupPosition], taken: Sequence[tuple[GroupSnapshot, GroupRecord]]
) -> TranslatedOffsets:
    """What the maps of one or more flows say.

    :param taken: each flow's snapshot and what it has of the group; the oldest time counts.
    """
    inexact: dict[TopicPartition, str] = {}
    left_out: dict[TopicPartition, str] = {}
    for found in positions:
        position = found.position
        why = _reason(found)
        if found.target is None or not isinstance(position, Translated):
            left_out[found.source] = why
        elif not position.exact or found.pending:
            inexact[found.target] = why
    return TranslatedOffsets(
        group=group,
        answered_by=AnsweredBy.MAP,
        offsets=target_offsets(positions),
        as_of_ms=min(_read_ms(group, snapshot, record) for snapshot, record in taken),
        moved_ms=max(record.taken_ms for _, record in taken),
        inexact=inexact,
        left_out=left_out,
    )


def _read_ms(group: str, snapshot: GroupSnapshot, record: GroupRecord) -> int:
    """When a group was last read: its record is written only when it has moved, but for a group that failed."""
    if snapshot.taken_ms is None or group in snapshot.unread:
        return record.taken_ms
    return snapshot.taken_ms


def _reason(found: GroupPosition) -> str:
    position = found.position
    why = "" if position.reason is None else position.reason.value
    why += f" by {position.distance}" if position.distance else ""
    if found.pending:
        why += f"{'; ' if why else ''}an open transaction of the group's application holds a newer offset"
    return why


def from_checkpoints(group: str, remote: RemoteOffsets, topics: Mapping[str, int]) -> TranslatedOffsets:
    """What checkpoints say; a partition that is not on the cluster is left out, since no consumer can be assigned it.

    :param topics: the cluster's topics, with their partition counts.
    """
    found = remote.groups[group]
    here = {part: offset for part, offset in found.offsets.items() if part.partition < topics.get(part.topic, 0)}
    return TranslatedOffsets(
        group=group,
        answered_by=AnsweredBy.CHECKPOINTS,
        offsets=here,
        as_of_ms=found.newest_ms,
        moved_ms=found.newest_ms,
        inexact=dict.fromkeys(here, Reason.FROM_SYNCS.value),
        left_out=dict.fromkeys(found.offsets.keys() - here.keys(), "its checkpoint is there, and it is not"),
        passed_over=remote.passed_over,
    )
