"""Where the groups of a flow stand, read from both clusters: by the offset map, or by what MirrorMaker 2 left."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import ConnectLeftNothing, FlowNotPrepared, MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupOffsets, GroupRecord
from airflow_provider_mm2.mirror.offsets.by_mm2 import completed_by_mm2
from airflow_provider_mm2.mirror.offsets.commit import GroupOutcome, Outcome
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.mm2_positions import Mm2State, locate_by_mm2
from airflow_provider_mm2.mirror.offsets.mm2_reading import read_mm2_state
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition, Mirror, locate, select_groups, target_offsets
from airflow_provider_mm2.mirror.offsets.reading import find_mirror
from airflow_provider_mm2.mirror.offsets.refine_reading import Refiner
from airflow_provider_mm2.mirror.offsets.translate import Policy
from airflow_provider_mm2.mirror.state_model import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the source says of the groups; ``answers`` has the offsets of each, or why they cannot be had."""

    as_of_ms: int
    answers: Mapping[str, GroupOffsets | MirrorError]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What steps 11 and 12 gave."""

    as_of_ms: int
    records: Mapping[str, GroupRecord]
    positions: Mapping[str, tuple[GroupPosition, ...]]
    outcomes: Mapping[str, GroupOutcome]
    left_out: Mapping[str, str]
    warnings: tuple[str, ...] = ()


def ask_groups(flow: MirrorFlow, pair: ClusterPair, *, only: Collection[str], tick: Tick) -> Asked:
    """Ask the source for the flow's groups; with ``only`` for these, whatever the flow's patterns say."""
    selected, left_out = select_groups(flow, pair.source.list_groups(every_kind=True))
    as_of_ms = int(time.time() * 1000)
    answers = pair.source.group_offsets(sorted(only) if only else selected, tick)
    others = {} if only else left_out
    return Asked(as_of_ms=as_of_ms, answers=answers, left_out=others)


def find_positions(asked: Asked, where: Callable[[str, GroupOffsets], Collection[GroupPosition]]) -> Found:
    """Where each group stands that answered; the others have failed."""
    positions: dict[str, tuple[GroupPosition, ...]] = {}
    records: dict[str, GroupRecord] = {}
    outcomes: dict[str, GroupOutcome] = {}
    for name, answer in sorted(asked.answers.items()):
        if isinstance(answer, MirrorError):
            positions[name] = ()
            outcomes[name] = GroupOutcome(outcome=Outcome.FAILED, detail=answer.first_line)
            continue
        records[name] = GroupRecord(name=name, taken_ms=asked.as_of_ms, found=answer)
        positions[name] = tuple(where(name, answer))
        nothing = not target_offsets(positions[name])
        detail = "" if answer.offsets or answer.pending else "the source has no such group, or it has committed nothing"
        outcomes[name] = GroupOutcome(outcome=Outcome.NOTHING if nothing else Outcome.NOT_ASKED, detail=detail)
    return Found(
        as_of_ms=asked.as_of_ms, records=records, positions=positions, outcomes=outcomes, left_out=asked.left_out
    )


def report_of(flow: MirrorFlow, found: Found) -> GroupsReport:
    """What is told of the groups, before anything is written."""
    return GroupsReport(
        flow=flow.name,
        as_of_ms=found.as_of_ms,
        positions=found.positions,
        outcomes=found.outcomes,
        left_out=found.left_out,
        warnings=found.warnings,
    )


def locate_mirrored(
    flow: MirrorFlow, pair: ClusterPair, asked: Asked, mirror: Mirror, tick: Tick, *, refine: bool = False
) -> Found:
    """Where groups stand by the map; what it has no answer of by what MirrorMaker 2 left.

    :raises MirrorError: MirrorMaker 2's state cannot be read.
    """
    policy = Policy.of(flow)
    ours = find_positions(asked, partial(locate, mirror=mirror, policy=policy))
    completed = completed_by_mm2(
        flow,
        {name: record.found for name, record in ours.records.items()},
        ours.positions,
        mirror,
        lambda: read_mm2_state(flow, pair, tick),
        refiner=(lambda state: Refiner(pair, state, policy, tick)) if refine else None,
    )
    outcomes = {
        name: replace(outcome, outcome=Outcome.NOT_ASKED)
        if outcome.outcome is Outcome.NOTHING and target_offsets(completed.positions[name])
        else outcome
        for name, outcome in ours.outcomes.items()
    }
    return replace(ours, positions=completed.positions, outcomes=outcomes, warnings=completed.warnings)


def locate_now(flow: MirrorFlow, pair: ClusterPair, *, only: Collection[str], refine: bool, tick: Tick) -> GroupsReport:
    """Where groups stand as they are on the source now; what the map has no answer of by what MirrorMaker 2 left.

    :raises FlowNotPrepared: the flow never ran, and MirrorMaker 2 left nothing of its topics.
    :raises ConnectLeftNothing: the same, of a flow that connectors are to mirror.
    """
    policy = Policy.of(flow)
    mirror = find_mirror(flow, pair.target, tick, source=pair.source)
    if mirror is None or not mirror.topics:
        state = read_mm2_state(flow, pair, tick)
        if state is not None:
            asked = ask_groups(flow, pair, only=only, tick=tick)
            return _by_mm2(flow, asked, state, Refiner(pair, state, policy, tick) if refine else None)
        if (Engine(flow.engine) if mirror is None else mirror.engine) is Engine.CONNECT:
            raise ConnectLeftNothing(flow=flow.name)
        if mirror is None:
            raise FlowNotPrepared(flow=flow.name)
    asked = ask_groups(flow, pair, only=only, tick=tick)
    return report_of(flow, locate_mirrored(flow, pair, asked, mirror, tick, refine=refine))


def _by_mm2(flow: MirrorFlow, asked: Asked, state: Mm2State, refiner: Refiner | None) -> GroupsReport:
    found = find_positions(asked, partial(locate_by_mm2, state=state, policy=Policy.of(flow)))
    report = replace(report_of(flow, found), warnings=state.warnings)
    if refiner is None:
        return report
    return replace(report, positions={name: tuple(refiner.refine(each)) for name, each in report.positions.items()})
