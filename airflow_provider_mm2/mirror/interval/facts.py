"""Reading all that is to be known of partitions before their part of a run is decided; nothing is judged here."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.interval.book import counted_end
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.model import LogOffsets, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.state_model import FlowRecord, PartitionLedger


def gather_facts(
    pair: ClusterPair,
    *,
    record: FlowRecord,
    pairs: Mapping[TopicPartition, TopicPartition],
    topics: tuple[Mapping[str, TopicInfo], Mapping[str, TopicInfo]],
    ledger: Mapping[TopicPartition, PartitionLedger],
    tick: Tick,
    source_logs: Mapping[TopicPartition, LogOffsets] | None = None,
) -> dict[TopicPartition, PartitionFacts]:
    """Facts by source partition.

    :param pairs: source partition to target partition; both exist.
    :param topics: facts of the source's and the target's topics, by name.
    :param ledger: read after the fence, and before the progress group here.
    :param source_logs: where the source cannot be asked: what is to be taken for its logs.
    """
    source_topics, target_topics = topics
    group = pair.target.committed(naming.progress_group(record.flow), list(pairs.values()), tick)
    source_logs = pair.source.log_offsets(list(pairs)) if source_logs is None else source_logs
    target_logs = pair.target.log_offsets(list(pairs.values()))
    known = {source: ledger.get(source) for source in pairs}
    hidden = _hidden(pair, target_logs, {pairs[part]: entry for part, entry in known.items() if entry}, tick)
    facts: dict[TopicPartition, PartitionFacts] = {}
    for source, target in pairs.items():
        facts[source] = PartitionFacts(
            source=source,
            target=target,
            source_topic=source_topics[source.topic],
            target_topic=target_topics[target.topic],
            ledger=known[source],
            group_offset=group.get(target),
            source_log=source_logs[source],
            target_log=target_logs[target],
            visible=_visible(pair, target_topics[target.topic], target_logs[target], (target, known[source]), tick),
            hidden=target in hidden,
        )
    return facts


def _visible(
    pair: ClusterPair,
    topic: TopicInfo,
    log: LogOffsets,
    recorded: tuple[TopicPartition, PartitionLedger | None],
    tick: Tick,
) -> int:
    """Records beyond the recorded end that a reader sees; what an aborted attempt left is not seen.

    In a topic that was made anew every record is beyond.
    """
    target, ledger = recorded
    is_recorded = ledger is not None and ledger.latest.target_topic_id == topic.topic_id
    start = max(log.start, counted_end(ledger.latest)) if ledger is not None and is_recorded else log.start
    return pair.target.count_visible(target, start, log.stable, tick) if log.stable > start else 0


def _hidden(
    pair: ClusterPair,
    logs: Mapping[TopicPartition, LogOffsets],
    ledgers: Mapping[TopicPartition, PartitionLedger],
    tick: Tick,
) -> set[TopicPartition]:
    """Target partitions whose last counted record was aborted, although the ledger that counts it was not.

    That is left where a broker lost some of a commit's markers and somebody aborted what hung. Nobody but this look
    would ever tell: offsets, ledger and progress are as after a good commit. A record that retention or compaction
    took is in neither view, so it is not called hidden.
    """
    last = {
        target: ledger.latest.segments[-1].target_end - 1
        for target, ledger in ledgers.items()
        if ledger.latest.segments
    }
    there = {target: at for target, at in last.items() if logs[target].start <= at < logs[target].stable}
    seen = pair.target.present(there, aborted=False, tick=tick)
    unseen = {target: at for target, at in there.items() if target not in seen}
    return set(pair.target.present(unseen, aborted=True, tick=tick)) if unseen else set()
