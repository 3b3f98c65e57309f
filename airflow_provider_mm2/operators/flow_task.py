"""What all tasks of a flow have in common: the flow, its connections, the run's times, failing and stopping."""

from __future__ import annotations

import socket
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime, timezone
from threading import Event
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Context

from airflow_provider_mm2.flow_argument import FlowGiven, airflow_failures, find_given_flow, refuse_secrets
from airflow_provider_mm2.hooks.cluster import pair_settings
from airflow_provider_mm2.mirror.errors import Stopped
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.run_interval import Given, RunInterval, resolve_interval, run_times, show

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
    from airflow_provider_mm2.mirror.interval.bounds import RunBounds

CLOCK_SKEW_S = 30.0
"""How far a worker's clock may be behind the scheduler's: a run begins the moment its end has come, there."""


class FlowTask(BaseOperator):
    """A task on a flow. It contacts nothing before ``execute``.

    An error worth a retry fails the task plainly; any other fails it for good, whatever its retries.

    :param flow: a ``MirrorFlow``, a mapping, the name of a flow in the folder of flows, or the path of its file.
        The folder is ``$MM2_FLOWS``, else ``flows/`` beside the DAG's file. (templated)
    :param source_conn_id: Airflow connection in place of what the flow says of its source. (templated)
    :param target_conn_id: the same for the target. (templated)
    """

    template_fields: Sequence[str] = ("flow", "source_conn_id", "target_conn_id")

    _stop: Event | None = None
    _killed = False

    def __init__(
        self,
        *,
        flow: FlowGiven,
        source_conn_id: str | None = None,
        target_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        refuse_secrets(flow)
        self.flow = flow
        self.source_conn_id = source_conn_id
        self.target_conn_id = target_conn_id

    @abstractmethod
    def perform(self, flow: MirrorFlow, context: Context) -> Any:
        """What the task does; its result goes to XCom."""

    def execute(self, context: Context) -> Any:
        """Find the flow and perform."""
        self._stop = Event()
        if self._killed:
            self._stop.set()
        with airflow_failures():
            return self.perform(self.resolved_flow(context), context)

    def on_kill(self) -> None:
        """Ask the work to stop; runs in a signal handler, so it only sets a flag. Airflow kills 5 s later."""
        self._killed = True
        if self._stop is not None:
            self._stop.set()

    @property
    def stop(self) -> Event:
        """Set when the task is to end."""
        if self._stop is None:
            self._stop = Event()
        return self._stop

    def resolved_flow(self, context: Context) -> MirrorFlow:
        """The flow, found, validated and with the operator's connections in place.

        :raises FlowNotFound: there is none of this name or path.
        :raises FlowInvalid: what is there is not a flow.
        """
        return find_given_flow(
            self.flow,
            dag_file=context["dag"].fileloc,
            source_conn_id=self.source_conn_id,
            target_conn_id=self.target_conn_id,
        )

    @staticmethod
    def run_prefix(context: Context) -> str:
        """What the names of all attempts of this DAG run begin with; Airflow allows no slash in its ids."""
        instance: Any = context["ti"]
        return f"{instance.dag_id}/{instance.run_id}/"

    def attempt(self, context: Context) -> str:
        """Who this attempt is, for whoever waits for it."""
        instance: Any = context["ti"]
        mapped = "" if instance.map_index < 0 else f"[{instance.map_index}]"
        return (
            f"{self.run_prefix(context)}{instance.task_id}{mapped} try {instance.try_number} on {socket.gethostname()}"
        )


class FlowOperator(FlowTask):
    """A task on the two clusters of a flow, with the times of the run.

    :param until: mirror what is stamped before this time, in place of what the run's own times say; text in
        ISO form with a zone. (templated)
    :param since: start of the interval, which only a strict flow looks at. (templated)
    """

    template_fields: Sequence[str] = (*FlowTask.template_fields, "until", "since")
    ui_color = "#d5e8f2"

    def __init__(self, *, until: Given = None, since: Given = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.until = until
        self.since = since

    @abstractmethod
    def work(self, flow: MirrorFlow, pair: ClusterPair, bounds: RunBounds, context: Context) -> Any:
        """What the task does with both clusters connected; its result goes to XCom."""

    def perform(self, flow: MirrorFlow, context: Context) -> Any:
        """Resolve the run's times, connect, work, and let the clients go whatever happens."""
        bounds = self._bounds(flow, context)
        settings = pair_settings(flow)
        with closing(_connect(flow, settings)) as pair:
            return self.work(flow, pair, bounds, context)

    def _bounds(self, flow: MirrorFlow, context: Context) -> RunBounds:
        from airflow_provider_mm2.mirror.interval.bounds import RunBounds

        chosen = resolve_interval(until=self.until, since=self.since, times=run_times(context), strict=flow.strict)
        self._wait_for_clock(chosen)
        bounds = RunBounds(until=chosen.until, since=chosen.since, started=datetime.now(timezone.utc))
        bounds.check()
        self.log.info("the run ends at %s: %s", show(chosen.until), chosen.why)
        return bounds

    def _wait_for_clock(self, chosen: RunInterval) -> None:
        """Let this machine's clock catch up with an end that Airflow chose and that came elsewhere already."""
        ahead_s = (chosen.until - datetime.now(timezone.utc)).total_seconds()
        if chosen.given or not 0 < ahead_s <= CLOCK_SKEW_S:
            return
        self.log.warning("the run's end is %.3f s ahead of this machine's clock; waiting for it", ahead_s)
        if self.stop.wait(ahead_s + 0.001):
            raise Stopped


def _connect(flow: MirrorFlow, settings: Mapping[str, Mapping[str, object]]) -> ClusterPair:
    """The two clusters. Imported here: parsing a DAG must not load the Kafka client."""
    from airflow_provider_mm2.mirror.clusters.confluent.client import connect

    return connect(flow, settings=settings)
