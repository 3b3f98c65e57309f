"""Whether the topics that are compared are still those that they were when it began."""

from __future__ import annotations

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.errors import (
    SourceTopicRecreated,
    TargetTopicGone,
    TargetTopicRecreated,
    TopicDeleted,
)
from airflow_provider_mm2.mirror.verify.scope import Part


def check_topics(pair: ClusterPair, part: Part) -> None:
    """Refuse topics that were deleted or made anew while they were read: what was found of them means nothing.

    :raises TopicDeleted: the source topic is gone.
    :raises SourceTopicRecreated: it is another one.
    :raises TargetTopicGone: the target topic is gone.
    :raises TargetTopicRecreated: it is another one.
    """
    source, target = part.source.topic, part.target.topic
    here, there = pair.source.describe_topics([source]).get(source), pair.target.describe_topics([target]).get(target)
    if here is None:
        raise TopicDeleted(alias=pair.source.alias, topic=source)
    if part.topic_ids[0] not in ("", here.topic_id):
        ids = {"recorded_id": part.topic_ids[0], "found_id": here.topic_id}
        raise SourceTopicRecreated(topic=source, progress=part.end, **ids)
    records = 0 if part.offset_map is None else sum(part.offset_map.counts)
    names = {"topic": source, "target_topic": target, "recorded_id": part.topic_ids[1]}
    if there is None:
        raise TargetTopicGone(records=records, **names)
    if there.topic_id != part.topic_ids[1]:
        raise TargetTopicRecreated(records=records, found_id=there.topic_id, **names)
