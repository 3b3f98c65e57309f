"""Deleting topics."""

from __future__ import annotations

import time
from collections.abc import Collection

from confluent_kafka import KafkaException

from airflow_provider_mm2.mirror.clusters.confluent.admin import Admin
from airflow_provider_mm2.mirror.clusters.confluent.failures import NO_TOPIC, kafka_error


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
