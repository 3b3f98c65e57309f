"""Where a group stands on the target, partition by partition. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from airflow_provider_mm2.mirror.clusters.naming import DRILL_PREFIX, is_drill
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupKind, GroupListing, GroupOffsets
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.translate import (
    Policy,
    Position,
    Reason,
    Translated,
    Untranslated,
    translate,
)
from airflow_provider_mm2.mirror.state_model import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """What translation needs of a flow, read from the target at one time.

    :param maps: offset maps by source partition.
    :param log_starts: log start of each mapped target partition.
    :param topics: source topics of the flow, with their name on the target and their partition count.
    :param recreated: source topics whose map is of a topic that is gone, on either side.
    :param source_recreated: those of them that are gone from the source: what groups have committed is not of the map's
        topic.
    :param engine: what mirrors the flow, by its record.
    """

    maps: Mapping[TopicPartition, OffsetMap]
    log_starts: Mapping[TopicPartition, int]
    topics: Topics
    recreated: frozenset[str] = frozenset()
    source_recreated: frozenset[str] = frozenset()
    engine: Engine = Engine.BOUNDED


class Origin(str, Enum):
    """What a position follows from."""

    OFFSET_MAP = "offset map"
    SYNCS_ON_TARGET = "offset syncs on target"
    SYNCS_ON_SOURCE = "offset syncs on source"
    CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPosition:
    """One group on one partition, on both sides.

    :param source_offset: what it has committed on the source; None: nothing.
    :param target: the partition on the target; None where its topic is not mirrored.
    :param pending: an open transaction of the group's application holds a newer source offset.
    :param on_target: what it has committed on the target, where that was asked for.
    :param origin: what the position follows from; None where MirrorMaker 2 has left nothing to go by.
    :param note: why the record was looked for and not found, as people are told it.
    """

    group: str
    source: TopicPartition
    source_offset: int | None
    target: TopicPartition | None
    position: Position
    metadata: str = ""
    pending: bool = False
    on_target: int | None = None
    origin: Origin | None = Origin.OFFSET_MAP
    note: str = ""


Topics = Mapping[str, tuple[str, int]]
"""Source topics of a flow, with their name on the target and their partition count."""

Answer = Callable[[TopicPartition, int | None], tuple[Position, Origin | None]]
"""Where a source position lies on the target, and what that follows from."""


def select_groups(flow: MirrorFlow, listed: Collection[GroupListing]) -> tuple[list[str], dict[str, str]]:
    """The groups of a flow, and those left out with the rule that hit.

    Source: MirrorMaker 2, ``DefaultGroupFilter``. There nobody is told what was left out.
    """
    selected: list[str] = []
    left_out: dict[str, str] = {}
    for group in sorted(listed, key=lambda found: found.name):
        rule = _rule_against(flow, group)
        if rule is None:
            selected.append(group.name)
        else:
            left_out[group.name] = rule
    return selected, left_out


def _rule_against(flow: MirrorFlow, group: GroupListing) -> str | None:
    if not group.name:
        return "a group without a name: nobody can ask for its offsets"
    if group.name.startswith("mm2."):
        return "a mirror's own group"
    if not any(re.fullmatch(pattern, group.name) for pattern in flow.groups):
        return "not in groups"
    named = group.name in flow.groups
    if group.name.startswith(f"{DRILL_PREFIX}.") and not is_drill(flow.name):
        return "a drill's group, there for a moment"
    excluded = next((pattern for pattern in flow.groups_exclude if re.fullmatch(pattern, group.name)), None)
    if excluded is not None and not named:
        return f"groups_exclude: {excluded}"
    if group.kind is GroupKind.OTHER:
        return "not a consumer group: of share or streams consumers, or a Connect cluster's"
    return None


def locate(group: str, found: GroupOffsets, mirror: Mirror, policy: Policy) -> list[GroupPosition]:
    """Where a group stands by the offset map."""

    def answer(part: TopicPartition, offset: int | None) -> tuple[Position, Origin | None]:
        return _position(part, offset, mirror, policy), Origin.OFFSET_MAP

    return place(group, found, mirror.topics, answer)


def place(group: str, found: GroupOffsets, topics: Topics, answer: Answer) -> list[GroupPosition]:
    """Where a group stands: every partition it has committed, and the others of the mirrored topics among them."""
    placed: list[GroupPosition] = []
    for part in sorted(set(_partitions(found, topics))):
        position, origin = answer(part, found.offsets.get(part))
        placed.append(
            GroupPosition(
                group=group,
                source=part,
                source_offset=found.offsets.get(part),
                target=target_of(part, topics),
                position=position,
                metadata=found.metadata.get(part, ""),
                pending=part in found.pending,
                origin=origin,
            )
        )
    return placed


def _partitions(found: GroupOffsets, topics: Topics) -> Iterator[TopicPartition]:
    yield from found.offsets
    yield from found.pending
    for topic in {part.topic for part in found.offsets}:
        if topic in topics:
            yield from (TopicPartition(topic, number) for number in range(topics[topic][1]))


def target_of(part: TopicPartition, topics: Topics) -> TopicPartition | None:
    """A source partition's place on the target; None where its topic is not mirrored."""
    named = topics.get(part.topic)
    return None if named is None else TopicPartition(named[0], part.partition)


def _position(part: TopicPartition, offset: int | None, mirror: Mirror, policy: Policy) -> Position:
    if part.topic not in mirror.topics:
        return Untranslated(reason=Reason.NOT_MIRRORED)
    if part.topic in mirror.recreated:
        return Untranslated(reason=Reason.RECREATED)
    offset_map = mirror.maps.get(part)
    if offset_map is None:
        return Untranslated(reason=Reason.NOT_YET)
    return translate(offset_map, offset, target_log_start=mirror.log_starts[offset_map.target], policy=policy)


def target_commits(positions: Collection[GroupPosition]) -> GroupOffsets:
    """What a group would get on the target, with what its application keeps beside each offset."""
    metadata = {found.target: found.metadata for found in positions if found.target is not None and found.metadata}
    return GroupOffsets(offsets=target_offsets(positions), metadata=metadata)


def target_offsets(positions: Collection[GroupPosition]) -> dict[TopicPartition, int]:
    """What a group would get on the target."""
    return {
        found.target: found.position.offset
        for found in positions
        if found.target is not None and isinstance(found.position, Translated)
    }
