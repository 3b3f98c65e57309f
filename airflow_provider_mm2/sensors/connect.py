"""The sensor on a flow's connectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.run_interval import Given, parse_bound, resolve_interval, run_times, show
from airflow_provider_mm2.sensors.flow_sensor import FlowSensor
from airflow_provider_mm2.sensors.mirror import TopicsGiven

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.conditions.condition import ConnectRunning


class ConnectMirrorSensor(FlowSensor):
    """Waits until the connectors of a flow with ``engine: connect`` run, and are caught up through a time.

    A connector or task that has failed fails the sensor for good, with its trace: Connect does not start it again by
    itself. Caught up through a time is what a run means by it: of each partition the next record to copy is stamped at
    or after it, or there is none.

    Gives the connectors, tasks and how far each partition is.

    :param until: a time with a zone, which may lie in the future. (templated)
    :param caught_up: without ``until``: whether to wait for the end of its own run, the data interval's, or the moment
        it was triggered for.
    :param topics: names of source topics that the time is for; all of the flow when not given. (templated)
    """

    template_fields: Sequence[str] = (*FlowSensor.template_fields, "until", "topics")

    def __init__(
        self, *, until: Given = None, caught_up: bool = False, topics: TopicsGiven = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.until = until
        self.caught_up = caught_up
        self.topics = topics

    def condition(self, context: Context) -> ConnectRunning:
        """The time."""
        from airflow_provider_mm2.mirror.conditions.condition import ConnectRunning, parse_topics

        until = parse_bound("until", self.until)
        if until is None and self.caught_up:
            chosen = resolve_interval(until=None, since=None, times=run_times(context), strict=False)
            until = chosen.until
            self.log.info("waiting for %s: %s", show(until), chosen.why)
        return ConnectRunning(until=until, topics=parse_topics(self.topics))
