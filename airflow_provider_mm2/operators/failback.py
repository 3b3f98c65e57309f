"""The task that opens a flow's way home after a failover."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.hooks.cluster import connect_pair, pair_settings
from airflow_provider_mm2.mirror.errors import ArgumentRefused
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded
from airflow_provider_mm2.operators.arguments import switch, text
from airflow_provider_mm2.operators.flow_task import FlowTask

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.recovery.failback_report import FailbackReport

LISTED = 100
"""Rows of each kind that one task leaves in Airflow's database; the counts count everything."""


class FailbackOperator(FlowTask):
    """Do with stranded records what was decided, and open the way home, ``<flow>.reverse``.

    From then on that is a flow like any other: ``MirrorIntervalOperator`` and ``FailoverOperator`` take it by its name.
    One that is open already stays as it is, and so does a flow that is home, so the task may be cleared and run again.
    Returns a bounded summary.

    :param flow: the flow that failed over. (templated)
    :param stranded: what becomes of records on the old source that were never mirrored: ``keep``, ``copy`` or
        ``quarantine``; empty: the task fails where there are any. (templated)
    :param show_only: write nothing, only look. (templated)
    """

    template_fields: Sequence[str] = (*FlowTask.template_fields, "stranded", "show_only")
    ui_color = "#f2dfd5"

    def __init__(self, *, stranded: str | None = None, show_only: bool | str = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stranded = stranded
        self.show_only = show_only

    def perform(self, flow: MirrorFlow, context: Context) -> dict[str, Any]:
        """Open the way home.

        :raises StrandedUndecided: records are stranded, and nothing was said of them; nothing was written.
        """
        from airflow_provider_mm2.mirror.recovery.failback import Failback
        from airflow_provider_mm2.mirror.reverse_flow import reverse_of
        from airflow_provider_mm2.mirror.run import stopper

        choice = self._choice()
        reverse = reverse_of(flow)
        with closing(connect_pair(reverse, pair_settings(reverse), self.stop)) as pair:
            coming = Failback(
                flow,
                pair,
                owner=self.attempt(context),
                tick=stopper(self.stop),
                report=lambda line: self.log.info("%s", line),
            )
            look_only = switch("show_only", self.show_only)
            report = coming.when_home() or (coming.look() if look_only else coming.prepare(choice))
        for warning in report.warnings:
            self.log.warning("%s", warning)
        self.log.info("flow %s: %s, %d stranded record(s)", report.flow, report.state, report.stranded_records)
        return summary_of(report)

    def _choice(self) -> Stranded | None:
        given = text(self.stranded)
        known = {choice.value for choice in Stranded}
        if given is not None and given not in known:
            raise ArgumentRefused(argument="stranded", problem=f"{given!r} is none of {', '.join(sorted(known))}")
        return None if given is None else Stranded(given)


def summary_of(report: FailbackReport) -> dict[str, Any]:
    """What coming home means, bounded."""
    document = report.to_json()
    stranded = [{**row, "listed": row["listed"][:3]} for row in document["stranded"][:LISTED]]
    rows = {name: document[name][:LISTED] for name in ("decided", "coming_home", "warnings")}
    return {**document, **rows, "stranded": stranded, "stranded_partitions": len(document["stranded"])}
