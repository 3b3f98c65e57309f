"""Which checkpoints are published: MirrorMaker 2's filter of six points. Pure.

1. The topic is one that the flow mirrors.
2. The group has committed an offset for the partition.
3. The offset was translated.
4. It does not lie before the first record whose place is known.
5. The group has no checkpoint of the partition yet, or
6. it has moved on on the target, or gone back on the source.

By point 6 published target offsets only rise, although a later run may know fewer syncs and translate lower; only a
group that was set back on the source goes back on the target.

Source: MirrorMaker 2, ``MirrorCheckpointTask.checkpointsForGroup`` and ``checkpointIsMoreRecent``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint


class Withheld(Enum):
    """Why a checkpoint is not published."""

    NOT_MIRRORED = "the topic is not mirrored"
    NOT_COMMITTED = "the group has no offset for the partition"
    NOT_TRANSLATED = "the offset has no translation"
    NOT_NEWER = "the group has not moved on since its last checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPosition:
    """Where a group stands on the source, and what its partition is called on the target.

    ``offset`` is its next record to read; None where it never committed one.
    """

    group: str
    source: TopicPartition
    target: TopicPartition
    offset: int | None
    metadata: str | None = None


def is_due(new: Checkpoint, last: Checkpoint | None) -> bool:
    """Whether a checkpoint may follow the last one that was published (points 5 and 6).

    :param new: a checkpoint of the same group and partition.
    :param last: None where none was published yet.
    """
    if last is None:
        return True
    went_back_on_source = new.source_offset < last.source_offset
    moved_on_on_target = new.target_offset > last.target_offset
    return went_back_on_source or moved_on_on_target


def checkpoint_to_publish(
    position: GroupPosition, translated: int | Enum, *, topics: Collection[str], last: Checkpoint | None
) -> Checkpoint | Withheld:
    """The checkpoint that a group's position gives, or why there is none.

    :param position: where the group stands.
    :param translated: the position's target offset, or a reason why it has none (points 3 and 4).
    :param topics: the source topics that the flow mirrors.
    :param last: the newest published checkpoint of the group and partition, by whatever run.
    """
    if position.source.topic not in topics:
        return Withheld.NOT_MIRRORED
    if position.offset is None:
        return Withheld.NOT_COMMITTED
    if isinstance(translated, Enum):
        return Withheld.NOT_TRANSLATED
    new = Checkpoint(
        group=position.group,
        topic=position.target.topic,
        partition=position.target.partition,
        source_offset=position.offset,
        target_offset=translated,
        metadata=position.metadata,
    )
    return new if is_due(new, last) else Withheld.NOT_NEWER
