"""The member of a copy of a consumer group: as plain as an application, but that it knows where to end."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.clusters.applications import CopyLimit, CopyRead
from airflow_provider_mm2.mirror.clusters.config import Settings, application_reader_settings
from airflow_provider_mm2.mirror.clusters.confluent.application_thread import LASTING, ApplicationThread
from airflow_provider_mm2.mirror.clusters.confluent.batch import source_pieces
from airflow_provider_mm2.mirror.clusters.confluent.failures import client_log
from airflow_provider_mm2.mirror.clusters.confluent.send import bytes_beside_value, headers_of, timestamps_of
from airflow_provider_mm2.mirror.model import Columns, TopicPartition


class GroupCopyReader:
    """See :class:`airflow_provider_mm2.mirror.clusters.applications.CopyReader`."""

    def __init__(
        self,
        settings: Settings,
        group: str,
        ends: Mapping[TopicPartition, int],
        *,
        protocol: str,
        limit: CopyLimit,
    ) -> None:
        plain = application_reader_settings(settings, group=group, protocol=protocol)
        self._settings: dict[str, Any] = {**plain, "enable.partition.eof": True}
        self._ends = dict(ends)
        self._limit = limit
        self._left = dict.fromkeys(ends, limit.records)
        self._bytes = 0
        self._waiting = set(ends)
        self._read: dict[TopicPartition, list[Message]] = {}
        self._cut: set[TopicPartition] = set()
        self._thread = ApplicationThread(self._loop)
        self.count = 0
        self.at_work_ms: int | None = None

    @property
    def is_done(self) -> bool:
        """Whether every partition is read to its end, or up to a limit."""
        return not self._waiting

    @property
    def problem(self) -> str | None:
        """Why it has ended by itself."""
        return self._thread.problem

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> CopyRead:
        """Leave, and give what was read."""
        self._thread.stop()
        columns = {part: columns_of(messages, part) for part, messages in self._read.items()}
        return CopyRead(columns=columns, cut=frozenset(self._cut))

    def _loop(self) -> None:
        consumer = Consumer(self._settings, logger=client_log)
        consumer.subscribe(sorted({part.topic for part in self._ends}))
        try:
            while self._waiting and not self._thread.stopping.is_set():
                self._take(consumer)
        finally:
            consumer.close()

    def _take(self, consumer: Consumer) -> None:
        first = consumer.poll(0.1)
        taken: dict[TopicPartition, int] = {}
        for message in [] if first is None else [first, *consumer.consume(500, 0)]:
            part, error = TopicPartition(message.topic() or "", message.partition() or 0), message.error()
            if error is None and self._keeps(part, message):
                taken[part] = (message.offset() or 0) + 1
            elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                self._leave(part)
            elif error is not None and error.code() in LASTING:
                raise KafkaException(error)
            if part not in self._waiting and part in self._ends:
                consumer.pause([KafkaPartition(*part)])
        if taken:
            consumer.commit(
                offsets=[KafkaPartition(*part, offset) for part, offset in taken.items()], asynchronous=False
            )

    def _keeps(self, part: TopicPartition, message: Message) -> bool:
        """Take a record, unless it lies behind the end."""
        if part not in self._waiting:
            return False
        offset, end = message.offset() or 0, self._ends[part]
        if offset >= end:
            self._leave(part)
            return False
        self._seen()
        self._read.setdefault(part, []).append(message)
        self._left[part] -= 1
        self.count += 1
        self._bytes += len(message.value() or b"") + bytes_beside_value(message, None)
        if offset + 1 == end:
            self._leave(part)
        elif self._bytes >= self._limit.bytes:
            self._cut |= self._waiting
            self._waiting.clear()
        elif self._left[part] <= 0:
            self._cut.add(part)
            self._leave(part)
        return True

    def _leave(self, part: TopicPartition) -> None:
        self._seen()
        self._waiting.discard(part)

    def _seen(self) -> None:
        self.at_work_ms = self.at_work_ms or int(time.time() * 1000)


def columns_of(messages: Sequence[Message], part: TopicPartition) -> list[Columns]:
    """Records of one partition as columns.

    :raises HeaderUnfaithful: a header key is not UTF-8.
    """
    given = list(messages)
    keys: list[Any] = list(map(Message.key, given))
    values: list[Any] = list(map(Message.value, given))
    headers, times = headers_of(given, part), timestamps_of(given)
    found: list[Columns] = []
    place = 0
    for start, count in source_pieces(given):
        cut = slice(place, place + count)
        found.append(
            Columns(start=start, keys=keys[cut], values=values[cut], headers=headers[cut], timestamps=times[cut])
        )
        place += count
    return found
