"""What an error among the source's messages means: retention, truncation, a deleted topic, trouble that passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, Message

from airflow_provider_mm2.mirror.clusters.confluent.failures import is_away, translate
from airflow_provider_mm2.mirror.errors import SourceGap, SourceTruncated
from airflow_provider_mm2.mirror.model import TopicPartition

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.confluent.cluster import ConfluentCluster

_OUT_OF_RANGE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION)


def raise_general(alias: str, messages: Iterable[Message]) -> None:
    """Raise for errors that belong to no partition.

    The client asks for a coordinator of its group, which we never use, so a missing right to it is nothing.

    :raises MirrorError: not connection trouble.
    """
    for message in messages:
        error = message.error()
        if error is not None and not is_away(error) and error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            raise translate(error, alias=alias, operation="read the source", topic=message.topic())


def raise_of_partition(cluster: ConfluentCluster, source: TopicPartition, position: int, error: KafkaError) -> None:
    """Raise for an error of one partition, read up to ``position``.

    :raises SourceGap: the records at the position were deleted.
    :raises SourceTruncated: the log ends before the position, or has another history.
    :raises MirrorError: anything else but connection trouble.
    """
    if error.code() in _OUT_OF_RANGE:
        ends = cluster.log_offsets([source])[source]
        if ends.start > position:
            raise SourceGap(topic=source.topic, partition=source.partition, start=position, end=ends.start)
        raise SourceTruncated(topic=source.topic, partition=source.partition, progress=position, end=ends.end)
    if not is_away(error):
        raise translate(error, alias=cluster.alias, operation=f"read {source}", topic=source.topic)
