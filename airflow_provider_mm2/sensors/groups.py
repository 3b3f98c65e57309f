"""Sensors on consumer groups that move from the source to the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from airflow_provider_mm2.sensors.flow_sensor import FlowSensor
from airflow_provider_mm2.sensors.mirror import TopicsGiven

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.conditions.condition import GroupCaughtUp, GroupLeftSource


class GroupCaughtUpSensor(FlowSensor):
    """Waits until a group on the target has fewer than so many mirrored records before it.

    Records are counted exactly, by the flow's offset map, or of a flow with ``engine: connect`` on the target itself
    (beyond 10,000 of a partition its offsets); the target alone is asked. A partition that the group has no
    offset of counts with all its records.

    Gives the lag and the partitions with the largest.

    :param group: name of the consumer group. (templated)
    :param below: 1, the default, means that it has read all that is mirrored. (templated)
    :param topics: names of source topics whose copies count; when not given, all that the group has committed offsets
        of on the target. (templated)
    """

    template_fields: Sequence[str] = (*FlowSensor.template_fields, "group", "below", "topics")

    def __init__(self, *, group: str, below: int | str = 1, topics: TopicsGiven = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.below = below
        self.topics = topics

    def condition(self, context: Context) -> GroupCaughtUp:
        """The group and the limit."""
        from airflow_provider_mm2.mirror.conditions.condition import (
            GroupCaughtUp,
            parse_group,
            parse_number,
            parse_topics,
        )

        return GroupCaughtUp(
            group=parse_group(self.group),
            below=parse_number("below", self.below, least=1),
            topics=parse_topics(self.topics),
        )


class GroupLeftSourceSensor(FlowSensor):
    """Waits until nobody has been in a group on the source for so many seconds.

    A consumer that assigns itself its partitions is in no group, so nobody can see it. A group that neither cluster
    nor the flow's snapshot knows fails the task: a misspelt name must not count as gone.

    In the modes ``poke`` and ``reschedule`` the worker is held while the seconds are counted.

    :param group: name of the consumer group. (templated)
    :param for_s: for how long; somebody who comes and leaves between two looks, a tenth of it, is not seen. (templated)
    """

    template_fields: Sequence[str] = (*FlowSensor.template_fields, "group", "for_s")

    def __init__(self, *, group: str, for_s: float | str = 60, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.for_s = for_s

    def condition(self, context: Context) -> GroupLeftSource:
        """The group and the time."""
        from airflow_provider_mm2.mirror.conditions.condition import GroupLeftSource, parse_group, parse_seconds

        return GroupLeftSource(group=parse_group(self.group), for_s=parse_seconds("for_s", self.for_s))
