"""Bounded reads of one partition: a state topic to its end, or the visible records of a range."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
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
from airflow_provider_mm2.mirror.clusters.confluent.send import headers_of
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import SettingRefused
from airflow_provider_mm2.mirror.model import Record, TopicPartition

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

    def records(
        self, partition: TopicPartition, start: int, end: int | None, tick: Tick
    ) -> Generator[Message, None, None]:
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
                else:
                    self._raise_lasting(error, partition)
            self._raise_silent(heard)

    def _raise_lasting(self, error: KafkaError, partition: TopicPartition) -> None:
        """Raise what does not pass by itself; the rights on the group do not matter to a reader without one."""
        if not is_away(error) and error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            raise translate(error, alias=self._alias, operation=f"read {partition}", topic=partition.topic)

    def _raise_silent(self, heard: float) -> None:
        self._watch.raise_refused()
        if time.monotonic() - heard > READ_LIMIT_S:
            raise self._watch.unreachable(READ_LIMIT_S)

    def present(self, offsets: Mapping[TopicPartition, int], *, aborted: bool, tick: Tick) -> dict[TopicPartition, int]:
        """Timestamps of the records at the very offsets given, where there are any; all are asked for at once.

        :param aborted: whether the record of an aborted transaction counts.
        """
        waiting, found = dict(offsets), dict[TopicPartition, int]()
        isolation = "read_uncommitted" if aborted else "read_committed"
        with closing(self._new({"isolation.level": isolation})) as consumer:
            consumer.assign([KafkaPartition(*partition, offset) for partition, offset in offsets.items()])
            heard = time.monotonic()
            while waiting:
                tick()
                for message in _next_batch(consumer):
                    heard = time.monotonic()
                    partition = TopicPartition(message.topic() or "", message.partition() or 0)
                    error, offset = message.error(), waiting.get(partition)
                    if error is not None and error.code() != KafkaError._PARTITION_EOF:
                        self._raise_lasting(error, partition)
                    elif waiting.pop(partition, None) is not None and error is None and message.offset() == offset:
                        found[partition] = message.timestamp()[1]
                self._raise_silent(heard)
        return found

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
            self._consumer, self._topic = self._new({}), topic
        return self._consumer

    def _new(self, overrides: Settings) -> Consumer:
        settings = {**state_reader_settings(self._settings, group="mm2.reader"), **overrides}
        config: dict[str, Any] = {**settings, "error_cb": self._watch}
        try:
            return Consumer(config, logger=client_log)
        except (KafkaException, ValueError, TypeError) as error:
            raise SettingRefused(alias=self._alias, problem=refusal(error)) from error

    def close(self) -> None:
        """Let the consumer go."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


def record_of(message: Message, partition: TopicPartition) -> Record:
    """A message with all that a mirror carries over.

    :raises HeaderUnfaithful: a header key is not UTF-8.
    """
    (headers,) = headers_of([message], partition)
    return Record(
        offset=message.offset() or 0,
        key=bytes_of(message.key()),
        value=bytes_of(message.value()),
        headers=tuple((name, bytes_of(value)) for name, value in headers or ()),
        timestamp_ms=message.timestamp()[1],
    )


def bytes_of(value: object) -> bytes | None:
    """A key or value as bytes; the client's types say that it may be text."""
    return value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else None


def _next_batch(consumer: Consumer) -> list[Message]:
    """What has come, without waiting for more: ``consume`` alone sits out its time-out for the batch to fill up."""
    first = consumer.poll(0.1)
    return [] if first is None else [first, *consumer.consume(1000, 0)]
