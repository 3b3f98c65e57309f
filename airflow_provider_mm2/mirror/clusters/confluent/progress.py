"""The client bound to a flow's progress group: it never joins, and reads only stable offsets."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.clusters.config import Settings, progress_settings
from airflow_provider_mm2.mirror.clusters.confluent.failures import (
    FailureWatch,
    client_log,
    is_away,
    kafka_error,
    refusal,
    translate,
)
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import SettingRefused
from airflow_provider_mm2.mirror.model import TopicPartition

COMMITTED_LIMIT_S = 70.0
"""An abandoned transaction keeps offsets unreadable until it is fenced or times out (60 s by default)."""


class ProgressClient:
    """A consumer that is never subscribed: committed offsets, and the metadata that a transaction wants."""

    def __init__(self, *, alias: str, settings: Settings, group: str, watch: FailureWatch) -> None:
        self._alias = alias
        self._group = group
        self._watch = watch
        config: dict[str, Any] = {**progress_settings(settings, group=group), "error_cb": watch}
        try:
            self._consumer = Consumer(config, logger=client_log)
        except (KafkaException, ValueError, TypeError) as error:
            raise SettingRefused(alias=alias, problem=refusal(error)) from error

    def metadata(self) -> object:
        """Group metadata without a generation, as a group without members needs it."""
        return self._consumer.consumer_group_metadata()

    def committed(self, partitions: Collection[TopicPartition], tick: Tick) -> dict[TopicPartition, int]:
        """Stable offsets; a partition without one is left out.

        :raises KafkaBusy: an open transaction keeps them unreadable, or the coordinator is away.
        """
        if not partitions:
            return {}
        asked = [KafkaPartition(part.topic, part.partition) for part in partitions]
        deadline = time.monotonic() + COMMITTED_LIMIT_S
        while True:
            tick()
            try:
                answer = self._consumer.committed(asked, timeout=0.5)
                failed = next((part.error for part in answer if part.error is not None), None)
                if failed is not None:
                    raise KafkaException(failed)
            except KafkaException as error:
                self._watch.raise_refused()
                if not is_away(kafka_error(error)) or time.monotonic() > deadline:
                    raise translate(
                        error, alias=self._alias, operation=f"read the offsets of group {self._group!r}"
                    ) from error
            else:
                return _present(answer)

    def close(self) -> None:
        """Let the consumer go."""
        self._consumer.close()


def _present(answer: Collection[KafkaPartition]) -> dict[TopicPartition, int]:
    return {TopicPartition(part.topic, part.partition): part.offset for part in answer if part.offset >= 0}
