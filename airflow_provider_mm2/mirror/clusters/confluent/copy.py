"""The copy engine on confluent-kafka: consume in batches, produce, map offsets by two deliveries.

What makes it fast: batches of about 0.75 MB, runs that are sent on without a line of Python a message, delivery
callbacks on the first and last message of a run only, and a garbage collector that is off while it copies.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.clusters.config import copy_reader_settings
from airflow_provider_mm2.mirror.clusters.confluent.batch import PartitionCopy
from airflow_provider_mm2.mirror.clusters.confluent.failures import (
    client_log,
    kafka_error,
    refusal,
)
from airflow_provider_mm2.mirror.clusters.confluent.oversize import find_too_large, largest_of
from airflow_provider_mm2.mirror.clusters.confluent.send import (
    bytes_beside_value,
    headers_of,
    send_run,
    split_runs,
    timestamps_of,
)
from airflow_provider_mm2.mirror.clusters.confluent.sending import Sending
from airflow_provider_mm2.mirror.clusters.confluent.source_errors import raise_general, raise_of_partition
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import (
    DeliveryFailed,
    MirrorError,
    RecordRefused,
    RecordTooLarge,
    RetriableError,
    SettingRefused,
    SourceSilent,
    TopicDeleted,
    TransactionFailed,
)
from airflow_provider_mm2.mirror.model import ChunkLimits, CopiedRange, CopierSettings, CopyRange, TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.confluent.cluster import ConfluentCluster

FUTURE_MS = 5 * 60 * 1000
"""A record stamped later than this beyond now never cuts an interval."""

BATCH_BYTES = 750_000
BATCH_COUNTS = (25, 1_000)
"""A batch is gone over several times, so it had better stay in the processor's cache."""
IN_FLIGHT_BYTES = 64 * 1024 * 1024
POLL_S = 0.05
TICK_S = 0.1
"""How often a copy that never waits looks up: done at each batch of large records it cost 3%."""


class ConfluentCopier:
    """See :class:`airflow_provider_mm2.mirror.clusters.ports.Copier`."""

    def __init__(
        self,
        *,
        source: Callable[[], ConfluentCluster],
        target: ConfluentCluster,
        settings: CopierSettings,
        sending: Sending,
    ) -> None:
        self._source = source
        self._target = target
        self._settings = settings
        self._sending = sending
        self._producer = sending.producer
        self._consumer: Consumer | None = None
        self._parts: dict[TopicPartition, PartitionCopy] = {}
        self._open: set[TopicPartition] = set()
        self._one_topic = True
        self._targets: list[TopicPartition] = []
        self._heard = time.monotonic()
        self._mean_bytes = 1_000

    def fence(self, tick: Tick) -> None:
        """Step 2."""
        self._sending.fence(tick)

    def assign(self, ranges: Sequence[CopyRange], now_ms: int) -> None:
        """Step 4: start reading what is not at its bound."""
        self._parts = {item.source: PartitionCopy(item, now_ms + FUTURE_MS) for item in ranges}
        self._open = {item.source for item in ranges}
        self._one_topic = len({item.source.topic for item in ranges}) == 1
        self._targets = [item.target for item in ranges]
        self._heard = time.monotonic()  # over all chunks: each is shorter than the limit on silence
        if ranges:
            self._consumer = self._make_consumer()
            self._consumer.assign([_placed(item) for item in ranges])

    def begin(self) -> None:
        """Step 5."""
        self._sending.begin()
        for part in self._parts.values():
            part.begin_chunk()

    def copy(self, limits: ChunkLimits, tick: Tick) -> None:
        """Step 5."""
        with self._explained(tick), _collector_off():
            self._copy(limits, tick)

    def _copy(self, limits: ChunkLimits, tick: Tick) -> None:
        deadline, copied, ticked = time.monotonic() + limits.seconds, 0, 0.0
        while self._open and copied < limits.bytes and (now := time.monotonic()) < deadline:
            if now - ticked > TICK_S:
                tick()
                ticked = now
            self._let_drain(tick)
            messages = self._consume()
            if messages:
                self._heard = time.monotonic()
                copied += self._take(messages)
                del messages  # the next batch takes its place in memory, which is still in the cache
            elif time.monotonic() - self._heard > self._settings.silence_limit_s:
                self._raise_silent()
            self._sending.serve(0)

    def _raise_silent(self) -> None:
        """The client says nothing of a topic that was deleted or a broker that is gone; asking tells."""
        self._source().log_offsets(self._open)
        waiting = tuple(
            f"{part} at {self._parts[part].position} of {self._parts[part].range.end}" for part in sorted(self._open)
        )
        raise SourceSilent(seconds=self._settings.silence_limit_s, waiting=waiting)

    def flush(self, tick: Tick) -> Sequence[CopiedRange]:
        """Step 6."""
        with self._explained(tick):
            self._sending.flush(tick)
            errors = [run.error for part in self._parts.values() for run in part.runs if run.error is not None]
            if any(error.code() == KafkaError.MSG_SIZE_TOO_LARGE for error in errors):
                raise self._too_large(tick)
            return [part.copied(self._sending) for part in self._parts.values()]

    def add(self, records: Sequence[StateRecord], progress: Mapping[TopicPartition, int], tick: Tick) -> None:
        """Step 7."""
        self._targets = list(progress)
        with self._explained(tick):
            self._sending.add(records, progress, tick)

    def commit(self, tick: Tick) -> None:
        """Step 8, first half."""
        with self._explained(tick):
            self._sending.commit(tick)

    @contextmanager
    def _explained(self, tick: Tick) -> Iterator[None]:
        """A record refused in the middle of a run has no callback: the transaction's failure alone tells."""
        try:
            yield
        except (TransactionFailed, DeliveryFailed) as failed:
            runs = (run for part in self._parts.values() for run in part.runs)
            codes = {self._sending.failed_code, *(run.error.code() for run in runs if run.error is not None)}
            if KafkaError.MSG_SIZE_TOO_LARGE in codes:
                raise self._too_large(tick) from failed
            if not codes.isdisjoint((KafkaError.INVALID_TIMESTAMP, KafkaError.INVALID_RECORD)):
                written = ", ".join(sorted({part.range.target.topic for part in self._parts.values() if part.runs}))
                raise RecordRefused(target_topic=written, problem=failed.problem) from failed
            self._raise_deleted()
            raise

    def _raise_deleted(self) -> None:
        """Deliveries to a topic that was deleted only time out; asking tells."""
        names = {part.topic for part in self._targets}
        try:
            there = self._target.describe_topics(names)
        except RetriableError:
            return  # nobody answers: then the failure itself says as much
        for name in sorted(names - set(there)):
            raise TopicDeleted(alias=self._target.alias, topic=name)

    def _too_large(self, tick: Tick) -> RecordTooLarge:
        return find_too_large(self._source(), self._target, list(self._parts.values()), tick)

    def see(
        self, progress: Mapping[TopicPartition, int], mapped_ends: Mapping[TopicPartition, int], tick: Tick
    ) -> None:
        """Step 8, second half."""
        self._sending.see(progress, mapped_ends, tick)

    def abort(self) -> None:
        """End the open transaction, if its commit is not out."""
        self._sending.abort()

    def close(self) -> None:
        """Let the clients go."""
        self._sending.abort()
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _make_consumer(self) -> Consumer:
        config: dict[str, Any] = {
            **copy_reader_settings(
                self._source().settings,
                group=self._settings.progress_group,
                max_record_bytes=self._settings.max_record_bytes,
            ),
            "error_cb": self._source().admin.watch,
        }
        try:
            return Consumer(config, logger=client_log)
        except (KafkaException, ValueError, TypeError) as error:
            raise SettingRefused(alias=self._source().alias, problem=refusal(error)) from error

    def _consume(self) -> list[Message]:
        if self._consumer is None:
            return []
        low, high = BATCH_COUNTS
        count = max(low, min(high, BATCH_BYTES // max(1, self._mean_bytes)))
        return self._consumer.consume(count, POLL_S)

    def _let_drain(self, tick: Tick) -> None:
        """Wait while more is in flight than memory is meant for."""
        while len(self._producer) * self._mean_bytes > IN_FLIGHT_BYTES:
            self._sending.serve(POLL_S)
            tick()
            self._sending.check()

    def _take(self, messages: list[Message]) -> int:
        """Send on what counts of a batch; how many bytes that were, about."""
        self._source().admin.watch.raise_refused()
        sent = 0
        for source, run in split_runs(messages, one_topic=self._one_topic):
            part = self._parts.get(source)
            if part is None:
                raise_general(self._source().alias, run)
            elif part.ended is None:
                sent += self._take_run(part, run)
        self._mean_bytes = max(100, sent // len(messages)) if sent else self._mean_bytes
        return sent

    def _take_run(self, part: PartitionCopy, run: list[Message]) -> int:
        times = timestamps_of(run)
        first, last = run[0].offset() or 0, run[-1].offset() or 0
        error: KafkaError | None = None
        if not part.is_plain(first, last, times):
            run, times, error = part.accept(run, times)
        size = self._send(part, run, times) if run else 0
        if error is not None:
            raise_of_partition(self._source(), part.range.source, part.position, error)
        if part.ended is not None and part.range.source in self._open:
            self._open.discard(part.range.source)
            if self._consumer is not None:
                self._consumer.incremental_unassign([_placed(part.range)])
        return size

    def _send(self, part: PartitionCopy, run: list[Message], times: list[int]) -> int:
        headers, values = headers_of(run, part.range.source), list(map(Message.value, run))
        size = sum(map(len, filter(None, values)))
        try:
            every, others = self._settings.shared_target, self._sending.delivered
            sent = send_run(self._producer, part.range.target, run, times, headers, values, others=others, every=every)
        except KafkaException as error:
            raise self._send_failure(part, run, error) from error
        part.sent(sent, (run[-1].offset() or 0) + 1, size, run[-1].leader_epoch())
        return size + len(run) * bytes_beside_value(run[-1], headers[-1])

    def _send_failure(self, part: PartitionCopy, run: list[Message], error: KafkaException) -> MirrorError:
        if kafka_error(error).code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return largest_of(part.range.source, run)
        return self._sending.failure(error, f"produce to {part.range.target}")


def _placed(range_: CopyRange) -> KafkaPartition:
    """The start of a range, with the epoch of the record before it where known: a truncated log is then told."""
    epoch = -1 if range_.leader_epoch is None else range_.leader_epoch
    return KafkaPartition(range_.source.topic, range_.source.partition, range_.start, leader_epoch=epoch)


@contextmanager
def _collector_off() -> Iterator[None]:
    """No cyclic collection while messages pass through: they make no cycles, and looking costs a fifth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect(0)
        if was_on:
            gc.enable()
