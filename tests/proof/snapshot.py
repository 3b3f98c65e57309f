"""Everything of a cluster that a write of any kind would change."""

from __future__ import annotations

from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from airflow_provider_mm2.mirror.model import TopicPartition
from tests.proof.eyes import LIMIT_S, Eyes


def snapshot(eyes: Eyes) -> dict[str, Any]:
    """Topics with ids, partitions and settings, every log's end, every group with its offsets, brokers' settings."""
    admin = eyes.admin
    metadata = admin.list_topics(timeout=LIMIT_S)
    names = sorted(metadata.topics)
    described = admin.describe_topics(TopicCollection(names), request_timeout=LIMIT_S)
    topics = {name: described[name].result(LIMIT_S) for name in names}
    parts = [TopicPartition(name, index) for name, topic in topics.items() for index in range(len(topic.partitions))]
    settings = _settings(admin, [ConfigResource(ResourceType.TOPIC, name) for name in names])
    settings.update(_settings(admin, [ConfigResource(ResourceType.BROKER, str(node)) for node in metadata.brokers]))
    return {
        "topics": {name: (str(topic.topic_id), len(topic.partitions)) for name, topic in topics.items()},
        "ends": eyes.offsets(parts, stable=False),
        "groups": {group: eyes.all_committed(group) for group in eyes.groups()},
        "settings": settings,
    }


def _settings(admin: AdminClient, resources: list[ConfigResource]) -> dict[str, dict[str, Any]]:
    futures = admin.describe_configs(resources, request_timeout=LIMIT_S)
    return {
        f"{resource.restype} {resource.name}": {name: entry.value for name, entry in future.result(LIMIT_S).items()}
        for resource, future in futures.items()
    }
