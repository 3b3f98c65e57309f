"""What would stop the next run, found without a run: for whoever looks at a flow while nothing moves."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import MirrorError, TargetTopicGone, TargetTransactionOpen
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.incident_model import Incident
from airflow_provider_mm2.mirror.interval.facts import gather_facts
from airflow_provider_mm2.mirror.interval.policies import decide
from airflow_provider_mm2.mirror.model import FlowRecord, LogOffsets, PartitionLedger, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.state.ledger import read_shards

SECOND_LOOK_S = 2.0

Ledgers = Mapping[TopicPartition, PartitionLedger]
Found = dict[TopicPartition, MirrorError | Incident]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What would stop the next run, one problem a partition, and what it would accept by the flow's policies."""

    problems: tuple[MirrorError, ...] = ()
    accepted: tuple[Incident, ...] = ()


def standing_health(
    flow: MirrorFlow, pair: ClusterPair, record: FlowRecord, ledgers: Ledgers, tick: Tick, *, with_source: bool
) -> Health:
    """Problems of partitions as steps 3 and 4 of a run would find them.

    While a run writes, everything looks wrong to whoever reads beside it. So a problem is told only when it is the
    same again two seconds later and the partition's ledger has not moved; an open transaction may be the run's own.

    :param with_source: whether the source answers; without it only the target is looked at.
    """
    first = _look(flow, pair, record, ledgers, tick, with_source=with_source)
    if not first:
        return Health()
    until = time.monotonic() + SECOND_LOOK_S
    while time.monotonic() < until:
        tick()
        time.sleep(0.1)
    later = read_shards(pair.target, record.flow, record.shards, tick)
    still = {part: ledgers[part] for part in first if later.get(part) == ledgers[part]}
    second = _look(flow, pair, record, still, tick, with_source=with_source)
    same = [second[part] for part in sorted(second) if type(second[part]) is type(first[part])]
    return Health(
        problems=tuple(found for found in same if isinstance(found, MirrorError)),
        accepted=tuple(found for found in same if isinstance(found, Incident)),
    )


def _look(
    flow: MirrorFlow, pair: ClusterPair, record: FlowRecord, ledgers: Ledgers, tick: Tick, *, with_source: bool
) -> Found:
    latest = {part: ledger.latest for part, ledger in ledgers.items()}
    on_target = pair.target.describe_topics(sorted({entry.target_topic for entry in latest.values()}))
    on_source = _source_topics(pair, ledgers, with_source=with_source)
    found: Found = {}
    pairs: dict[TopicPartition, TopicPartition] = {}
    for part, entry in latest.items():
        there = on_target.get(entry.target_topic)
        if there is None or entry.partition >= there.partitions:
            found[part] = TargetTopicGone(
                target_topic=entry.target_topic, recorded_id=entry.target_topic_id, records=ledgers[part].records
            )
        elif part.topic in on_source and part.partition < on_source[part.topic].partitions:
            pairs[part] = entry.target
    logs = None if with_source else {part: _as_recorded(ledgers[part]) for part in pairs}
    topics = (on_source, on_target)
    facts = gather_facts(pair, record=record, pairs=pairs, topics=topics, ledger=ledgers, tick=tick, source_logs=logs)
    for part, fact in facts.items():
        decision = decide(flow, fact, record.source_cluster_id, int(time.time() * 1000))
        if decision.problem is not None and not isinstance(decision.problem, TargetTransactionOpen):
            found[part] = decision.problem
        elif decision.incidents:
            found[part] = decision.incidents[0]
    return found


def _source_topics(pair: ClusterPair, ledgers: Ledgers, *, with_source: bool) -> Mapping[str, TopicInfo]:
    names = sorted({part.topic for part in ledgers})
    if with_source:
        return pair.source.describe_topics(names)
    counts = {name: 1 + max(part.partition for part in ledgers if part.topic == name) for name in names}
    ids = {part.topic: ledger.latest.source_topic_id for part, ledger in ledgers.items()}
    return {
        name: TopicInfo(name=name, topic_id=ids[name], partitions=counts[name], replication_factor=0) for name in names
    }


def _as_recorded(ledger: PartitionLedger) -> LogOffsets:
    """A source log of which nothing is known but that it was mirrored so far."""
    progress = ledger.latest.next_offset
    return LogOffsets(start=progress, stable=progress, end=progress)
