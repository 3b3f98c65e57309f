"""Reading all that is to be known of partitions before their part of a run is decided; nothing is judged here."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.interval.book import counted_end
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.model import FlowRecord, LogOffsets, PartitionLedger, TopicInfo, TopicPartition


def gather_facts(
    pair: ClusterPair,
    *,
    record: FlowRecord,
    pairs: Mapping[TopicPartition, TopicPartition],
    topics: tuple[Mapping[str, TopicInfo], Mapping[str, TopicInfo]],
    ledger: Mapping[TopicPartition, PartitionLedger],
    tick: Tick,
) -> dict[TopicPartition, PartitionFacts]:
    """Facts by source partition.

    :param pairs: source partition to target partition; both exist.
    :param topics: facts of the source's and the target's topics, by name.
    :param ledger: read after the fence, and before the progress group here.
    """
    source_topics, target_topics = topics
    group = pair.target.committed(naming.progress_group(record.flow), list(pairs.values()), tick)
    source_logs = pair.source.log_offsets(list(pairs))
    target_logs = pair.target.log_offsets(list(pairs.values()))
    facts: dict[TopicPartition, PartitionFacts] = {}
    for source, target in pairs.items():
        known = current_generation(ledger.get(source), record)
        facts[source] = PartitionFacts(
            source=source,
            target=target,
            source_topic=source_topics[source.topic],
            target_topic=target_topics[target.topic],
            ledger=known,
            group_offset=group.get(target),
            source_log=source_logs[source],
            target_log=target_logs[target],
            visible=_visible(pair, target, target_logs[target], known, tick),
        )
    return facts


def current_generation(ledger: PartitionLedger | None, record: FlowRecord) -> PartitionLedger | None:
    """A partition's ledger, if it is of the topic's current generation."""
    if ledger is None or ledger.latest.generation != record.generation(ledger.latest.topic):
        return None
    return ledger


def _visible(
    pair: ClusterPair, target: TopicPartition, log: LogOffsets, ledger: PartitionLedger | None, tick: Tick
) -> int:
    """Records beyond the recorded end that a reader sees; what an aborted attempt left is not seen."""
    start = log.start if ledger is None else max(log.start, counted_end(ledger.latest))
    return pair.target.count_visible(target, start, log.stable, tick) if log.stable > start else 0
