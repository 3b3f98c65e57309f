"""The task of a drill."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.hooks.cluster import connect_pair, pair_settings
from airflow_provider_mm2.mirror.errors import ArgumentRefused, LimitPassed
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.operators.arguments import seconds, switch, text
from airflow_provider_mm2.operators.flow_task import FlowTask

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.drill.drill import DrillOrder


class DrDrillOperator(FlowTask):
    """A drill of a flow: fail over for the exercise, on topics and groups that are made for it and taken away.

    Returns the drill's document without its samples; the task fails when a limit of the flow's ``drill:`` was passed,
    with the document in XCom under ``drill`` all the same. One that is killed leaves things behind, which the next
    drill takes away first.

    :param mode: ``planned`` or ``unplanned``. (templated)
    :param load_s: seconds for which applications work before the cut. (templated)
    :param failback: come home afterwards. (templated)
    :param html: path of a page with charts to write; needs the extra ``drill``. (templated)
    :param junit: path of a JUnit XML file to write; needs the extra ``drill``. (templated)
    """

    template_fields: Sequence[str] = (*FlowTask.template_fields, "mode", "load_s", "failback", "html", "junit")
    ui_color = "#e8e0f5"

    def __init__(
        self,
        *,
        mode: str = Mode.PLANNED.value,
        load_s: int | str = 10,
        failback: bool | str = False,
        html: str | None = None,
        junit: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"retries": 0, **kwargs})
        self.mode = mode
        self.load_s = load_s
        self.failback = failback
        self.html = html
        self.junit = junit

    def perform(self, flow: MirrorFlow, context: Context) -> dict[str, Any]:
        """Drill.

        :raises LimitPassed: a limit was passed.
        """
        from airflow_provider_mm2.mirror.clusters.confluent.load import ConfluentApplications
        from airflow_provider_mm2.mirror.drill.drill import Drill
        from airflow_provider_mm2.mirror.drill.files import check_extra, write_files
        from airflow_provider_mm2.mirror.run import stopper

        order, html, junit = self._order(), text(self.html), text(self.junit)
        check_extra(html, junit)
        settings = pair_settings(flow)
        applications = {alias: ConfluentApplications(found) for alias, found in settings.items()}
        with closing(connect_pair(flow, settings, self.stop)) as pair:
            report = Drill(
                flow,
                pair,
                applications,
                owner=self.attempt(context),
                tick=stopper(self.stop),
                report=lambda line: self.log.info("%s", line),
            ).run(order)
        document = report.to_json()
        write_files(document, html=html, junit=junit)
        summary = {key: value for key, value in document.items() if key != "samples"}
        context["ti"].xcom_push(key="drill", value=summary)
        self.log.info("RPO %(rpo_records)s record(s), %(rpo_s)s s; RTO %(rto_s)s s", summary)
        if not report.passed:
            passed = tuple(
                f"{each.name}: {each.value:g} (at most {each.limit:g})" for each in report.limits if not each.passed
            )
            raise LimitPassed(flow=flow.name, limits=passed or ("a group never came up on the target",))
        return summary

    def _order(self) -> DrillOrder:
        from airflow_provider_mm2.mirror.drill.drill import DrillOrder

        if self.mode not in {mode.value for mode in Mode}:
            raise ArgumentRefused(argument="mode", problem=f"{self.mode!r} is neither planned nor unplanned")
        return DrillOrder(
            mode=Mode(self.mode),
            load_s=max(1, seconds("load_s", self.load_s)),
            failback=switch("failback", self.failback),
        )
