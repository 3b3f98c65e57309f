"""What somebody does to a cluster with tools of their own: settings, groups, records, topics."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord
from tests.contract.real_lab import LIMIT_S, Settings, done, until, write
from tests.fakes.log import Message


def set_topic_setting(cluster: Settings, topic: str, name: str, value: str) -> None:
    """Set one setting of a topic."""
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({**cluster})
    done(admin.incremental_alter_configs([resource]))

    def is_set() -> bool:
        (entries,) = done(admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
        return bool(entries[name].value == value)

    until(is_set, f"{name} of {topic}")


def topic_setting(cluster: Settings, topic: str, name: str) -> str | None:
    """The effective value of a topic's setting."""
    admin = AdminClient({**cluster})
    (entries,) = done(admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
    value: str | None = entries[name].value
    return value


def grow(cluster: Settings, topic: str, partitions: int) -> None:
    """Raise a topic's partition count and wait for the leaders."""
    admin = AdminClient({**cluster})
    done(admin.create_partitions([NewPartitions(topic, partitions)]))

    def has_leaders() -> bool:
        found = admin.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions
        return len(found) == partitions and all(part.leader >= 0 for part in found.values())

    until(has_leaders, f"{partitions} partitions of {topic}")


def partitions_of(cluster: Settings, topic: str) -> int | None:
    """Partition count of a topic, None where there is none."""
    found = AdminClient({**cluster}).list_topics(timeout=LIMIT_S).topics.get(topic)
    return None if found is None else len(found.partitions)


def produce_with(cluster: Settings, partition: TopicPartition, *messages: Message, **settings: str) -> None:
    """Write records with a producer of these settings (``compression_type="gzip"``)."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    write(
        Producer({**cluster, "message.max.bytes": 10_000_000, "linger.ms": 5, "enable.idempotence": True, **named}),
        partition,
        messages,
    )


def empty_transaction(cluster: Settings) -> None:
    """Begin a transaction and commit it without a record."""
    producer = Producer({**cluster, "transactional.id": f"empty-{uuid.uuid4().hex[:8]}"})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.commit_transaction(LIMIT_S)


def produce_keyed(cluster: Settings, partition: TopicPartition, key: bytes | None, value: bytes | None) -> None:
    """Write one record without a thought for its timestamp."""
    producer = Producer({**cluster, "enable.idempotence": True})
    producer.produce(partition.topic, value, key, partition.partition)
    assert producer.flush(LIMIT_S) == 0


def set_group(cluster: Settings, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Set a group's offsets, as ``kafka-consumer-groups.sh --reset-offsets`` does."""
    parts = [KafkaPartition(*partition, offset) for partition, offset in offsets.items()]
    admin = AdminClient({**cluster})  # kept: with the client go its answers
    (answer,) = done(admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, parts)]))
    assert all(part.error is None for part in answer.topic_partitions)


def delete_group(cluster: Settings, group: str) -> None:
    """Delete a group with its offsets."""
    admin = AdminClient({**cluster})
    done(admin.delete_consumer_groups([group]))


def produce_state(cluster: Settings, record: StateRecord) -> None:
    """Write one record to a state topic outside any transaction."""
    produce_keyed(cluster, TopicPartition(record.topic, record.partition), record.key, record.value)
