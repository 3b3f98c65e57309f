"""What MirrorMaker 2's readers find of us on the target: checkpoints, offset syncs, heartbeats.

All of it is written after the data's commits, from the ledger and the groups' positions, in one transaction with the
snapshot that remembers it: a run that dies before has published nothing, and the next one makes up for it. What stands
in the topics already, by whatever writer, is read first, so no checkpoint goes back and no sync is written twice.
Never a tombstone: MirrorMaker 2's readers end on them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from airflow_provider_mm2.mirror.clusters import mm2_topics
from airflow_provider_mm2.mirror.clusters.naming import policy_of
from airflow_provider_mm2.mirror.clusters.ports import TargetCluster, Tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint, Heartbeat, OffsetSync
from airflow_provider_mm2.mirror.offsets.emit import is_due
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition, Mirror
from airflow_provider_mm2.mirror.offsets.syncs import syncs_to_write
from airflow_provider_mm2.mirror.offsets.translate import Translated
from airflow_provider_mm2.mirror.state.snapshot import (
    GroupSnapshot,
    OffsetPair,
    published_record,
    read_record,
    syncs_record,
)
from airflow_provider_mm2.mirror.state_model import StateRecord

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mm2Topics:
    """Names of MirrorMaker 2's topics on the target; None where the flow does not write that one.

    :param beats: whether heartbeats are ours to write; they are not where the source has its own to be mirrored.
    """

    checkpoints: str | None
    syncs: str | None
    heartbeats: str | None
    beats: bool

    @classmethod
    def of(cls, flow: MirrorFlow, *, source_beats: bool) -> Mm2Topics:
        """The topics of a flow.

        :param source_beats: whether the source has heartbeats of its own.
        """
        policy, alias = policy_of(flow), flow.source.alias
        return cls(
            checkpoints=mm2_topics.checkpoints_topic(policy, alias) if flow.emit_checkpoints else None,
            syncs=mm2_topics.offset_syncs_topic(policy, alias) if flow.emit_offset_syncs else None,
            heartbeats=mm2_topics.heartbeats_topic(policy, alias) if flow.emit_heartbeats else None,
            beats=flow.emit_heartbeats and not source_beats,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All of them; that of heartbeats is there even where nobody writes any, since clients go by its name."""
        return tuple(name for name in (self.checkpoints, self.syncs, self.heartbeats) if name is not None)


@dataclass(slots=True, kw_only=True)
class Published:
    """What stands in MirrorMaker 2's topics of the flow's topics.

    :param checkpoints: newest (source offset, target offset) by group and target partition; ``syncs`` likewise by
        source partition.
    :param read: id of each topic, and up to where it was read.
    :param odd: records that could not be read, as texts: another version, or a tombstone.
    """

    checkpoints: dict[str, dict[TopicPartition, OffsetPair]]
    syncs: dict[TopicPartition, OffsetPair]
    read: dict[str, tuple[str, int]] = field(default_factory=dict)
    odd: list[str] = field(default_factory=list)


def read_published(
    target: TargetCluster, flow: MirrorFlow, topics: Mm2Topics, snapshot: GroupSnapshot, tick: Tick
) -> Published:
    """What was published, by the snapshot and by what has come to the topics since.

    Other flows from the same source share the topics, so what is not of this flow's topics is passed over.
    """
    published = Published(
        checkpoints={name: {**found} for name, found in snapshot.published.items()}, syncs={**snapshot.syncs}
    )
    policy = policy_of(flow)
    for checkpoint in _news(target, topics.checkpoints, snapshot, Checkpoint.decode, published, tick):
        if _selects(flow, policy.upstream_topic(checkpoint.topic)):
            pair = (checkpoint.source_offset, checkpoint.target_offset)
            published.checkpoints.setdefault(checkpoint.group, {})[checkpoint.target] = pair
    for sync in _news(target, topics.syncs, snapshot, OffsetSync.decode, published, tick):
        if _selects(flow, sync.topic):
            published.syncs[sync.source] = (sync.source_offset, sync.target_offset)
    return published


def _selects(flow: MirrorFlow, source_topic: str | None) -> bool:
    return source_topic is not None and any(re.fullmatch(pattern, source_topic) for pattern in flow.topics)


def _news(
    target: TargetCluster,
    topic: str | None,
    snapshot: GroupSnapshot,
    decode: Callable[[bytes | None, bytes | None], T],
    published: Published,
    tick: Tick,
) -> Iterator[T]:
    """Records of a topic since it was last read; all of them when it is not the topic that was."""
    if topic is None:
        return
    place, topic_id = TopicPartition(topic, 0), target.describe_topics([topic])[topic].topic_id
    known_id, known_end = snapshot.read.get(topic, ("", 0))
    published.read[topic] = (topic_id, target.log_offsets([place])[place].stable)
    for record in target.read_state(place, tick, start=known_end if known_id == topic_id else 0):
        try:
            yield decode(record.key, record.value)
        except ValueError as error:
            published.odd.append(f"{topic}-0 at {record.offset} is passed over: {error}")


def due_checkpoints(
    positions: Collection[GroupPosition], published: Mapping[str, Mapping[TopicPartition, OffsetPair]]
) -> list[Checkpoint]:
    """Checkpoints that may follow what was published, by MirrorMaker 2's rule."""
    due: list[Checkpoint] = []
    for found in positions:
        if found.target is None or found.source_offset is None or not isinstance(found.position, Translated):
            continue
        new = Checkpoint(
            group=found.group,
            topic=found.target.topic,
            partition=found.target.partition,
            source_offset=found.source_offset,
            target_offset=found.position.offset,
            metadata=found.metadata,
        )
        pair = published.get(found.group, {}).get(found.target)
        last = None if pair is None else _checkpoint_at(new, pair)
        if is_due(new, last):
            due.append(new)
    return due


def _checkpoint_at(new: Checkpoint, pair: tuple[int, int]) -> Checkpoint:
    return Checkpoint(
        group=new.group, topic=new.topic, partition=new.partition, source_offset=pair[0], target_offset=pair[1]
    )


def due_syncs(mirror: Mirror, published: Mapping[TopicPartition, OffsetPair], offset_lag_max: int) -> list[OffsetSync]:
    """Offset syncs that are missing, each partition's in order."""
    due: list[OffsetSync] = []
    for part, offset_map in mirror.maps.items():
        pair = published.get(part)
        last = None if pair is None else _sync_at(part, pair)
        segments = offset_map.segments_from(-1 if pair is None else pair[0])
        due += syncs_to_write(part, segments, last=last, offset_lag_max=offset_lag_max)
    return due


def _sync_at(part: TopicPartition, pair: tuple[int, int]) -> OffsetSync:
    return OffsetSync(topic=part.topic, partition=part.partition, source_offset=pair[0], target_offset=pair[1])


def publish_records(
    flow: str,
    topics: Mm2Topics,
    due: tuple[Collection[Checkpoint], Collection[OffsetSync]],
    published: Published,
    snapshot: GroupSnapshot,
) -> Iterator[StateRecord]:
    """The records that publish what is due, and those that remember what stands there now."""
    for checkpoint in due[0] if topics.checkpoints else ():
        pair = (checkpoint.source_offset, checkpoint.target_offset)
        published.checkpoints.setdefault(checkpoint.group, {})[checkpoint.target] = pair
        yield _record(topics.checkpoints, checkpoint)
    for sync in due[1] if topics.syncs else ():
        published.syncs[sync.source] = (sync.source_offset, sync.target_offset)
        yield _record(topics.syncs, sync)
    for group, found in published.checkpoints.items():
        if snapshot.published.get(group) != found:
            yield published_record(flow, group, found)
    for topic in sorted({part.topic for part, pair in published.syncs.items() if snapshot.syncs.get(part) != pair}):
        yield syncs_record(flow, topic, {part: pair for part, pair in published.syncs.items() if part.topic == topic})
    for topic, (topic_id, end) in published.read.items():
        yield read_record(flow, topic, topic_id, end)


def _record(topic: str | None, found: Checkpoint | OffsetSync) -> StateRecord:
    return StateRecord(topic=topic or "", partition=0, key=found.encode_key(), value=found.encode_value())


def heartbeat_record(flow: MirrorFlow, topic: str) -> StateRecord:
    """A sign of life."""
    now_ms = int(time.time() * 1000)
    beat = Heartbeat(source_alias=flow.source.alias, target_alias=flow.target.alias, timestamp_ms=now_ms)
    return StateRecord(topic=topic, partition=0, key=beat.encode_key(), value=beat.encode_value())
