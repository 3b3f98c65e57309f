"""The task that tells where consumer groups would go on, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.hooks.cluster import connect_pair, pair_settings
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.operators.arguments import names, switch
from airflow_provider_mm2.operators.flow_task import FlowTask

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
    from airflow_provider_mm2.mirror.recovery.moves import Plan

NAMED = 10
"""Positions that an error names."""


class TranslateOffsetsOperator(FlowTask):
    """Where each group would go on on the target, as a failover would plan it; read only.

    Of a flow with ``engine: connect`` MirrorMaker 2's state tells it, as in ``mm2 groups``, and few places are exact.

    Returns a bounded summary: counts, and positions as far as they fit. It is in XCom under ``translated`` also when
    the task fails.

    :param groups: only these groups: a sequence, or a JSON list as text; empty: all of the flow. (templated)
    :param topics: only positions on these source topics, in the same form. (templated)
    :param live: ask the source where the groups stand now; false: as the last run read them, or as MirrorMaker 2's
        checkpoints have them, from the target alone. (templated)
    :param exact: fail for good when a position has no exact place on the target, or a group cannot be read; false:
        only report it. (templated)
    """

    template_fields: Sequence[str] = (*FlowTask.template_fields, "groups", "topics", "live", "exact")
    ui_color = "#e8dff2"

    def __init__(
        self,
        *,
        groups: Sequence[str] | str = (),
        topics: Sequence[str] | str = (),
        live: bool | str = True,
        exact: bool | str = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.groups = groups
        self.topics = topics
        self.live = live
        self.exact = exact

    def perform(self, flow: MirrorFlow, context: Context) -> dict[str, Any]:
        """Look.

        :raises PlacesInexact: some have no exact place, and that was asked for.
        :raises NotOfTheFlow: a group or topic was named that the flow does not have.
        :raises MirrorError: nothing was mirrored yet, or a cluster cannot be read.
        """
        from airflow_provider_mm2.mirror.errors import PlacesInexact

        must_be_exact = switch("exact", self.exact)
        found = self._by_mm2(flow) if flow.engine == "connect" else self._planned(flow)
        rows, problems = found["rows"], found["problems"]
        inexact = [
            f"{row['group']} on {row['topic']}-{row['partition']} ({row['reason']})" for row in rows if not row["exact"]
        ]
        summary = _summary(flow, **found)
        context["ti"].xcom_push(key="translated", value=summary)
        self.log.info("%(groups)s groups, %(exact)s of %(positions)s positions are exact as of %(as_of)s", summary)
        if must_be_exact and (inexact or problems):
            left = (*problems, *inexact)
            raise PlacesInexact(flow=flow.name, count=len(left), groups=left[:NAMED])
        return summary

    def _planned(self, flow: MirrorFlow) -> dict[str, Any]:
        from airflow_provider_mm2.mirror.recovery.moves import loss_window
        from airflow_provider_mm2.mirror.recovery.report import part_row

        plan = self._plan(flow)
        return {
            "as_of_ms": plan.as_of_ms,
            "loss_window": loss_window(plan),
            "groups": len(plan.groups),
            "rows": [part_row(move, part) for move in plan.groups.values() for part in move.parts],
            "problems": [f"group {name}: {move.problem}" for name, move in plan.groups.items() if move.problem],
            "warnings": plan.warnings,
        }

    def _by_mm2(self, flow: MirrorFlow) -> dict[str, Any]:
        from airflow_provider_mm2.mirror.clusters.selection import check_known
        from airflow_provider_mm2.mirror.offsets.commit import Outcome
        from airflow_provider_mm2.mirror.offsets.group_report import position_json

        groups, topics = names("groups", self.groups), names("topics", self.topics)
        report = self._report(flow, groups)
        every = [each for found in report.positions.values() for each in found]
        failed = {name for name, found in report.outcomes.items() if found.outcome is Outcome.FAILED}
        check_known(flow.name, "group", groups, {each.group for each in every} | failed)
        check_known(flow.name, "topic", topics, {each.source.topic for each in every})
        return {
            "as_of_ms": report.as_of_ms,
            "loss_window": "what the connectors have not copied yet",
            "groups": len(report.outcomes),
            "rows": [position_json(each) for each in every if not topics or each.source.topic in topics],
            "problems": [f"group {name}: {report.outcomes[name].detail}" for name in sorted(failed)],
            "warnings": report.told,
        }

    def _report(self, flow: MirrorFlow, groups: tuple[str, ...]) -> GroupsReport:
        from airflow_provider_mm2.mirror.errors import ConnectLeftNothing
        from airflow_provider_mm2.mirror.offsets.checkpointed import checkpointed_report
        from airflow_provider_mm2.mirror.run import locate_groups, stopper

        live = switch("live", self.live)
        settings = pair_settings(flow, target_only=not live)
        with closing(connect_pair(flow, settings, self.stop, target_only=not live)) as pair:
            if live:
                return locate_groups(flow, pair, only=groups, stop=self.stop)
            report = checkpointed_report(flow, pair.target, only=groups, tick=stopper(self.stop))
        if report is None:
            raise ConnectLeftNothing(flow=flow.name)
        return report

    def _plan(self, flow: MirrorFlow) -> Plan:
        from airflow_provider_mm2.mirror.recovery.planning import check_source, find_record, look
        from airflow_provider_mm2.mirror.recovery.record import Order
        from airflow_provider_mm2.mirror.recovery.steps import Mode
        from airflow_provider_mm2.mirror.run import stopper

        live, tick = switch("live", self.live), stopper(self.stop)
        mode = Mode.PLANNED if live else Mode.UNPLANNED
        order = Order(mode=mode, groups=names("groups", self.groups), topics=names("topics", self.topics))
        settings = pair_settings(flow, target_only=not live)
        with closing(connect_pair(flow, settings, self.stop, target_only=not live)) as pair:
            record = find_record(flow, pair.target, tick)
            if live:
                check_source(flow, pair, record)
            return look(flow, pair.target, order, record, tick, live=pair if live else None)


def _summary(
    flow: MirrorFlow,
    *,
    as_of_ms: int,
    loss_window: str,
    groups: int,
    rows: list[dict[str, Any]],
    problems: list[str],
    warnings: Sequence[str],
) -> dict[str, Any]:
    from airflow_provider_mm2.mirror.moments import show
    from airflow_provider_mm2.operators.failover_summary import (
        GROUPS_NAMED,
        TEXT_LIMIT,
        WARNINGS_LISTED,
        positions_summary,
    )

    return {
        "flow": flow.name,
        "as_of": show(as_of_ms),
        "loss_window": loss_window,
        **positions_summary(rows, groups=groups),
        "problems": [line[:TEXT_LIMIT] for line in problems[:GROUPS_NAMED]],
        "warnings": [line[:TEXT_LIMIT] for line in warnings[:WARNINGS_LISTED]],
    }
