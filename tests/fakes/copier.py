"""The copy engine between two fake clusters: it copies record by record, so that its rules can be read off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import CommitNotVisible, ForeignWrites, SourceSilent
from airflow_provider_mm2.mirror.model import ChunkLimits, CopiedRange, CopierSettings, CopyRange, TopicPartition
from airflow_provider_mm2.mirror.state_model import Delivery, StateRecord
from tests.fakes.cluster import FakeCluster
from tests.fakes.copy_range import RangeCopy
from tests.fakes.hooks import Hooks
from tests.fakes.log import Message
from tests.fakes.plain_producer import FakePlainProducer
from tests.fakes.producer import FakeProducer

BATCH_RECORDS = 100
FUTURE_MS = 5 * 60 * 1000
SEE_LIMIT_S = 30


class FakeCopier:
    """``Copier`` between fake clusters; ``close`` without ``abort`` leaves what a killed process leaves."""

    def __init__(
        self,
        settings: CopierSettings,
        source: FakeCluster,
        target: FakeCluster,
        hooks: Hooks,
        delivery: Delivery = Delivery.EXACTLY_ONCE,
    ) -> None:
        self._settings = settings
        self._source = source
        self._target = target
        self._hooks = hooks
        self._producer: FakeProducer | FakePlainProducer
        if delivery is Delivery.EXACTLY_ONCE:
            self._producer = FakeProducer(target, settings.transactional_id, settings.transaction_timeout_s)
        else:
            self._producer = FakePlainProducer(target, settings.transactional_id, settings.watched, hooks)
        self._ranges: list[RangeCopy] = []

    def fence(self, tick: Tick) -> None:
        """Step 2."""
        tick()
        with self._hooks.around("fence"):
            self._producer.fence()

    def assign(self, ranges: Sequence[CopyRange], now_ms: int) -> None:
        """Step 4."""
        with self._hooks.around("assign"):
            future_ms = now_ms + FUTURE_MS
            self._ranges = [RangeCopy(part, future_ms, self._source, self._target, self._append) for part in ranges]

    def begin(self) -> None:
        """Step 5."""
        with self._hooks.around("begin"):
            self._producer.begin()
            for part in self._ranges:
                part.begin_chunk()

    def copy(self, limits: ChunkLimits, tick: Tick) -> None:
        """Step 5: a batch of each partition in turn.

        :raises SourceSilent: a bound lies beyond what can be read.
        """
        with self._hooks.around("copy"):
            self._producer.check()
            clock = self._target.clock
            end_s, left, silent_s = clock.monotonic() + limits.seconds, limits.bytes, 0
            while (live := [part for part in self._ranges if part.ended is None]) and left > 0:
                tick()
                if clock.monotonic() >= end_s:
                    return
                before = [part.position for part in live]
                for part in live:
                    left -= part.copy_batch(BATCH_RECORDS, left)
                silent_s = 0 if before != [part.position for part in live] else silent_s + 1
                if silent_s:
                    self._wait(live, silent_s)

    def flush(self, tick: Tick) -> Sequence[CopiedRange]:
        """Step 6."""
        tick()
        with self._hooks.around("flush"):
            self._producer.check()
            try:
                return [part.result(shared=self._settings.shared_target) for part in self._ranges]
            except ForeignWrites as hole:
                raise self._producer.pierced(hole) from hole

    def add(self, records: Sequence[StateRecord], progress: Mapping[TopicPartition, int], tick: Tick) -> None:
        """Step 7."""
        tick()
        with self._hooks.around("add"):
            self._producer.add_state(records)
            self._producer.add_offsets(self._settings.progress_group, progress)

    def commit(self, tick: Tick) -> None:
        """Step 8."""
        tick()
        with self._hooks.around("commit"):
            self._producer.commit()

    def see(
        self, progress: Mapping[TopicPartition, int], mapped_ends: Mapping[TopicPartition, int], tick: Tick
    ) -> None:
        """Step 8: look, tick and let a second pass, until it can be seen or half a minute is over."""
        with self._hooks.around("see"):
            for _ in range(SEE_LIMIT_S):
                tick()
                unseen = self._unseen(progress, mapped_ends)
                if not unseen:
                    return
                self._target.clock.advance(1)
            raise CommitNotVisible(
                transactional_id=self._settings.transactional_id,
                seconds=SEE_LIMIT_S,
                partitions=tuple(str(partition) for partition in sorted(unseen)),
            )

    def abort(self) -> None:
        """Abort what is open and ours."""
        self._producer.abort()

    def close(self) -> None:
        """Leave an open transaction open, as the real client does."""

    def _append(self, partition: TopicPartition, message: Message) -> int:
        self._hooks.before("produce")
        return self._producer.append(partition, message)

    def _wait(self, live: Sequence[RangeCopy], silent_s: int) -> None:
        if silent_s > self._settings.silence_limit_s:
            waiting = tuple(str(part.asked.source) for part in live)
            raise SourceSilent(seconds=self._settings.silence_limit_s, waiting=waiting)
        self._target.clock.advance(1)

    def _unseen(
        self, progress: Mapping[TopicPartition, int], mapped_ends: Mapping[TopicPartition, int]
    ) -> set[TopicPartition]:
        """Partitions whose offset or end is not there yet.

        :raises MirrorError: an offset is not the one sent, as another attempt leaves it.
        """
        group = self._settings.progress_group
        if self._target.pending(group, progress):
            return set(progress)
        committed = self._target.groups.get(group, {})
        self._producer.check_committed(group, progress)
        behind = {partition for partition, offset in progress.items() if committed.get(partition) != offset}
        return behind | {part for part, end in mapped_ends.items() if self._target.log(part).stable < end}
