"""Positions as the client's own values, for an application's ``Consumer.assign``."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.model import TopicPartition

Assignment = list[KafkaPartition]


def to_assign(offsets: Mapping[TopicPartition, int]) -> Assignment:
    """What ``Consumer.assign`` and ``Consumer.commit(offsets=)`` take, by topic and partition."""
    return [KafkaPartition(part.topic, part.partition, offset) for part, offset in sorted(offsets.items())]
