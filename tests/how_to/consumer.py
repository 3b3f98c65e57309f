"""An application that goes on at the target where its group stood on the source."""

from __future__ import annotations

from confluent_kafka import Consumer

from airflow_provider_mm2.mirror.mirror_client import MirrorClient


def go_on(settings: dict[str, str], group: str) -> Consumer:
    """Give a consumer on the target; its next record is the first that the group has not read."""
    with MirrorClient.connect(settings) as client:
        position = client.translate_offsets(group, "us")
    if not (position.exact and position.complete):
        raise RuntimeError(f"{group} would skip or repeat records: {position.inexact} {position.left_out}")

    consumer = Consumer({**settings, "group.id": group, "isolation.level": "read_committed"})
    consumer.assign(position.to_assign())
    return consumer
