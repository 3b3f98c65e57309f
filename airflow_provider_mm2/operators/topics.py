"""The task that makes the target's topics what a run needs, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.operators.flow_task import FlowOperator

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
    from airflow_provider_mm2.mirror.interval.bounds import RunBounds


class SyncTopicsOperator(FlowOperator):
    """Create, grow and set up the target's topics as the flow's ``sync_topics`` says; no record is copied.

    It is step 0 of a run, for a DAG that wants it earlier or more often than the copy. The second time in a row it
    changes nothing and says so.

    Returns a bounded summary: what was created, grown and altered, and ``nothing_changed``.
    """

    ui_color = "#f3ead0"

    def work(self, flow: MirrorFlow, pair: ClusterPair, bounds: RunBounds, context: Context) -> dict[str, Any]:
        """Do step 0.

        :raises MirrorError: refused, and nothing was changed, or a topic could not be created.
        """
        from airflow_provider_mm2.mirror.run import prepare

        prepared = prepare(flow, pair, bounds=bounds, owner=self.attempt(context), stop=self.stop)
        summary = prepared.to_json()
        if prepared.nothing_changed:
            self.log.info("%s topics: nothing to change", summary["topics"])
            return summary
        self.log.info(
            "%s topics: created %s, grown %s",
            summary["topics"],
            summary["created"] or "none",
            summary["grown"] or "none",
        )
        for row in summary["altered"]:
            self.log.info("%(topic)s: %(setting)s is now %(value)s", row)
        for row in summary["acls"]:
            self.log.info("%(topic)s: %(principal)s, %(permission)s %(operation)s from host %(host)s", row)
        return summary
