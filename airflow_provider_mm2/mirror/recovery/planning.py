"""Steps 1 and 5: what is needed is there; and where every group goes on, from the target alone."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, TargetCluster, Tick
from airflow_provider_mm2.mirror.clusters.selection import check_known
from airflow_provider_mm2.mirror.errors import (
    ClusterUnreachable,
    FailoverRefused,
    FailoverUnderWay,
    FlowNotPrepared,
    MirrorError,
    NothingMirrored,
    SourceGone,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.survey import check_facts
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.offsets.checkpointed import checkpointed_report
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.groups import show_groups
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition
from airflow_provider_mm2.mirror.offsets.reading import Ledgers
from airflow_provider_mm2.mirror.offsets.standing import compare_with_target, stored_report
from airflow_provider_mm2.mirror.recovery.journal import Recorded
from airflow_provider_mm2.mirror.recovery.moves import Plan, chosen, left_alone, move_of, topic_ends
from airflow_provider_mm2.mirror.recovery.record import GroupMove, Order
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state.moved import has_moved, read_moved
from airflow_provider_mm2.mirror.state_model import ActiveSide, Engine, FlowRecord


def find_record(flow: MirrorFlow, target: TargetCluster, tick: Tick) -> FlowRecord:
    """The flow record, which must be of this flow on this target.

    :raises FlowNotPrepared: it never ran, or its state is gone, or it had another name.
    :raises FlowChanged: a recorded fact differs.
    """
    record = find_gate(target, flow.name, tick)
    if record is None:
        raise FlowNotPrepared(flow=flow.name)
    wanted = FlowRecord(
        flow=flow.name,
        source_alias=flow.source.alias,
        target_alias=flow.target.alias,
        policy=flow.replication_policy,
        separator=flow.separator,
        source_cluster_id=record.source_cluster_id,
        target_cluster_id=target.cluster_id(),
        shards=record.shards,
    )
    check_facts(record, wanted)
    return record


def check_source(flow: MirrorFlow, pair: ClusterPair, record: FlowRecord) -> None:
    """The source of a planned failover answers, and is the one that was mirrored.

    :raises SourceGone: it does not answer; then only an unplanned failover is possible.
    :raises FlowChanged: it is another cluster.
    """
    try:
        found = pair.source.cluster_id()
    except ClusterUnreachable as error:
        raise SourceGone(flow=flow.name, problem=error.first_line) from error
    if found != record.source_cluster_id:
        raise FailoverRefused(
            flow=flow.name,
            problems=(f"the source is cluster {found}, and the flow mirrored {record.source_cluster_id}",),
        )


def check_side(order: Order, record: FlowRecord) -> None:
    """The side that is active allows it: more groups may follow to a target that is active already.

    :raises FailoverRefused: it does not.
    """
    if record.active_side is ActiveSide.SOURCE or (order.mode is Mode.UNPLANNED and not order.is_whole):
        return
    raise FailoverRefused(flow=record.flow, problems=("the target is the active side already",))


def check_none_open(recorded: Recorded) -> None:
    """Nobody has a failover of the flow open.

    :raises FailoverUnderWay: somebody has; says who.
    """
    failover = recorded.failover
    if failover is not None and failover.stage.is_open:
        raise FailoverUnderWay(
            flow=failover.flow,
            stage=failover.stage.value,
            owner=failover.begun_by,
            begun=show(failover.begun_ms),
            next_call="--resume goes on with it, --rollback undoes it, --status shows it",
        )


def look_beforehand(
    flow: MirrorFlow, target: TargetCluster, order: Order, record: FlowRecord, tick: Tick, *, live: ClusterPair | None
) -> Plan:
    """Step 1: whether a failover may begin, and where every group would go on as things stand.

    :param live: both clusters, where the source is to be there.
    :raises MirrorError: it may not; see ``check_side``, ``check_source`` and ``look``.
    """
    check_side(order, record)
    if live is not None:
        check_source(flow, live, record)
    return look(flow, target, order, record, tick, live=live)


def look(
    flow: MirrorFlow, target: TargetCluster, order: Order, record: FlowRecord, tick: Tick, *, live: ClusterPair | None
) -> Plan:
    """Where every group goes on.

    :param live: both clusters, where the groups are to be read from the source as they are now: before the source is
        quiet that is only a forecast. None: as the last run read them, from the target alone.
    :raises NothingMirrored: no run has read the groups, or nothing is mirrored.
    :raises GroupsUnknown: the order names groups or topics that the flow does not have.
    :raises MirrorError: the target cannot be read.
    """
    ledgers = read_shards(target, flow.name, record.shards, tick)
    report = _report(flow, target, record, ledgers, tick, live=live)
    if report is None or (not ledgers and record.engine is Engine.BOUNDED):
        raise NothingMirrored(flow=flow.name)
    moved = read_moved(target, flow.name, tick)
    positions = {
        name: found
        for name, found in chosen(report, order).items()
        if name in order.groups or not has_moved(moved, name)
    }
    positions_on = {each.source.topic for found in report.positions.values() for each in found}
    check_known(flow.name, "group", order.groups, report.positions)
    check_known(flow.name, "topic", order.topics, {*positions_on, *(part.topic for part in ledgers)})
    maps = {part: OffsetMap.of(ledger) for part, ledger in ledgers.items()}
    groups = _moves_of(target, positions, maps, tick)
    return Plan(
        as_of_ms=report.as_of_ms,
        groups=groups,
        topics=tuple(end for end in topic_ends(ledgers) if not order.topics or end.topic in order.topics),
        warnings=(*report.warnings, *left_alone(groups.values())),
    )


def _report(
    flow: MirrorFlow,
    target: TargetCluster,
    record: FlowRecord,
    ledgers: Ledgers,
    tick: Tick,
    *,
    live: ClusterPair | None,
) -> GroupsReport | None:
    """Where the groups stand; without the source as the last run read them, or as connectors have checkpointed them."""
    if live is not None:
        return show_groups(flow, live, tick=tick)
    if record.engine is Engine.BOUNDED:
        return stored_report(flow, target, record, ledgers, tick)
    found = checkpointed_report(flow, target, tick=tick)
    return None if found is None else compare_with_target(target, found, tick)


def _moves_of(
    target: TargetCluster,
    positions: Mapping[str, tuple[GroupPosition, ...]],
    maps: Mapping[TopicPartition, OffsetMap],
    tick: Tick,
) -> dict[str, GroupMove]:
    """Each group's move, with what it has on the target and who is in it there."""
    names = list(positions)
    present, states = target.group_offsets(names, tick, stable=False), target.describe_groups(names, tick)
    found: dict[str, GroupMove] = {}
    for name in names:
        answer, state = present[name], states[name]
        if isinstance(answer, MirrorError) or isinstance(state, MirrorError):
            error = answer if isinstance(answer, MirrorError) else state
            found[name] = GroupMove(group=name, parts=(), problem=getattr(error, "first_line", ""))
        else:
            found[name] = move_of(name, positions[name], maps, answer, state)
    return found
