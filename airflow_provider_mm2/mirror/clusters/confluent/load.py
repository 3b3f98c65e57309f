"""Applications of a drill on real clusters: producers of numbered records, and members of consumer groups.

They are as plain as an application of a user: what a drill measures must not depend on the mirror's own clients.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from airflow_provider_mm2.mirror.clusters.applications import CopyLimit, Written
from airflow_provider_mm2.mirror.clusters.config import (
    Settings,
    application_reader_settings,
    application_writer_settings,
)
from airflow_provider_mm2.mirror.clusters.confluent.application_thread import (
    LASTING,
    STOP_LIMIT_S,
    ApplicationThread,
)
from airflow_provider_mm2.mirror.clusters.confluent.copy_reader import GroupCopyReader
from airflow_provider_mm2.mirror.clusters.confluent.failures import client_log
from airflow_provider_mm2.mirror.model import TopicPartition

BURST = 20
"""Records for each partition at a time: one transaction, or one batch."""

ABORTED_EVERY = 5


class LoadWriter:
    """See :class:`airflow_provider_mm2.mirror.clusters.applications.Writer`."""

    def __init__(
        self,
        settings: Settings,
        topic: str,
        partitions: int,
        *,
        transactional_id: str | None,
        pause_s: float,
        first: int,
    ) -> None:
        self._settings: dict[str, Any] = application_writer_settings(settings)
        if transactional_id is not None:
            self._settings["transactional.id"] = transactional_id
        self._topic = topic
        self._is_transactional = transactional_id is not None
        self._pause_s = pause_s
        self._following = dict.fromkeys(range(partitions), first)
        self._written = Written()
        self._thread = ApplicationThread(self._write)
        self.count = 0

    @property
    def problem(self) -> str | None:
        """Why it has ended by itself."""
        return self._thread.problem

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> Written:
        """Stop, and give what was acknowledged."""
        self._thread.stop()
        return self._written

    def _write(self) -> None:
        producer = Producer(self._settings, logger=client_log)
        if self._is_transactional:
            producer.init_transactions(STOP_LIMIT_S)
        bursts = 0
        while not self._thread.stopping.is_set():
            bursts += 1
            self._burst(producer, aborts=self._is_transactional and bursts % ABORTED_EVERY == 0)
            self._thread.stopping.wait(self._pause_s)

    def _burst(self, producer: Producer, *, aborts: bool) -> None:
        """Write some records to each partition; those of an aborted transaction are written again in the next."""
        sent: list[tuple[int, int, int]] = []
        if self._is_transactional:
            producer.begin_transaction()
        for partition, first in self._following.items():
            for number in range(first, first + BURST):
                producer.produce(
                    self._topic,
                    str(number).encode(),
                    b"%d" % partition,
                    partition,
                    on_delivery=partial(_note, sent, partition, number),
                )
        if aborts:
            producer.flush(STOP_LIMIT_S)
            producer.abort_transaction(STOP_LIMIT_S)
            return
        if self._is_transactional:
            producer.commit_transaction(STOP_LIMIT_S)
        else:
            producer.flush(STOP_LIMIT_S)
        for partition, number, stamp in sent:
            part = TopicPartition(self._topic, partition)
            self._written.numbers.setdefault(part, []).append(number)
            self._written.stamps.setdefault(part, []).append(stamp)
        self.count += len(sent)
        self._following = {partition: first + BURST for partition, first in self._following.items()}


class GroupReader:
    """See :class:`airflow_provider_mm2.mirror.clusters.applications.Reader`."""

    def __init__(self, settings: Settings, group: str, topics: Collection[str], *, protocol: str) -> None:
        self._settings: dict[str, Any] = application_reader_settings(settings, group=group, protocol=protocol)
        self._topics = list(topics)
        self._read: dict[TopicPartition, list[int]] = {}
        self._thread = ApplicationThread(self._loop)
        self.count = 0
        self.first_ms: int | None = None

    @property
    def problem(self) -> str | None:
        """Why it has ended by itself."""
        return self._thread.problem

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> Mapping[TopicPartition, Sequence[int]]:
        """Commit, leave, and give what was read."""
        self._thread.stop()
        return self._read

    def _loop(self) -> None:
        consumer = Consumer(self._settings, logger=client_log)
        consumer.subscribe(self._topics)
        try:
            while not self._thread.stopping.is_set():
                self._take(consumer)
        finally:
            consumer.close()

    def _take(self, consumer: Consumer) -> None:
        messages = consumer.consume(500, 0.1)
        good = [message for message in messages if message.error() is None]
        for message in messages:
            error = message.error()
            if error is not None and error.code() in LASTING:
                raise KafkaException(error)
        for message in good:
            part = TopicPartition(message.topic() or "", message.partition() or 0)
            self._read.setdefault(part, []).append(int(message.value() or b"-1"))
        if good:
            self.first_ms = self.first_ms or int(time.time() * 1000)
            consumer.commit(asynchronous=False)
            self.count += len(good)


class ConfluentApplications:
    """See :class:`airflow_provider_mm2.mirror.clusters.applications.Applications`.

    :param settings: what the user gives for this cluster.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def writer(
        self, topic: str, partitions: int, *, transactional_id: str | None, pause_s: float, first: int
    ) -> LoadWriter:
        """A producer."""
        return LoadWriter(
            self._settings, topic, partitions, transactional_id=transactional_id, pause_s=pause_s, first=first
        )

    def reader(self, group: str, topics: Collection[str], *, protocol: str) -> GroupReader:
        """A member of a group."""
        return GroupReader(self._settings, group, topics, protocol=protocol)

    def copy_reader(
        self, group: str, ends: Mapping[TopicPartition, int], *, protocol: str, limit: CopyLimit
    ) -> GroupCopyReader:
        """A member of a copy of a group."""
        return GroupCopyReader(self._settings, group, ends, protocol=protocol, limit=limit)


def _note(
    sent: list[tuple[int, int, int]], partition: int, number: int, error: KafkaError | None, message: Message
) -> None:
    if error is None:
        sent.append((partition, number, message.timestamp()[1]))
