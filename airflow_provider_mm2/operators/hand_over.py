"""The task that hands a flow over from runs to connectors, or back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.hooks.cluster import connect_pair, pair_settings
from airflow_provider_mm2.hooks.connect import connectors_beside
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.operators.arguments import switch
from airflow_provider_mm2.operators.flow_task import FlowTask

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.handover.report import HandOverReport

ROWS_IN_XCOM = 200
"""Partitions that the returned document holds at most, and lines of the log."""


class HandOverOperator(FlowTask):
    """Hand a flow over to the engine that it names, as ``mm2 hand-over`` does: shown only, unless ``apply`` is true.

    Handed over already, nothing is done but to see that the connectors run; so it may be tried again. One that was
    killed goes on.

    Returns the document of ``mm2 hand-over --json``, with 200 partitions at most.

    :param apply: do it. (templated)
    """

    template_fields: Sequence[str] = (*FlowTask.template_fields, "apply")
    ui_color = "#d5f2ea"

    def __init__(self, *, apply: bool | str = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.apply = apply

    def perform(self, flow: MirrorFlow, context: Context) -> dict[str, Any]:
        """Do it.

        :raises HandOverRefused: it cannot be handed over as things stand; what mirrors it stays as it was.
        :raises MirrorError: one of the clusters or the Connect cluster does not answer, or refuses something.
        """
        from airflow_provider_mm2.mirror.connect.access import wanted_connectors
        from airflow_provider_mm2.mirror.errors import HandOverRefused
        from airflow_provider_mm2.mirror.handover.hand_over import hand_over
        from airflow_provider_mm2.mirror.run import stopper

        settings, apply = pair_settings(flow), switch("apply", self.apply)
        connectors = connectors_beside(flow)
        with closing(connect_pair(flow, settings, self.stop)) as pair:
            report = hand_over(
                flow,
                pair,
                connectors,
                wanted_connectors(flow, settings) if flow.engine == "connect" else (),
                apply=apply,
                owner=self.attempt(context),
                tick=stopper(self.stop),
                say=lambda line: self.log.info("%s", line),
            )
        self._log_report(report)
        if report.refused:
            raise HandOverRefused(flow=flow.name, problems=report.refused)
        document = report.to_json()
        return {**document, "partitions": document["partitions"][:ROWS_IN_XCOM]}

    def _log_report(self, report: HandOverReport) -> None:
        """What a shell would show."""
        for warning in report.warnings:
            self.log.warning("%s", warning)
        for each in report.partitions[:ROWS_IN_XCOM]:
            self.log.info("%s: %s -> %s (%s)", each.source, each.old, each.new, each.reason)
        done = "was so already" if report.is_done_already else "done" if report.applied else "shown only"
        self.log.info("flow %s to engine: %s: %s", report.flow, report.to.value, done)
