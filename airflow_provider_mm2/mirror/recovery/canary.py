"""Step 8: a record is written and read back on topics like those of the flow, one for each class of them.

The topics are the failover's own and are deleted after it: a record among the applications' would be read by them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import TargetCluster
from airflow_provider_mm2.mirror.errors import CanaryLost
from airflow_provider_mm2.mirror.model import NewTopic, TopicInfo, TopicPartition, TopicSetting
from airflow_provider_mm2.mirror.recovery.work import Detail, Work
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state_model import StateRecord

LIKE = ("cleanup.policy", "min.insync.replicas", "compression.type")
"""Settings that decide whether a record is taken, beside the replication factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicClass:
    """Topics that take records alike, with one of them as an example."""

    replication_factor: int
    settings: tuple[tuple[str, str], ...]
    example: str


def classes_of(
    topics: Mapping[str, TopicInfo], settings: Mapping[str, Mapping[str, TopicSetting]]
) -> tuple[TopicClass, ...]:
    """The classes of some topics, each with its first topic as the example. Pure."""
    found: dict[tuple[int, tuple[tuple[str, str], ...]], TopicClass] = {}
    for name, info in sorted(topics.items()):
        alike = tuple(
            (key, setting.value)
            for key in LIKE
            if (setting := settings.get(name, {}).get(key)) is not None and setting.value is not None
        )
        each = TopicClass(replication_factor=info.replication_factor, settings=alike, example=name)
        found.setdefault((info.replication_factor, alike), each)
    return tuple(found.values())


def write_canaries(work: Work) -> Detail:
    """Write and read back on each class.

    :raises CanaryLost: what was written is not what is read.
    :raises MirrorError: the target does not take it.
    """
    ledgers = read_shards(work.target, work.flow.name, work.record.shards, work.tick)
    topics = work.target.describe_topics(sorted({ledger.latest.target_topic for ledger in ledgers.values()}))
    classes = classes_of(topics, work.target.topic_settings(list(topics)))
    names = [naming.canary_topic(work.flow.name, number) for number in range(len(classes))]
    work.target.delete_topics(names)  # what a failover left that died here
    try:
        for name, like in zip(names, classes, strict=True):
            factor, settings = like.replication_factor, dict(like.settings)
            work.target.create_topics([NewTopic(name=name, partitions=1, replication_factor=factor, settings=settings)])
            _write_one(work, work.target, name, like)
    finally:
        work.target.delete_topics(names)
    return {"classes": [{"like": each.example, **dict(each.settings)} for each in classes]}


def _write_one(work: Work, target: TargetCluster, topic: str, like: TopicClass) -> None:
    part, sent = TopicPartition(topic, 0), f"{work.owner} {time.time_ns()}".encode()
    writer = target.state_writer(naming.canary_id(work.flow.name))
    try:
        writer.fence(work.tick)
        writer.write([StateRecord(topic=topic, partition=0, key=b"canary", value=sent)], work.tick)
    finally:
        writer.close()
    found = [record.value for record in target.read_state(part, work.tick)]
    if found != [sent]:
        raise CanaryLost(topic=topic, like=like.example, found_records=len(found))
