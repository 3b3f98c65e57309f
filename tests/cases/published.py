"""What readers of MirrorMaker 2's topics find on a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint, OffsetSync
from tests.contract.real_eyes import read_committed
from tests.contract.real_lab import Settings
from tests.fakes.log import Message

LIMIT_S = 30.0


def topics_of(cluster: Settings) -> set[str]:
    """Names of all topics."""
    return set(AdminClient({**cluster}).list_topics(timeout=LIMIT_S).topics)


def checkpoints_of(target: Settings, alias: str, *, group: str | None = None) -> list[Checkpoint]:
    """Checkpoints of groups from ``alias``, as they were written; of one group or of all."""
    found = [Checkpoint.decode(each.key, each.value) for each in _records(target, f"{alias}.checkpoints.internal")]
    return [checkpoint for checkpoint in found if group in (None, checkpoint.group)]


def newest_checkpoints(target: Settings, alias: str, group: str) -> dict[TopicPartition, Checkpoint]:
    """What MirrorMaker 2's client takes for the positions of a group: the last checkpoint of each partition."""
    return {checkpoint.target: checkpoint for checkpoint in checkpoints_of(target, alias, group=group)}


def syncs_of(target: Settings, alias: str, topic: str) -> list[OffsetSync]:
    """Offset syncs of a source topic, as they were written."""
    found = [OffsetSync.decode(each.key, each.value) for each in _records(target, f"mm2-offset-syncs.{alias}.internal")]
    return [sync for sync in found if sync.topic == topic]


def _records(cluster: Settings, topic: str) -> Iterator[Message]:
    for _, message in read_committed(cluster, AdminClient({**cluster}), TopicPartition(topic, 0)):
        yield message
