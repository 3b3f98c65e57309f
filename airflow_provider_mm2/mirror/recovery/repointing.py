"""Steps 2 and 9: the applications are stopped where the flow knows how, and pointed at the target; and the way back.

Every repointer's plan is on record before its first change and after each, so that whoever comes next goes on, or
undoes it. What only Airflow can change is told as to do there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from airflow_provider_mm2.mirror.clusters.config import resolve_settings
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import SettingsError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.recovery.moves import Plan
from airflow_provider_mm2.mirror.recovery.planning import look
from airflow_provider_mm2.mirror.recovery.record import Order
from airflow_provider_mm2.mirror.recovery.repoint.ports import ItemState, Move, Note, Repointer, RepointPlan, Stops
from airflow_provider_mm2.mirror.recovery.report import FailoverReport
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.recovery.work import Detail, Work
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow
from airflow_provider_mm2.mirror.state_model import FlowRecord

FORECAST = "positions as they stand now: step 3 mirrors to the end first, and those that count are found in step 5"

STOPPED = "stop of "
"""Under which the record of a stop stands, before the repointer's name."""


def addresses(flow: MirrorFlow, given: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Addresses of both clusters by alias, as far as they are known here: those of a source that is gone may not be.

    :param given: settings by alias, of clusters that the flow names by a connection.
    """
    found: dict[str, str] = {}
    for cluster in (flow.source, flow.target):
        if cluster.connection is not None and cluster.alias not in given:
            continue
        with suppress(SettingsError):
            found[cluster.alias] = str(resolve_settings(cluster, given.get(cluster.alias))["bootstrap.servers"])
    return found


def move_of(flow: MirrorFlow, bootstrap: Mapping[str, str], plan: Plan) -> Move:
    """What repointers are told: where groups go on, and what things are called on either side.

    Topics go by what the flow calls them, on the way home by what the forward flow does: it has the placeholders.
    """
    sides = flow.source.alias, flow.target.alias
    names = [(end.topic, end.target_topic) for end in plan.topics]
    is_home = isinstance(flow, ReverseFlow)
    topics = {(there if is_home else here): dict(zip(sides, (here, there), strict=True)) for here, there in names}
    return Move(
        flow=flow.name,
        from_alias=flow.source.alias,
        to_alias=flow.target.alias,
        bootstrap=bootstrap,
        topics=topics,
        groups=tuple(plan.groups),
        offsets={name: move.expected for name, move in plan.groups.items()},
    )


def plan_repoints(repointers: tuple[Repointer, ...], move: Move, tick: Tick) -> dict[str, dict[str, Any]]:
    """What each repointer would change; only reads."""
    return {each.name: each.plan(move, tick).to_json() for each in repointers}


def with_repoints(
    plan: Plan,
    flow: MirrorFlow,
    order: Order,
    bootstrap: Mapping[str, str],
    repointers: tuple[Repointer, ...],
    tick: Tick,
) -> Plan:
    """A plan, with what each repointer would change; what is not meant for some groups alone is left, and told."""
    meant = meant_for(flow, order, repointers)
    left = (
        f"repoint {each.name} is left alone: only some groups move, and it names none (give it 'groups' in the flow)"
        for each in repointers
        if each not in meant
    )
    repoints = plan_repoints(meant, move_of(flow, bootstrap, plan), tick)
    return replace(plan, repoints=repoints, warnings=(*plan.warnings, *left))


def meant_for(flow: MirrorFlow, order: Order, repointers: tuple[Repointer, ...]) -> tuple[Repointer, ...]:
    """The repointers of an order: where only some groups move, those that name groups.

    Without it the producers would be pointed at the target with the first group.
    """
    if not order.groups:
        return repointers
    named = {item.label for item in flow.repoint if item.groups}
    return tuple(each for each in repointers if each.name in named)


def preview_of(order: Order, record: FlowRecord, plan: Plan) -> FailoverReport:
    """What is told of a failover that has not begun."""
    told = (*plan.warnings, *problems_of(plan.repoints))
    return FailoverReport(
        record=record,
        order=order,
        groups=plan.groups,
        plan=plan,
        repoints=tuple(plan.repoints.values()),
        warnings=(FORECAST, *told) if order.mode is Mode.PLANNED else told,
    )


def problems_of(repoints: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What stands in the way of a repoint, or is left for a person, as people read it."""
    for name, plan in repoints.items():
        if name.startswith(STOPPED):
            continue
        for item in plan["items"]:
            if item["state"] in (ItemState.PROBLEM.value, ItemState.IN_AIRFLOW.value):
                detail = f": {item['detail']}" if item["detail"] else ""
                yield f"repoint {name}, {item['where']}: {item['state']}{detail}"


def stop_groups(work: Work, move: Move) -> Detail:
    """Stop the consumers of every repointer that can."""
    return {"stopped": [_each(work, STOPPED + each.name, _stop(each, move)) for each in _stopping(work)]}


def _stop(each: Stops, move: Move) -> Callable[[RepointPlan | None, Note, Tick], RepointPlan]:
    return lambda known, note, tick: each.stop(known or move, note, tick)


def start_groups(work: Work) -> Detail:
    """Have the consumers that were stopped run as they did."""
    started = []
    for each in _stopping(work):
        known = work.journal.recorded.repoints.get(STOPPED + each.name)
        if known is not None:
            started.append(_each(work, STOPPED + each.name, _start(each)))
    return {"started": started}


def _start(each: Stops) -> Callable[[RepointPlan | None, Note, Tick], RepointPlan]:
    def start(known: RepointPlan | None, note: Note, tick: Tick) -> RepointPlan:
        if known is None:
            raise RuntimeError(f"{each.name} was not stopped")
        return each.start(known, note, tick)

    return start


def apply_repoints(work: Work) -> Detail:
    """Point the applications at the target, each as it was planned; one that had a problem is planned once more."""
    done = []
    for each in _asked(work):
        work.report(f"repointing {each.name}")
        recorded = work.journal.recorded.repoints.get(each.name)
        if recorded is None or any(item["state"] == ItemState.PROBLEM.value for item in recorded["items"]):
            plan = look(work.flow, work.target, work.order, work.record, work.tick, live=None)
            again = each.plan(move_of(work.flow, work.bootstrap, plan), work.tick)
            work.journal.keep_repoint(each.name, again.to_json())
        done.append(_each(work, each.name, _recorded(each.apply)))
    return {"repointed": done, "to_do": list(problems_of(work.journal.recorded.repoints))}


def undo_repoints(work: Work) -> Detail:
    """Put back what was changed, in the opposite order; what somebody changed since is left and told."""
    known = work.journal.recorded.repoints
    asked = [each for each in reversed(_asked(work)) if each.name in known]
    return {"put_back": [_each(work, each.name, _recorded(each.undo)) for each in asked]}


def _recorded(
    act: Callable[[RepointPlan, Note, Tick], RepointPlan],
) -> Callable[[RepointPlan | None, Note, Tick], RepointPlan]:
    def with_plan(known: RepointPlan | None, note: Note, tick: Tick) -> RepointPlan:
        if known is None:
            raise RuntimeError("no plan of this repoint is on record")
        return act(known, note, tick)

    return with_plan


def _each(work: Work, name: str, act: Callable[[RepointPlan | None, Note, Tick], RepointPlan]) -> Detail:
    """Let one repointer act, with its plan on record throughout; gives how its items stand then."""
    recorded = work.journal.recorded.repoints.get(name)
    known = None if recorded is None else RepointPlan.from_json(recorded)
    plan = act(known, lambda told: work.journal.keep_repoint(name, told.to_json()), work.tick)
    work.journal.keep_repoint(name, plan.to_json())
    states: dict[str, int] = {}
    for item in plan.items:
        states[item.detail or item.state.value] = states.get(item.detail or item.state.value, 0) + 1
    return {"name": name.removeprefix(STOPPED), "items": states}


def _asked(work: Work) -> tuple[Repointer, ...]:
    return () if work.order.skip_repoint else meant_for(work.flow, work.order, work.repointers)


def _stopping(work: Work) -> list[Stops]:
    return [each for each in _asked(work) if isinstance(each, Stops)]
