"""Writing a shard's ledger and progress beside a copy: behind its lease and its fence, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Copier, Tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import CopierSettings, TopicPartition
from airflow_provider_mm2.mirror.state.lease import held_lease
from airflow_provider_mm2.mirror.state.turns import watched_by
from airflow_provider_mm2.mirror.state_model import StateRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardWriter:
    """The one writer of a shard; ``tick`` keeps its lease."""

    copier: Copier
    tick: Tick

    def write(self, records: Sequence[StateRecord], progress: Mapping[TopicPartition, int]) -> None:
        """Write all, and wait until it is seen.

        :param progress: next source offset by target partition.
        """
        self.copier.begin()
        self.copier.add(list(records), progress, self.tick)
        self.copier.commit(self.tick)
        self.copier.see(progress, {}, self.tick)


@contextmanager
def shard_writer(flow: MirrorFlow, pair: ClusterPair, number: int, owner: str, tick: Tick) -> Iterator[ShardWriter]:
    """The writer of a shard, fenced: a run that is at work ends.

    :raises LeaseHeld: somebody else held the shard for longer than the flow waits.
    """
    transactional_id = naming.transactional_id(flow.name, number)
    group, topic = naming.lease_group(transactional_id), naming.gate_topic(flow.name)
    with held_lease(flow, pair.target, group=group, topic=topic, owner=owner, tick=tick) as lease:
        keep = lease.keeping(tick)
        copier = pair.copier(_settings(flow, number))
        try:
            copier.fence(keep)
            yield ShardWriter(copier=copier, tick=keep)
        finally:
            copier.close()


def _settings(flow: MirrorFlow, number: int) -> CopierSettings:
    return CopierSettings(
        flow=flow.name,
        transactional_id=naming.transactional_id(flow.name, number),
        progress_group=naming.progress_group(flow.name),
        transaction_timeout_s=flow.transaction_timeout_s,
        max_record_bytes=1,
        silence_limit_s=flow.silence_limit_s,
        watched=watched_by(flow.name, number),
    )
