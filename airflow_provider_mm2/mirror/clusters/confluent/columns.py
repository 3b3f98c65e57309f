"""Reading all of a partition's range as columns, at the speed of the copy engine's consumer.

No line of Python a message: a batch becomes four lists by four passes in C, and is cut where its offsets break.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.clusters.config import Settings, copy_reader_settings
from airflow_provider_mm2.mirror.clusters.confluent.admin import Admin
from airflow_provider_mm2.mirror.clusters.confluent.batch import source_pieces
from airflow_provider_mm2.mirror.clusters.confluent.failures import client_log, is_away, refusal, translate
from airflow_provider_mm2.mirror.clusters.confluent.send import headers_of, timestamps_of
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import SettingRefused
from airflow_provider_mm2.mirror.model import Columns, TopicPartition

READ_LIMIT_S = 30.0
"""Longest silence of a broker while a range is not read to its end."""

BATCH_BYTES = 750_000
BATCH_COUNTS = (25, 1_000)
"""As in the copy engine: a batch is gone over several times, so it had better stay in the processor's cache."""

WAIT_S = 0.05
TICK_S = 0.1

LARGEST_RECORD = 1_000_000_000
"""A limit alone: one partition is read at a time, and a megabyte of it, unless one record is larger."""

QUEUED: Settings = {"queued.min.messages": 100_000}
"""Fetched ahead by a consumer: with the copy engine's million two readers of small records hold 350 MB instead of 165,
and are no faster."""

IDLE_KEPT = 4
_OUT_OF_RANGE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
_Kind = tuple[str, bool]


class ColumnReader:
    """Reads ranges, several at once; a consumer that has ended its read serves the next one of the same topic.

    A client that is assigned a topic it does not know yet asks for its leader only once a second, so none is taken
    from one topic to another.
    """

    def __init__(self, *, alias: str, settings: Settings, admin: Admin) -> None:
        self._alias = alias
        self._settings = settings
        self._admin = admin
        self._idle: list[tuple[_Kind, Consumer]] = []

    def read(
        self, partition: TopicPartition, start: int, end: int, tick: Tick, *, aborted: bool
    ) -> Generator[Columns, None, None]:
        """Records of ``[start, end)``, as far as they are there."""
        log = self._admin.log_offsets([partition])[partition]
        start, end = max(start, log.start), min(end, log.end if aborted else log.stable)
        if start >= end:
            return
        with self._taken((partition.topic, aborted)) as consumer:
            yield from _Reading(self._admin, self._alias, consumer, partition, end).batches(start, tick)

    @contextmanager
    def _taken(self, kind: _Kind) -> Iterator[Consumer]:
        """A consumer for one read; it is kept for the next one unless the read failed."""
        place = next((place for place, (of, _) in enumerate(self._idle) if of == kind), None)
        consumer = self._new(aborted=kind[1]) if place is None else self._idle.pop(place)[1]
        try:
            with suppress(GeneratorExit):  # the caller has read enough
                yield consumer
        except BaseException:
            consumer.close()
            raise
        consumer.unassign()
        self._idle.append((kind, consumer))
        while len(self._idle) > IDLE_KEPT:
            self._idle.pop(0)[1].close()

    def _new(self, *, aborted: bool) -> Consumer:
        tuned = copy_reader_settings(self._settings, group="mm2.reader", max_record_bytes=LARGEST_RECORD)
        isolation = "read_uncommitted" if aborted else "read_committed"
        config: dict[str, Any] = {**tuned, **QUEUED, "isolation.level": isolation, "error_cb": self._admin.watch}
        try:
            return Consumer(config, logger=client_log)
        except (KafkaException, ValueError, TypeError) as error:
            raise SettingRefused(alias=self._alias, problem=refusal(error)) from error

    def close(self) -> None:
        """Let the idle consumers go."""
        while self._idle:
            self._idle.pop()[1].close()


class _Reading:
    """One range, batch by batch."""

    def __init__(self, admin: Admin, alias: str, consumer: Consumer, partition: TopicPartition, end: int) -> None:
        self._admin = admin
        self._alias = alias
        self._consumer = consumer
        self._partition = partition
        self._end = end
        self._mean_bytes = 1_000
        self._is_over = False

    def batches(self, position: int, tick: Tick) -> Iterator[Columns]:
        """Read from a position on until the end, or the log's own end behind it, was seen."""
        self._assign(position)
        heard = ticked = time.monotonic()
        tick()
        while not self._is_over:
            pieces = self._next(position)
            now = time.monotonic()
            if now - ticked > TICK_S:
                tick()
                ticked = now
            if pieces:
                heard, position = now, pieces[-1].end
                yield from pieces
                heard = max(heard, time.monotonic() - TICK_S)  # what the caller took for itself is no silence
            elif now - heard > READ_LIMIT_S:
                raise self._admin.watch.unreachable(READ_LIMIT_S)

    def _assign(self, position: int) -> None:
        self._consumer.assign([KafkaPartition(self._partition.topic, self._partition.partition, position)])

    def _next(self, position: int) -> list[Columns]:
        """What comes next; nothing where nothing came for a moment."""
        low, high = BATCH_COUNTS
        wanted = max(low, min(high, BATCH_BYTES // self._mean_bytes))
        messages = self._consumer.consume(min(wanted, max(1, self._end - position)), WAIT_S)
        self._admin.watch.raise_refused()
        times = timestamps_of(messages)
        is_plain = bool(messages) and min(times) > 0 and (messages[-1].offset() or 0) < self._end
        if not is_plain:
            messages = self._readable(messages, position)
            times = timestamps_of(messages)
        return self._columns(messages, times) if messages else []

    def _readable(self, messages: list[Message], position: int) -> list[Message]:
        """The records among what the client gave, up to the range's end."""
        taken: list[Message] = []
        for message in messages:
            error, offset = message.error(), message.offset() or 0
            if error is not None:
                self._take_error(error, offset, taken[-1].offset() if taken else position)
            elif offset >= self._end:
                self._is_over = True
            else:
                taken.append(message)
        return taken

    def _take_error(self, error: KafkaError, offset: int, position: int | None) -> None:
        """See the range's end; go on behind what retention took; wait where waiting helps.

        :raises MirrorError: it is anything else.
        """
        if error.code() == KafkaError._PARTITION_EOF:
            self._is_over = self._is_over or offset >= self._end
        elif error.code() in _OUT_OF_RANGE:
            start = self._admin.log_offsets([self._partition])[self._partition].start
            if start <= (position or 0):
                raise translate(error, alias=self._alias, operation=f"read {self._partition}")
            self._is_over = start >= self._end
            self._assign(start)
        elif not is_away(error) and error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            topic = self._partition.topic
            raise translate(error, alias=self._alias, operation=f"read {self._partition}", topic=topic)

    def _columns(self, messages: list[Message], times: list[int]) -> list[Columns]:
        keys: list[Any] = list(map(Message.key, messages))
        values: list[Any] = list(map(Message.value, messages))
        headers = headers_of(messages, self._partition)
        self._mean_bytes = max(100, len(b"".join(filter(None, values[:: len(values) // 8 + 1]))) // 8)  # of a few
        pieces = source_pieces(messages)
        self._is_over = self._is_over or sum(pieces[-1]) >= self._end
        if len(pieces) == 1:
            return [Columns(start=pieces[0][0], keys=keys, values=values, headers=headers, timestamps=times)]
        found: list[Columns] = []
        place = 0
        for start, count in pieces:
            part = slice(place, place + count)
            found.append(
                Columns(
                    start=start, keys=keys[part], values=values[part], headers=headers[part], timestamps=times[part]
                )
            )
            place += count
        return found
