"""Positions behind the place where this flow took over from MirrorMaker 2: by what that left. Pure.

The map begins at the take-over. A group that lags behind it is on records that MirrorMaker 2 copied.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition
from airflow_provider_mm2.mirror.offsets.translate import Reason, Translated

Positions = Mapping[str, tuple[GroupPosition, ...]]


def is_behind_start(found: GroupPosition) -> bool:
    """Whether the map has nothing of a position, since it lies behind the map's start."""
    return found.position.reason is Reason.BEHIND_START


def with_mm2_behind_start(
    ours: Positions, theirs: Positions, maps: Mapping[TopicPartition, OffsetMap]
) -> dict[str, tuple[GroupPosition, ...]]:
    """Our positions, those behind the map's start as MirrorMaker 2's state has them, where it has an answer.

    What would lie behind the first record of our map contradicts it and is not taken: records would be skipped.
    """
    known = {(name, each.source): each for name, positions in theirs.items() for each in positions}
    return {
        name: tuple(_better(each, known.get((name, each.source)), maps) for each in positions)
        for name, positions in ours.items()
    }


def _better(
    found: GroupPosition, other: GroupPosition | None, maps: Mapping[TopicPartition, OffsetMap]
) -> GroupPosition:
    if other is None or not is_behind_start(found) or not isinstance(other.position, Translated):
        return found
    offset_map = maps.get(found.source)
    if offset_map is None or other.target != found.target:
        return found
    first = offset_map.target_starts[0] if offset_map.counts else offset_map.target_end
    return other if other.position.offset <= first else found
