"""Whether anything on the target is still open once the fence has ended all that was ours.

A broker that dies while it ends a transaction can have acknowledged the commit and written some of its markers, or
none; what lacks its marker stays hidden for ever. Ledger, progress group and data then contradict each other in any
way, and the group cannot even be read. So this is looked at before the group is asked and before any other verdict.
To copy on would be worse than to contradict: the next commit of the same producer id on such a partition shows what
was hidden, beside its second copy.
"""

from __future__ import annotations

from collections.abc import Collection

from airflow_provider_mm2.mirror.clusters.ports import TargetCluster
from airflow_provider_mm2.mirror.errors import CommitNotVisible, TargetTransactionOpen
from airflow_provider_mm2.mirror.model import TopicPartition


def check_settled(
    target: TargetCluster,
    *,
    transactional_id: str,
    ledger: TopicPartition,
    fenced: bool = True,
    partitions: Collection[TopicPartition],
    seconds: float,
) -> None:
    """Refuse to judge or to copy while a transaction holds a log back.

    :param ledger: the shard's partition of the ledger, which nobody else writes to.
    :param fenced: whether what was ours has been ended. Without a fence (``at_least_once``) a transaction on the ledger
        is one of an ``exactly_once`` attempt that died, and ends by its time-out.
    :param partitions: the shard's target partitions.
    :param seconds: for how long the caller looks before it believes this.
    :raises CommitNotVisible: the ledger itself is held back, so the transaction was ours.
    :raises TargetTransactionOpen: data alone is held back; it may be a stranger's transaction.
    """
    logs = target.log_offsets([ledger, *partitions])
    held = [part for part, log in logs.items() if log.stable < log.end]
    if ledger in held and fenced:
        names = tuple(str(part) for part in held[:10])
        raise CommitNotVisible(transactional_id=transactional_id, seconds=seconds, partitions=names)
    for part in held:
        log = logs[part]
        raise TargetTransactionOpen(target_topic=part.topic, partition=part.partition, stable=log.stable, end=log.end)
