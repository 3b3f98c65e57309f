"""The task that ends a mirror run: where the consumer groups stand, published and, where asked for, committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.operators.flow_task import FlowOperator

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
    from airflow_provider_mm2.mirror.interval.bounds import RunBounds


class SyncGroupOffsetsOperator(FlowOperator):
    """Snapshot the source's groups, translate them, publish checkpoints and offset syncs, and commit on the target.

    Committing is switched on by the flow's ``sync_group_offsets`` or by the argument here. A group that somebody is in
    on the target is left alone, and none is moved back unless the flow allows it. One group's failure stops no other:
    the task fails in the end, worth a retry, when there was one.

    Of a flow with ``engine: connect`` the connectors publish, and no snapshot is kept: it is only told where groups
    stand by MirrorMaker 2's state, and committed where that is switched on.

    Returns a bounded summary, which is in XCom under ``groups`` also when the task fails.

    :param sync_group_offsets: commit on the target, or not, whatever the flow says; None: as the flow says.
    """

    ui_color = "#e8dff2"

    def __init__(self, *, sync_group_offsets: bool | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sync_group_offsets = sync_group_offsets

    def work(self, flow: MirrorFlow, pair: ClusterPair, bounds: RunBounds, context: Context) -> dict[str, Any]:
        """Do steps 10 to 14 of a run, or beside connectors what is left of them.

        :raises GroupsIncomplete: some groups failed; all others are done.
        """
        from airflow_provider_mm2.mirror.run import locate_groups, mirror_groups

        if self.sync_group_offsets is not None:
            flow = flow.model_copy(update={"sync_group_offsets": bool(self.sync_group_offsets)})
        if flow.engine == "connect":
            report = locate_groups(flow, pair, apply=flow.sync_group_offsets, stop=self.stop)
        else:
            report = mirror_groups(flow, pair, stop=self.stop, owner=self.attempt(context))
        summary = report.summary()
        context["ti"].xcom_push(key="groups", value=summary)
        self.log.info(
            "%s groups: %s; %s checkpoints and %s offset syncs published",
            summary["groups"],
            ", ".join(f"{count} {result}" for result, count in sorted(summary["results"].items())) or "none",
            summary["checkpoints"],
            summary["syncs"],
        )
        report.raise_incomplete()
        return summary
