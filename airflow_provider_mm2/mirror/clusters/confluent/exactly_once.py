"""Data, ledger and progress of a chunk in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.clusters.config import producer_settings
from airflow_provider_mm2.mirror.clusters.confluent.batch import Run
from airflow_provider_mm2.mirror.clusters.confluent.sending import Offsets
from airflow_provider_mm2.mirror.clusters.confluent.transaction import Transactions
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import (
    CommitNotVisible,
    Fenced,
    ForeignWrites,
    MirrorError,
    ProgressDisagrees,
    TransactionFailed,
)
from airflow_provider_mm2.mirror.model import CopierSettings, TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.confluent.cluster import ConfluentCluster

SEE_LIMIT_S = 30
PROGRESS_OF = "progress of "


class ExactlyOnce(Transactions):
    """See :class:`airflow_provider_mm2.mirror.clusters.confluent.sending.Sending`."""

    delivered: Callable[[Any, Any], object] | None = None
    """Of a record in the middle of a run the transaction's own failure tells."""

    def __init__(self, target: ConfluentCluster, settings: CopierSettings) -> None:
        super().__init__(
            alias=target.alias,
            watch=target.admin.watch,
            settings=producer_settings(
                target.settings,
                transactional_id=settings.transactional_id,
                timeout_s=settings.transaction_timeout_s,
                batch_bytes=settings.batch_bytes,
            ),
        )
        self._target = target
        self._progress = target.progress(settings.progress_group)

    def add(self, records: Sequence[StateRecord], progress: Offsets, tick: Tick) -> None:
        """Step 7."""
        try:
            for record in records:
                self.producer.produce(record.topic, record.value, record.key, record.partition, None, None)
        except KafkaException as error:
            raise self.failure(error, "add the ledger") from error
        offsets = [KafkaPartition(part.topic, part.partition, offset) for part, offset in progress.items()]
        self.add_offsets(offsets, self._progress.metadata(), tick)

    def see(self, progress: Offsets, mapped_ends: Offsets, tick: Tick) -> None:
        """Step 8, second half."""
        deadline = time.monotonic() + SEE_LIMIT_S
        while True:
            committed = self._progress.committed(list(progress), tick)
            if any(committed.get(part, 0) > offset for part, offset in progress.items()):
                raise Fenced(transactional_id=self.id, why="a later attempt has moved on")
            stable = self._target.log_offsets(list(mapped_ends))
            hidden = [str(part) for part, end in mapped_ends.items() if stable[part].stable < end]
            hidden += [f"{PROGRESS_OF}{part}" for part, offset in progress.items() if committed.get(part) != offset]
            if not hidden:
                return
            if time.monotonic() > deadline:
                _raise_overwritten(progress, committed, hidden)
                raise CommitNotVisible(transactional_id=self.id, seconds=SEE_LIMIT_S, partitions=tuple(hidden[:10]))
            tick()
            self.serve(0.002)

    def undelivered(self, problem: str) -> MirrorError:
        """A delivery that failed ends the transaction."""
        return TransactionFailed(transactional_id=self.id, problem=problem)

    def pierced(self, source: TopicPartition, target: TopicPartition, run: Run) -> MirrorError:
        """Nobody but a stranger writes between two records of one transaction's run."""
        start, end = run.span
        return ForeignWrites(
            topic=source.topic,
            target_topic=target.topic,
            partition=target.partition,
            records=end - start - run.count,
            start=start,
            end=end,
        )


def _raise_overwritten(progress: Offsets, committed: Offsets, hidden: Sequence[str]) -> None:
    """Records that can be seen beside progress that cannot: somebody has set the group since."""
    if any(not told.startswith(PROGRESS_OF) for told in hidden):
        return
    for part, offset in progress.items():
        if part in committed and committed[part] != offset:
            raise ProgressDisagrees(
                target_topic=part.topic,
                partition=part.partition,
                ledger_offset=offset,
                group_offset=committed[part],
            )
