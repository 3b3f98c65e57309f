"""Sensors on what a flow has mirrored."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.run_interval import Given, parse_bound, resolve_interval, run_times, show
from airflow_provider_mm2.sensors.flow_sensor import FlowSensor

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.conditions.condition import LagBelow, MirroredThrough

OffsetsGiven = Mapping[str, int | Mapping[int, int] | Mapping[str, int]] | str | None
TopicsGiven = Collection[str] | str | None


class MirroredThroughSensor(FlowSensor):
    """Waits until everything up to a time, or below some offsets of the source, is on the target.

    It asks the target alone, so it works when the source is gone. Without ``until`` and ``offsets`` it waits for the
    end of its own run: the data interval's, or the moment it was triggered for.

    Of a flow with ``engine: connect`` it asks for the connectors' offsets, and the source; it fails for good once a
    connector or task has failed.

    Gives how far each partition is mirrored.

    :param until: a time with a zone: what was stamped before it, and on the source by then, is mirrored. It may lie
        in the future. (templated)
    :param offsets: source offsets up to which all is mirrored, that one not included: ``{topic: offset}`` for each
        partition, or ``{topic: {partition: offset}}``; also as JSON text. (templated)
    :param topics: names of source topics that ``until`` is for; all of the flow when not given. (templated)
    """

    template_fields: Sequence[str] = (*FlowSensor.template_fields, "until", "offsets", "topics")

    def __init__(
        self, *, until: Given = None, offsets: OffsetsGiven = None, topics: TopicsGiven = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.until = until
        self.offsets = offsets
        self.topics = topics

    def condition(self, context: Context) -> MirroredThrough:
        """The time and the offsets."""
        from airflow_provider_mm2.mirror.conditions.condition import MirroredThrough, parse_offsets, parse_topics

        until, offsets = parse_bound("until", self.until), parse_offsets(self.offsets)
        if until is None and not offsets:
            chosen = resolve_interval(until=None, since=None, times=run_times(context), strict=False)
            until = chosen.until
            self.log.info("waiting for %s: %s", show(until), chosen.why)
        return MirroredThrough(until=until, offsets=offsets, topics=parse_topics(self.topics))


class MirrorLagSensor(FlowSensor):
    """Waits until fewer than so many offsets of the source are not on the target yet.

    Offsets are counted, of all partitions together: an upper bound of the records, since transactions' markers and
    compacted records have offsets, too. What an open transaction on the source holds back cannot be mirrored; it is
    told and does not count.

    Of a flow with ``engine: connect`` the connectors' offsets are held against the source: markers and aborted records
    before the next record to copy do not count. A connector or task that has failed fails the sensor for good.

    Gives the lag and the partitions with the largest.

    :param below: 1 means none. (templated)
    :param topics: names of source topics that count; all of the flow when not given. (templated)
    """

    template_fields: Sequence[str] = (*FlowSensor.template_fields, "below", "topics")

    def __init__(self, *, below: int | str, topics: TopicsGiven = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.below = below
        self.topics = topics

    def condition(self, context: Context) -> LagBelow:
        """The limit."""
        from airflow_provider_mm2.mirror.conditions.condition import LagBelow, parse_number, parse_topics

        return LagBelow(below=parse_number("below", self.below, least=1), topics=parse_topics(self.topics))
