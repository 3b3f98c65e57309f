"""What one cluster holds of some names, so that two moments can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, TopicCollection
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.real_eyes import LATEST, log_offsets

LIMIT_S = 30.0


def take_snapshot(settings: Mapping[str, str], names: Sequence[str]) -> Mapping[str, object]:
    """Topics whose name holds one of ``names``, with id, partitions and log ends; groups likewise, with offsets.

    Lease groups are left out: to join and leave one changes nothing.
    """
    admin = AdminClient({**settings})

    def is_ours(name: str) -> bool:
        return any(each in name for each in names)

    topics = sorted(name for name in admin.list_topics(timeout=LIMIT_S).topics if is_ours(name))
    listed = admin.list_consumer_groups().result(LIMIT_S).valid
    groups = sorted(each.group_id for each in listed if is_ours(each.group_id) and not each.group_id.endswith(".lease"))
    return {
        "topics": _describe(admin, topics),
        "groups": {group: group_offsets(admin, group) for group in groups},
    }


def _describe(admin: AdminClient, topics: Sequence[str]) -> Mapping[str, object]:
    if not topics:
        return {}
    found = {name: each.result(LIMIT_S) for name, each in admin.describe_topics(TopicCollection(list(topics))).items()}
    parts = [TopicPartition(name, part.id) for name, topic in found.items() for part in topic.partitions]
    ends = log_offsets(admin, parts, LATEST, IsolationLevel.READ_UNCOMMITTED)
    return {
        name: (str(topic.topic_id), [ends[TopicPartition(name, part.id)] for part in topic.partitions])
        for name, topic in found.items()
    }


def group_offsets(admin: AdminClient, group: str) -> Mapping[tuple[str, int], int]:
    """A group's committed offsets."""
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    return {(part.topic, part.partition): part.offset for part in future.result(LIMIT_S).topic_partitions}
