"""Bounded reads of one partition: a state topic to its end, or the visible records of a range."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.clusters.config import Settings, state_reader_settings
from airflow_provider_mm2.mirror.clusters.confluent.failures import (
    FailureWatch,
    client_log,
    is_away,
    refusal,
    translate,
)
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import SettingRefused
from airflow_provider_mm2.mirror.model import TopicPartition

READ_LIMIT_S = 30.0
"""Longest silence of a broker during a bounded read."""


class RangeReader:
    """A ``read_committed`` consumer for small reads, made when it is first needed, and anew for another topic.

    A client that is assigned a topic it does not know yet asks for its leader only once a second; a new client asks
    at once and is there in 20 ms.
    """

    def __init__(self, *, alias: str, settings: Settings, watch: FailureWatch) -> None:
        self._alias = alias
        self._settings = settings
        self._watch = watch
        self._consumer: Consumer | None = None
        self._topic: str | None = None

    def records(self, partition: TopicPartition, start: int, end: int | None, tick: Tick) -> Iterator[Message]:
        """Visible records of ``[start, end)``; with ``end`` None up to the log's current end.

        The broker itself says where the end is (a PARTITION_EOF, which also passes aborted tails and markers), so
        no end taken earlier can hide a record that the cleaner has moved meanwhile.
        """
        if end is not None and end <= start:
            return
        with self._assigned(partition, start) as consumer:
            yield from self._read(consumer, partition, end, tick)

    def _read(self, consumer: Consumer, partition: TopicPartition, end: int | None, tick: Tick) -> Iterator[Message]:
        heard = time.monotonic()
        while True:
            tick()
            messages = _next_batch(consumer)
            if messages:
                heard = time.monotonic()
            for message in messages:
                error = message.error()
                if error is None:
                    if end is not None and (message.offset() or 0) >= end:
                        return
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    if end is None or (message.offset() or 0) >= end:
                        return
                elif not is_away(error) and error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
                    raise translate(error, alias=self._alias, operation=f"read {partition}", topic=partition.topic)
            self._watch.raise_refused()
            if time.monotonic() - heard > READ_LIMIT_S:
                raise self._watch.unreachable(READ_LIMIT_S)

    @contextmanager
    def _assigned(self, partition: TopicPartition, start: int) -> Iterator[Consumer]:
        consumer = self._made(partition.topic)
        # At a number, not OFFSET_BEGINNING: the look-up behind that takes half a second a topic.
        consumer.assign([KafkaPartition(partition.topic, partition.partition, start)])
        try:
            yield consumer
        finally:
            consumer.unassign()

    def _made(self, topic: str) -> Consumer:
        if topic != self._topic:
            self.close()
        if self._consumer is None:
            config: dict[str, Any] = {
                **state_reader_settings(self._settings, group="mm2.reader"),
                "error_cb": self._watch,
            }
            try:
                self._consumer = Consumer(config, logger=client_log)
            except (KafkaException, ValueError, TypeError) as error:
                raise SettingRefused(alias=self._alias, problem=refusal(error)) from error
            self._topic = topic
        return self._consumer

    def close(self) -> None:
        """Let the consumer go."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


def _next_batch(consumer: Consumer) -> list[Message]:
    """What has come, without waiting for more: ``consume`` alone sits out its time-out for the batch to fill up."""
    first = consumer.poll(0.1)
    return [] if first is None else [first, *consumer.consume(1000, 0)]
