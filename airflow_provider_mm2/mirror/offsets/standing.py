"""How groups on the target stand to where they should be: read only, before anything is written or in place of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from airflow_provider_mm2.mirror.clusters.ports import TargetCluster, Tick
from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.offsets.by_mm2 import completed_by_mm2
from airflow_provider_mm2.mirror.offsets.checkpointed import checkpointed_report
from airflow_provider_mm2.mirror.offsets.commit import GroupOutcome, Outcome, decide
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.mm2_reading import read_mm2_state_on_target
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition, locate, target_commits, target_offsets
from airflow_provider_mm2.mirror.offsets.reading import Ledgers, mirror_of
from airflow_provider_mm2.mirror.offsets.taken_over import is_sure
from airflow_provider_mm2.mirror.offsets.translate import Policy
from airflow_provider_mm2.mirror.state.engines import engine_of
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state.snapshot import GroupSnapshot, read_snapshot
from airflow_provider_mm2.mirror.state_model import Engine, FlowRecord

TOLD = 10
"""Names in one warning."""


def compare_with_target(target: TargetCluster, report: GroupsReport, tick: Tick) -> GroupsReport:
    """The report, with what each group has on the target and where it is ahead of its translated position.

    A group that is ahead would, at a failover, skip what lies between: it was set back on the source, or read on on the
    target. One that cannot be asked says so; it fails nothing, since nothing was to be written.
    """
    names = [name for name, found in report.outcomes.items() if found.outcome is Outcome.NOT_ASKED]
    present = target.group_offsets(names, tick, stable=False)
    outcomes, positions = dict(report.outcomes), dict(report.positions)
    for name in names:
        found = present[name]
        if isinstance(found, MirrorError):
            detail = f"not known on the target: {found.first_line}"
            outcomes[name] = GroupOutcome(outcome=Outcome.NOT_ASKED, detail=detail)
            continue
        ahead = decide(target_commits(report.positions[name]), found, may_rewind=False).ahead
        outcomes[name] = surely_ahead(GroupOutcome(outcome=Outcome.NOT_ASKED, ahead=ahead), report.positions[name])
        positions[name] = tuple(
            each if each.target is None else replace(each, on_target=found.offsets.get(each.target))
            for each in report.positions[name]
        )
    return replace(report, outcomes=outcomes, positions=positions)


def surely_ahead(outcome: GroupOutcome, positions: Collection[GroupPosition]) -> GroupOutcome:
    """The outcome without partitions whose place is not exactly known: a group may well stand further on there."""
    sure = {each.target for each in positions if is_sure(each)}
    return replace(outcome, ahead={part: count for part, count in outcome.ahead.items() if part in sure})


def stored_report(
    flow: MirrorFlow, target: TargetCluster, record: FlowRecord, ledgers: Ledgers, tick: Tick
) -> GroupsReport | None:
    """Where groups stand by what the last run read of them, from the target alone; None when no run has.

    Behind the map's start they stand where MirrorMaker 2's state puts them, as far as it lies on the target.

    :param ledgers: the flow's ledger, as read for whatever else is told.
    """
    snapshot = read_snapshot(target, flow.name, tick)
    if snapshot.taken_ms is None:
        return None
    mirror = mirror_of(target, record, ledgers)
    committed = {name: group.found for name, group in snapshot.groups.items()}
    ours = {name: tuple(locate(name, found, mirror, Policy.of(flow))) for name, found in committed.items()}
    completed = completed_by_mm2(
        flow, committed, ours, mirror, lambda: read_mm2_state_on_target(flow, target, mirror.topics, tick)
    )
    positions = dict(completed.positions)
    outcomes = {
        name: GroupOutcome(outcome=Outcome.NOT_ASKED if target_offsets(found) else Outcome.NOTHING)
        for name, found in positions.items()
    }
    report = GroupsReport(
        flow=flow.name,
        as_of_ms=snapshot.taken_ms,
        positions=positions,
        outcomes=outcomes,
        left_out={},
        warnings=(*_older(snapshot), *completed.warnings),
    )
    return compare_with_target(target, report, tick)


def _older(snapshot: GroupSnapshot) -> tuple[str, ...]:
    """What is to be said of groups whose positions are of an earlier run than the last."""
    if not snapshot.unread or snapshot.taken_ms is None:
        return ()
    names = sorted(snapshot.unread)
    more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
    return (
        f"{len(names)} group(s) could not be read by the last run, at {show(snapshot.taken_ms)}, so what is known of "
        f"them is older, or nothing: {', '.join(names[:TOLD])}{more}",
    )


def as_last_read(
    flow: MirrorFlow, target: TargetCluster, error: MirrorError, *, only: Collection[str], tick: Tick
) -> GroupsReport:
    """What the last run that read the groups, or else MirrorMaker 2, left on the target: all there is without a source.

    :raises MirrorError: ``error``, where nobody has left anything.
    """
    record = find_gate(target, flow.name, tick)
    is_on_connect = engine_of(flow, record) is Engine.CONNECT
    checkpointed = checkpointed_report(flow, target, only=only, tick=tick) if is_on_connect else None
    if checkpointed is not None:
        told = (
            f"the source does not answer, so this is what MirrorMaker 2's checkpoints on {target.alias} say of its "
            f"groups, the newest of {show(checkpointed.as_of_ms)}: {error.first_line}"
        )
        return replace(checkpointed, warnings=(told, *checkpointed.warnings))
    if record is None:
        raise error
    report = stored_report(flow, target, record, read_shards(target, record.flow, record.shards, tick), tick)
    if report is None:
        raise error
    names = [name for name in report.positions if not only or name in only]
    return replace(
        report,
        positions={name: report.positions[name] for name in names},
        outcomes={name: report.outcomes[name] for name in names},
        warnings=(
            *report.warnings,
            f"the source does not answer, so this is what the last run read of its groups: {error.first_line}",
        ),
    )
