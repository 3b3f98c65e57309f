"""Changing topics on a cluster: creating, growing and deleting them, altering their settings."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.admin import NewPartitions as KafkaNewPartitions
from confluent_kafka.admin import NewTopic as KafkaNewTopic

from airflow_provider_mm2.mirror.clusters.confluent.admin import Admin
from airflow_provider_mm2.mirror.clusters.confluent.failures import NO_TOPIC, REFUSED_SETTINGS, is_away, kafka_error
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import MirrorError, ReplicationImpossible, TopicSettingsRefused
from airflow_provider_mm2.mirror.model import NewTopic, TopicPartition, TopicSetting

TOPICS_AT_ONCE = 200
"""Topics in one request, so that a controller is not asked for thousands of changes in one piece."""

SHOWN_S = 5.0
"""Longest wait for brokers to show altered settings."""


def create_topics(admin: Admin, topics: Sequence[NewTopic]) -> None:
    """Create topics, leave existing ones alone, and wait until all can be described.

    :raises MirrorError: one is refused; it is told when all others are created.
    """
    if not topics:
        return
    wanted = [
        KafkaNewTopic(
            topic.name,
            num_partitions=topic.partitions,
            replication_factor=-1 if topic.replication_factor is None else topic.replication_factor,
            config=dict(topic.settings),
        )
        for topic in topics
    ]
    futures = admin.client.create_topics(wanted, operation_timeout=admin.limit_s, request_timeout=admin.limit_s)
    admin.settle(futures.values())
    refused: list[tuple[KafkaException, NewTopic]] = []
    there: dict[str, int] = {}
    for topic in topics:
        try:
            futures[topic.name].result()
            there[topic.name] = topic.partitions
        except KafkaException as error:
            if kafka_error(error).code() == kafka_error(error).TOPIC_ALREADY_EXISTS:
                there[topic.name] = 1
            else:
                refused.append((error, topic))
    _await_partitions(admin, there)
    if refused:
        first, topic = refused[0]
        raise _not_created(admin, first, topic) from first


def _not_created(admin: Admin, error: KafkaException, topic: NewTopic) -> MirrorError:
    inner = kafka_error(error)
    if inner.code() in REFUSED_SETTINGS:
        names = tuple(sorted(topic.settings))
        return TopicSettingsRefused(alias=admin.alias, topic=topic.name, settings=names, problem=inner.str())
    if inner.code() == inner.INVALID_REPLICATION_FACTOR:
        wanted = topic.replication_factor
        factor = "its default replication factor" if wanted is None else f"{wanted} replicas"
        brokers = admin.broker_count()
        return ReplicationImpossible(alias=admin.alias, factor=factor, brokers=brokers, topics=(topic.name,))
    return admin.failure(error, f"create topic {topic.name!r}")


def grow_topic(admin: Admin, topic: str, partitions: int) -> None:
    """Raise a topic's partition count and wait until it shows; one that has as many already is left as it is."""
    futures = admin.client.create_partitions([KafkaNewPartitions(topic, partitions)], operation_timeout=admin.limit_s)
    admin.settle(futures.values())
    try:
        futures[topic].result()
    except KafkaException as error:
        found = admin.describe_topics([topic]).get(topic)
        if found is None or found.partitions < partitions:
            raise admin.failure(error, f"grow topic {topic!r} to {partitions} partitions", topic) from error
    _await_partitions(admin, {topic: partitions})


def _await_partitions(admin: Admin, wanted: Mapping[str, int]) -> None:
    """Wait until the topics show with so many partitions at least, and every partition has an offset to tell."""
    deadline = time.monotonic() + admin.limit_s
    while True:
        found = admin.describe_topics(list(wanted))
        missing = [name for name, count in wanted.items() if name not in found or found[name].partitions < count]
        if not missing:
            parts = [TopicPartition(name, index) for name in wanted for index in range(found[name].partitions)]
            admin.ends(parts)
            return
        if time.monotonic() > deadline:
            raise admin.watch.unreachable(admin.limit_s)
        admin.client.poll(0.05)


def alter_topic_settings(
    admin: Admin, changes: Mapping[str, Mapping[str, str | None]], tick: Tick
) -> dict[str, MirrorError]:
    """See :class:`TargetCluster`."""
    refused: dict[str, MirrorError] = {}
    names = sorted(changes)
    for first in range(0, len(names), TOPICS_AT_ONCE):
        tick()
        resources = [_resource(name, changes[name]) for name in names[first : first + TOPICS_AT_ONCE]]
        futures = admin.client.incremental_alter_configs(resources, request_timeout=admin.limit_s - 1)
        admin.settle(futures.values())
        for resource, future in futures.items():
            try:
                future.result()
            except KafkaException as error:
                refused[resource.name] = _refusal(admin, resource.name, changes[resource.name], error)
    _await_settings(admin, {topic: settings for topic, settings in changes.items() if topic not in refused}, tick)
    return refused


def _await_settings(admin: Admin, changes: Mapping[str, Mapping[str, str | None]], tick: Tick) -> None:
    """Wait until a broker shows them: the controller acknowledges before the brokers have heard of it.

    Nothing depends on it but what is said of the topics next, so it ends by itself.
    """
    deadline = time.monotonic() + SHOWN_S
    waiting = set(changes)
    while waiting and time.monotonic() < deadline:
        tick()
        found = admin.topic_settings(waiting)
        waiting = {topic for topic in waiting if not _shows(found[topic], changes[topic])}
        admin.client.poll(0.02)


def _shows(found: Mapping[str, TopicSetting], wanted: Mapping[str, str | None]) -> bool:
    overrides = {name: setting.value for name, setting in found.items() if setting.overridden}
    return all(overrides.get(name) == value for name, value in wanted.items())


def _resource(name: str, settings: Mapping[str, str | None]) -> ConfigResource:
    entries = [
        ConfigEntry(
            setting,
            value,
            incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
        )
        for setting, value in sorted(settings.items())
    ]
    return ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)


def _refusal(admin: Admin, topic: str, settings: Mapping[str, str | None], error: KafkaException) -> MirrorError:
    """Why a topic was not altered.

    :raises ClusterUnreachable: the cluster went away, which says nothing of the topic.
    """
    inner = kafka_error(error)
    if inner.code() in REFUSED_SETTINGS:
        names = tuple(sorted(settings))
        return TopicSettingsRefused(alias=admin.alias, topic=topic, settings=names, problem=inner.str())
    failure = admin.failure(error, f"alter the settings of topic {topic!r} (AlterConfigs)", topic)
    if is_away(inner):
        raise failure from error
    return failure


def delete_topics(admin: Admin, topics: Collection[str]) -> None:
    """Delete topics, leave missing ones alone, and wait until none can be described."""
    if not topics:
        return
    limit_s = admin.limit_s
    futures = admin.client.delete_topics(sorted(topics), operation_timeout=limit_s, request_timeout=limit_s)
    admin.settle(futures.values())
    for name, future in futures.items():
        try:
            future.result()
        except KafkaException as error:
            if kafka_error(error).code() not in NO_TOPIC:
                raise admin.failure(error, f"delete topic {name!r}", name) from error
    deadline = time.monotonic() + limit_s
    while admin.describe_topics(topics):
        if time.monotonic() > deadline:
            raise admin.watch.unreachable(limit_s)
        admin.client.poll(0.05)
