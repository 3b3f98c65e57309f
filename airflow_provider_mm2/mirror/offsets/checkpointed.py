"""Where the groups of a flow that connectors mirror stood when MirrorMaker 2 last looked: from the target alone."""

from __future__ import annotations

import time
from collections.abc import Collection

from airflow_provider_mm2.mirror.clusters.ports import TargetCluster, Tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupKind, GroupListing, GroupOffsets
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.by_mm2 import completed_by_mm2
from airflow_provider_mm2.mirror.offsets.commit import GroupOutcome, Outcome
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.mm2_positions import Mm2State
from airflow_provider_mm2.mirror.offsets.mm2_reading import read_mm2_state_on_target, topics_on_target
from airflow_provider_mm2.mirror.offsets.positions import Mirror, locate, select_groups, target_offsets
from airflow_provider_mm2.mirror.offsets.reading import find_mirror
from airflow_provider_mm2.mirror.offsets.translate import Policy
from airflow_provider_mm2.mirror.state_model import Engine

NO_MIRROR = Mirror(maps={}, log_starts={}, topics={}, engine=Engine.CONNECT)
"""Of a flow that no run has mirrored."""


def checkpointed_report(
    flow: MirrorFlow, target: TargetCluster, *, only: Collection[str] = (), tick: Tick
) -> GroupsReport | None:
    """Where groups stand by MirrorMaker 2's checkpoints; None where there is none of the flow's topics.

    A checkpoint has a group's position on both sides. The map answers for that on the source where it goes so far,
    else the nearer one of the checkpoint and the offset syncs on the target.

    What a group has read since it was checkpointed it reads again.

    :param only: these groups, whatever the flow's patterns say; empty: all that the flow selects.
    :raises MirrorError: the target cannot be read.
    """
    state = _read_checkpoints(flow, target, tick)
    if state is None:
        return None
    committed = _committed(flow, state, only)
    mirror, policy = find_mirror(flow, target, tick) or NO_MIRROR, Policy.of(flow)
    ours = {name: tuple(locate(name, found, mirror, policy)) for name, found in committed.items()}
    completed = completed_by_mm2(flow, committed, ours, mirror, lambda: state)
    return GroupsReport(
        flow=flow.name,
        as_of_ms=_as_of_ms(state),
        positions=completed.positions,
        outcomes={
            name: GroupOutcome(outcome=Outcome.NOT_ASKED if target_offsets(found) else Outcome.NOTHING)
            for name, found in completed.positions.items()
        },
        left_out={},
        warnings=completed.warnings,
    )


def committed_by_checkpoints(
    flow: MirrorFlow, target: TargetCluster, tick: Tick
) -> tuple[int, dict[str, GroupOffsets]] | None:
    """When the newest checkpoint was made, in milliseconds, and what each group had committed on the source by then.

    :raises MirrorError: the target cannot be read.
    """
    state = _read_checkpoints(flow, target, tick)
    return None if state is None else (_as_of_ms(state), _committed(flow, state, ()))


def _read_checkpoints(flow: MirrorFlow, target: TargetCluster, tick: Tick) -> Mm2State | None:
    """What MirrorMaker 2 left on the target; None where no checkpoint is among it."""
    state = read_mm2_state_on_target(flow, target, topics_on_target(flow, target), tick)
    return state if state is not None and state.checkpoints else None


def _as_of_ms(state: Mm2State) -> int:
    """When the newest checkpoint was made, or now where it has no time."""
    newest_ms = state.newest_checkpoint_ms
    return int(time.time() * 1000) if newest_ms is None else newest_ms


def _committed(flow: MirrorFlow, state: Mm2State, only: Collection[str]) -> dict[str, GroupOffsets]:
    """What each group had committed on the source when it was last checkpointed."""
    upstream = {name: topic for topic, (name, _) in state.topics.items()}
    listed = [GroupListing(name=name, kind=GroupKind.CLASSIC) for name in {group for group, _ in state.checkpoints}]
    names = {each.name for each in listed} & set(only) if only else select_groups(flow, listed)[0]
    found = {name: (dict[TopicPartition, int](), dict[TopicPartition, str]()) for name in sorted(names)}
    for (group, place), checkpoint in state.checkpoints.items():
        if group in found:
            part = TopicPartition(upstream[place.topic], place.partition)
            found[group][0][part] = checkpoint.source_offset
            found[group][1][part] = checkpoint.metadata or ""
    return {name: GroupOffsets(offsets=offsets, metadata=metadata) for name, (offsets, metadata) in found.items()}
