"""Whether the topics of a running copy are still those that it began with.

A client goes on by name: of a topic that is deleted and made anew while a run copies it reads the new one's records at
the old one's offsets, and nothing would ever tell. So every chunk asks before it is committed.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import SourceTopicRecreated, TargetTopicGone, TargetTopicRecreated, TopicDeleted
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.model import TopicInfo, TopicPartition

ABSENT_S = 2.0
"""A topic that one broker does not know is asked for again for this long: another one may have heard of it."""


def check_topics(
    pair: ClusterPair,
    facts: Mapping[TopicPartition, PartitionFacts],
    progress: Mapping[TopicPartition, int],
    tick: Tick,
) -> None:
    """Refuse to go on with a topic that is another one by now.

    :param progress: next source offset of each partition, as far as it is committed.
    :raises SourceTopicRecreated: a source topic is not the one that the run began to read.
    :raises TopicDeleted: a source topic is gone.
    :raises TargetTopicRecreated: a target topic is not the one that the run began to write.
    :raises TargetTopicGone: a target topic is gone.
    """
    at_source = _described(pair.source, {fact.source.topic for fact in facts.values()}, tick)
    at_target = _described(pair.target, {fact.target.topic for fact in facts.values()}, tick)
    for fact in facts.values():
        _check_source(pair, fact, progress.get(fact.source, fact.progress), at_source)
        _check_target(fact, at_target)


def _described(cluster: ClusterReader, names: Collection[str], tick: Tick) -> Mapping[str, TopicInfo]:
    deadline = time.monotonic() + ABSENT_S
    found = cluster.describe_topics(names)
    while len(found) < len(names) and time.monotonic() < deadline:
        tick()
        time.sleep(0.1)
        found = cluster.describe_topics(names)
    return found


def _check_source(pair: ClusterPair, fact: PartitionFacts, progress: int, topics: Mapping[str, TopicInfo]) -> None:
    found = topics.get(fact.source.topic)
    if found is None:
        raise TopicDeleted(alias=pair.source.alias, topic=fact.source.topic)
    if found.topic_id != fact.source_topic.topic_id:
        raise SourceTopicRecreated(
            topic=fact.source.topic,
            recorded_id=fact.source_topic.topic_id,
            found_id=found.topic_id,
            progress=progress,
        )


def _check_target(fact: PartitionFacts, topics: Mapping[str, TopicInfo]) -> None:
    found, records = topics.get(fact.target.topic), 0 if fact.ledger is None else fact.ledger.records
    if found is None:
        raise TargetTopicGone(
            topic=fact.source.topic,
            target_topic=fact.target.topic,
            recorded_id=fact.target_topic.topic_id,
            records=records,
        )
    if found.topic_id != fact.target_topic.topic_id:
        raise TargetTopicRecreated(
            topic=fact.source.topic,
            target_topic=fact.target.topic,
            recorded_id=fact.target_topic.topic_id,
            found_id=found.topic_id,
            records=records,
        )
