"""The task that keeps a flow's connectors on a Connect cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.hooks.cluster import connect_pair, pair_settings
from airflow_provider_mm2.hooks.connect import flow_connectors
from airflow_provider_mm2.mirror.errors import ArgumentRefused, NotAConnectFlow
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.operators.arguments import switch
from airflow_provider_mm2.operators.flow_task import FlowTask

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
    from airflow_provider_mm2.mirror.connect.report import PutReport

ACTIONS = ("put", "pause", "resume", "restart", "stop", "delete")


class ConnectMirrorOperator(FlowTask):
    """Put, pause, resume, restart, stop or delete the connectors of a flow with ``engine: connect``.

    Each may be done again and then changes nothing. What ``put`` changes is logged key by key before it is done, no
    secret among it; a connector that is not the flow's is never touched. An action ends when the connectors are in the
    state, ``put`` when they have begun: ``ConnectMirrorSensor`` waits for their tasks.

    Returns what changed of each connector.

    :param action: ``put``, ``pause``, ``resume``, ``restart``, ``stop`` or ``delete``. (templated)
    :param apply: do it; false only tells what ``put`` and ``delete`` would do. (templated)
    """

    template_fields: Sequence[str] = (*FlowTask.template_fields, "action", "apply")
    ui_color = "#d5f2ea"

    def __init__(self, *, action: str = "put", apply: bool | str = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.action = action
        self.apply = apply

    def perform(self, flow: MirrorFlow, context: Context) -> dict[str, Any]:
        """Do it.

        :raises ArgumentRefused: there is no such action.
        :raises NotAConnectFlow: runs mirror the flow.
        :raises MirrorError: refused, and nothing was changed, or the Connect cluster does not answer in time.
        """
        from airflow_provider_mm2.mirror.connect.flow_connectors import Action
        from airflow_provider_mm2.mirror.handover.recording import connectors_at_work
        from airflow_provider_mm2.mirror.run import stopper

        apply = switch("apply", self.apply)
        if self.action not in ACTIONS:
            problem = f"{self.action!r} is none of {', '.join(ACTIONS)}"
            raise ArgumentRefused(argument="action", problem=problem)
        connectors = flow_connectors(flow)
        if connectors is None:
            raise NotAConnectFlow(flow=flow.name)
        if self.action == "put":
            return self._put(flow, connectors, owner=self.attempt(context), apply=apply)
        action, tick = Action(self.action), stopper(self.stop)
        if action.lets_work:
            with (
                closing(connect_pair(flow, pair_settings(flow), self.stop)) as pair,
                connectors_at_work(flow, pair, owner=self.attempt(context), tick=tick) as keep,
            ):
                document = connectors.act(action, apply=apply, tick=keep).to_json()
        else:
            document = connectors.act(action, apply=apply, tick=tick).to_json()
        for row in document["connectors"]:
            self.log.info("%s: %s -> %s", row["connector"], row["before"], row["after"])
        return document

    def _put(self, flow: MirrorFlow, connectors: FlowConnectors, *, owner: str, apply: bool) -> dict[str, Any]:
        from airflow_provider_mm2.mirror.connect.access import wanted_connectors
        from airflow_provider_mm2.mirror.handover.recording import check_connectors_may_work, connectors_at_work
        from airflow_provider_mm2.mirror.run import stopper

        settings, tick = pair_settings(flow), stopper(self.stop)
        wanted = wanted_connectors(flow, settings)
        with closing(connect_pair(flow, settings, self.stop)) as pair:
            plan = connectors.plan(wanted, target_cluster=pair.target.cluster_id, tick=tick)
            self._log_plan(plan)
            check_connectors_may_work(flow, pair.target, tick)
            report = plan
            if apply:
                with connectors_at_work(flow, pair, owner=owner, tick=tick) as keep:
                    report = connectors.put(plan, wanted, tick=keep)
        self.log.info("%d connector(s) to change, %s", report.to_change, "changed" if apply else "shown only")
        return {
            "flow": flow.name,
            "applied": report.applied,
            "to_change": report.to_change,
            "connectors": [
                {"connector": each.name, "change": each.change.value, "keys": [one.key for one in each.keys]}
                for each in report.changes
            ],
        }

    def _log_plan(self, plan: PutReport) -> None:
        """What a shell would show."""
        for warning in plan.warnings:
            self.log.warning("%s", warning)
        for difference in plan.differs:
            self.log.info("other than in a run: %s: %s", difference.key, difference.text)
        for each in plan.changes:
            self.log.info("%s: %s", each.name, each.change.value)
            for one in each.keys:
                self.log.info("  %s: %s -> %s", one.key, one.before, one.after)
