"""Where a group stands on the target by what MirrorMaker 2 left: its offset syncs and checkpoints. Pure.

For a pair that it filled and that we have no map of. Its own rule gives an offset from which nothing is missed and some
records may be read again; only at a sync of the very record is it exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint, OffsetSync
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition, Origin, Topics, place, target_of
from airflow_provider_mm2.mirror.offsets.sync_store import OffsetSyncStore, Untranslatable
from airflow_provider_mm2.mirror.offsets.translate import (
    Policy,
    Position,
    Reason,
    Translated,
    Untranslated,
    or_earliest,
)

Answered = tuple[Position, Origin | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mm2State:
    """What MirrorMaker 2 left of a flow's topics.

    :param topics: the flow's topics on the source, with their name on the target and their partition count.
    :param syncs: offset syncs by where they lie; of two that answer, the first one does.
    :param checkpoints: the newest of each group and target partition.
    :param newest_checkpoint_ms: when the newest of all checkpoints was written, where that is known.
    :param logs: logs of the target partitions that are there, read after the syncs.
    :param behind: partitions that are mirrored again and have not come to where they were.
    :param warnings: what is worth knowing.
    """

    topics: Topics
    syncs: Mapping[Origin, OffsetSyncStore]
    checkpoints: Mapping[tuple[str, TopicPartition], Checkpoint]
    logs: Mapping[TopicPartition, LogOffsets]
    behind: frozenset[TopicPartition] = frozenset()
    warnings: tuple[str, ...] = ()
    newest_checkpoint_ms: int | None = None

    def anchor(self, source: TopicPartition, offset: int) -> tuple[Origin, OffsetSync] | None:
        """The newest sync of a partition that is not above an offset."""
        for origin, store in self.syncs.items():
            sync = store.at_or_below(source, offset)
            if sync is not None:
                return origin, sync
        return None


def locate_by_mm2(group: str, found: GroupOffsets, state: Mm2State, policy: Policy) -> list[GroupPosition]:
    """Where a group stands by MirrorMaker 2's state."""

    def answer(part: TopicPartition, offset: int | None) -> Answered:
        return _position(group, part, offset, state, policy)

    return place(group, found, state.topics, answer)


def _position(group: str, part: TopicPartition, offset: int | None, state: Mm2State, policy: Policy) -> Answered:
    target = target_of(part, state.topics)
    if target is None:
        return Untranslated(reason=Reason.NOT_MIRRORED), None
    log = state.logs.get(target)
    if log is None:
        return Untranslated(reason=Reason.NOT_YET), None
    if offset is None:
        return or_earliest(policy.uncommitted, Reason.NOT_COMMITTED, 0, log.start), None
    by_syncs = _by_syncs(part, offset, state, log, policy)
    by_checkpoint = _by_checkpoint(state.checkpoints.get((group, target)), offset, log)
    if by_checkpoint is None or not _wins(by_checkpoint, by_syncs[0]):
        return by_syncs
    return by_checkpoint, Origin.CHECKPOINTS


def _by_syncs(part: TopicPartition, offset: int, state: Mm2State, log: LogOffsets, policy: Policy) -> Answered:
    """MirrorMaker 2's own rule, held against the target's log."""
    missing = Reason.NO_SYNC
    for origin, store in state.syncs.items():
        found = store.translate(part, offset)
        if found is Untranslatable.BEFORE_FIRST:
            missing = Reason.BEFORE_SYNCS
        if isinstance(found, Untranslatable):
            continue
        if found > log.end:
            return Untranslated(reason=Reason.PAST_TARGET, distance=found - log.end), origin
        sync = store.at_or_below(part, offset)
        if sync is None or sync.source_offset != offset:
            return Translated(offset=max(found, log.start), exact=False, reason=Reason.FROM_SYNCS), origin
        if found < log.start:
            gone = log.start - found
            return Translated(offset=log.start, exact=False, reason=Reason.EXPIRED, distance=gone), origin
        return Translated(offset=found), origin
    if missing is Reason.BEFORE_SYNCS:
        return or_earliest(policy.behind_start, missing, 0, log.start), None
    return Untranslated(reason=missing), None


def _by_checkpoint(checkpoint: Checkpoint | None, offset: int, log: LogOffsets) -> Translated | None:
    """What a checkpoint says, if the group has not gone back on the source since and the target holds the place."""
    if checkpoint is None or checkpoint.source_offset > offset or checkpoint.target_offset > log.end:
        return None
    at = max(checkpoint.target_offset, log.start)
    return Translated(offset=at, exact=False, reason=Reason.FROM_CHECKPOINT)


def _wins(by_checkpoint: Translated, by_syncs: Position) -> bool:
    """Whether a checkpoint is nearer: it is as safe as the syncs, being made by them when more of them were known."""
    if isinstance(by_syncs, Untranslated):
        return by_syncs.reason is not Reason.PAST_TARGET
    is_nearer = by_syncs.reason is Reason.FROM_SYNCS and by_checkpoint.offset > by_syncs.offset
    return is_nearer or by_syncs.reason is Reason.BEFORE_SYNCS
