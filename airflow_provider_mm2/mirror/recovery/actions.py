"""Each step of a failover done, and undone where it changes something that stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.recovery.canary import write_canaries
from airflow_provider_mm2.mirror.recovery.confirm import confirm
from airflow_provider_mm2.mirror.recovery.freeze import freeze
from airflow_provider_mm2.mirror.recovery.moves import loss_window
from airflow_provider_mm2.mirror.recovery.offset_moves import apply_offsets, moved_groups, read_back, undo_offsets
from airflow_provider_mm2.mirror.recovery.planning import find_record, look, look_beforehand
from airflow_provider_mm2.mirror.recovery.quiet import drain_source, see_nobody_reads, see_quiet
from airflow_provider_mm2.mirror.recovery.record import StepNote
from airflow_provider_mm2.mirror.recovery.repointing import (
    apply_repoints,
    move_of,
    problems_of,
    start_groups,
    stop_groups,
    undo_repoints,
    with_repoints,
)
from airflow_provider_mm2.mirror.recovery.steps import (
    APPROVAL,
    CANARY,
    CLOSE,
    CONFIRM,
    DRAIN,
    FREEZE,
    OFFSETS,
    PREFLIGHT,
    QUIET,
    REPOINT,
    TRANSLATE,
    Mode,
    Stage,
    StepState,
)
from airflow_provider_mm2.mirror.recovery.way_home import WayHome
from airflow_provider_mm2.mirror.recovery.work import Detail, Work, now_ms
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state.moved import moved_record, read_moved
from airflow_provider_mm2.mirror.state.opened import owed_hand_over
from airflow_provider_mm2.mirror.state_model import ActiveSide, StateRecord


def _preflight(work: Work) -> Detail:
    find_record(work.flow, work.target, work.tick)
    live = work.both if work.order.mode is Mode.PLANNED else None
    plan = look_beforehand(work.flow, work.target, work.order, work.record, work.tick, live=live)
    return {"groups": len(plan.groups), "topics": len(plan.topics), "loss_window": loss_window(plan)}


def _quiet(work: Work) -> Detail:
    detail = see_quiet(work)
    plan = look(work.flow, work.target, work.order, work.record, work.tick, live=work.both)
    stopped = stop_groups(work, move_of(work.flow, work.bootstrap, plan))
    return {**detail, **stopped, **see_nobody_reads(work, tuple(plan.groups))}


def _translate(work: Work) -> Detail:
    work.groups_writer()
    plan = look(work.flow, work.target, work.order, work.record, work.tick, live=None)
    if not work.order.skip_repoint:
        plan = with_repoints(plan, work.flow, work.order, work.bootstrap, work.repointers, work.tick)
    for name, repoint in plan.repoints.items():
        work.journal.keep_repoint(name, repoint)
    work.journal.keep_groups(plan.groups.values())
    work.journal.change(digest=plan.digest, as_of_ms=plan.as_of_ms)
    exact = sum(part.exact for move in plan.groups.values() for part in move.parts)
    positions = sum(len(move.parts) for move in plan.groups.values())
    return {
        "groups": len(plan.groups),
        "positions": positions,
        "exact": exact,
        "as_of": show(plan.as_of_ms),
        "loss_window": loss_window(plan),
        "digest": plan.digest,
        "repoint_problems": list(problems_of(plan.repoints)),
    }


def _approved(work: Work) -> Detail:
    return {"digest": work.journal.failover.digest, "by": work.journal.failover.approved_by}


def _repoint(work: Work) -> Detail:
    read_back(work)
    return {**apply_repoints(work), **start_groups(work)}


def _close(work: Work) -> Detail:
    """Step 11: one write says which side is active, which groups have moved, and that all is over.

    A way home hands over to the forward flow before that; who comes next does it again, which changes nothing.
    """
    handed, owed = _hand_over(work)
    side = ActiveSide.TARGET if work.order.ends_on_target else work.record.active_side
    gate_record = replace(work.record, frozen=False, active_side=side)
    groups = moved_groups(work.journal.recorded.groups)
    detail: Detail = {"active_side": side.value, "moved": len(groups), **handed}
    note = replace(work.journal.recorded.steps[CLOSE], state=StepState.DONE, ended_ms=now_ms(), detail=detail)
    closed = replace(work.journal.failover, stage=Stage.CLOSED, ended_ms=now_ms())
    moved = [moved_record(work.flow.name, name, work.order.topics) for name in groups]
    work.journal.note(note, gate_record=gate_record, failover=closed, extra=[*moved, *owed])
    return detail


def _hand_over(work: Work) -> tuple[Detail, list[StateRecord]]:
    """What a way home does for the forward flow, and what is written with the closing because of it."""
    if not isinstance(work.flow, ReverseFlow) or not work.order.ends_on_target:
        return {}, []
    name, away = work.flow.forward.name, work.flow.source.alias
    if work.order.mode is Mode.UNPLANNED:
        told = f"not yet: once {away!r} is back, `mm2 failback {name} --prepare` hands over to the flow {name}"
        return {"forward": told}, owed_hand_over(work.target, work.flow.name, work.tick)
    way = WayHome(flow=work.flow, pair=work.both, owner=work.owner, tick=work.tick)
    return way.hand_over({}), []


DO: Mapping[int, Callable[[Work], Detail]] = {
    PREFLIGHT: _preflight,
    QUIET: _quiet,
    DRAIN: drain_source,
    FREEZE: freeze,
    TRANSLATE: _translate,
    APPROVAL: _approved,
    OFFSETS: apply_offsets,
    CANARY: write_canaries,
    REPOINT: _repoint,
    CONFIRM: confirm,
    CLOSE: _close,
}
"""Each step; the journal has its note, begun, by then."""

UNDO: Mapping[int, Callable[[Work], Detail]] = {
    REPOINT: undo_repoints,
    OFFSETS: undo_offsets,
    QUIET: start_groups,
}


def written_since(work: Work) -> Iterator[str]:
    """What has been written to the mirrored topics on the target since the mirror ended, as people read it."""
    ledgers = read_shards(work.target, work.flow.name, work.record.shards, work.tick)
    ends = {ledger.latest.target: ledger.latest.target_end for ledger in ledgers.values()}
    for part, log_offsets in work.target.log_offsets(list(ends)).items():
        if log_offsets.end > ends[part]:
            count = work.target.count_visible(part, ends[part], log_offsets.end, work.tick)
            yield f"{part} has {count:,} record(s) that the mirror did not write" if count else f"{part} was written to"


def take_back(work: Work) -> None:
    """Make the source the active side again, in one write with the groups that have not moved any more."""
    undone = StepNote(number=CLOSE, state=StepState.UNDONE, by=work.owner, started_ms=now_ms(), ended_ms=now_ms())
    gate_record = replace(work.record, frozen=False, active_side=ActiveSide.SOURCE)
    moved = [moved_record(work.flow.name, name, None) for name in read_moved(work.target, work.flow.name, work.tick)]
    done = replace(work.journal.failover, stage=Stage.REOPENED, ended_ms=now_ms())
    work.journal.note(undone, gate_record=gate_record, failover=done, extra=moved)
