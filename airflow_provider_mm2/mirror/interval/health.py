"""What would stop the next run, found without a run: for whoever looks at a flow while nothing moves."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import MirrorError, TargetTopicGone, TargetTransactionOpen, TransactionHangs
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.incident_model import Incident
from airflow_provider_mm2.mirror.interval.facts import gather_facts
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.interval.policies import decide, made_anew
from airflow_provider_mm2.mirror.model import LogOffsets, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state_model import FlowRecord, PartitionLedger

SECOND_LOOK_S = 2.0

Ledgers = Mapping[TopicPartition, PartitionLedger]
Found = dict[TopicPartition, MirrorError | Incident]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What would stop the next run, one problem a partition, and what it would accept by the flow's policies."""

    problems: tuple[MirrorError, ...] = ()
    accepted: tuple[Incident, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A flow as it is looked at.

    :param ledgers: what is recorded, by source partition.
    :param waiting: partitions that the flow selects and nothing is recorded of, with their place on the target.
    :param with_source: whether the source answers; without it only the target is looked at.
    """

    flow: MirrorFlow
    pair: ClusterPair
    record: FlowRecord
    ledgers: Ledgers
    waiting: Mapping[TopicPartition, TopicPartition]
    with_source: bool


def standing_health(standing: Standing, tick: Tick) -> Health:
    """Problems of partitions as steps 3 and 4 of a run would find them.

    While a run writes, everything looks wrong to whoever reads beside it. So a problem is told only when it is the
    same again two seconds later and the partition's ledger has not moved; an open transaction may be the run's own.
    """
    first = _look(standing, tick)
    if not first:
        return Health()
    until = time.monotonic() + SECOND_LOOK_S
    while time.monotonic() < until:
        tick()
        time.sleep(0.1)
    ledgers, waiting, record = standing.ledgers, standing.waiting, standing.record
    later = read_shards(standing.pair.target, record.flow, record.shards, tick) if ledgers else {}
    still = {part for part in first if later.get(part) == ledgers.get(part)}
    again = replace(
        standing,
        ledgers={part: ledger for part, ledger in ledgers.items() if part in still},
        waiting={part: target for part, target in waiting.items() if part in still},
    )
    second = _look(again, tick)
    same = [second[part] for part in sorted(second) if type(second[part]) is type(first[part])]
    return Health(
        problems=tuple(found for found in same if isinstance(found, MirrorError)),
        accepted=tuple(found for found in same if isinstance(found, Incident)),
    )


def _look(standing: Standing, tick: Tick) -> Found:
    pair, ledgers, record = standing.pair, standing.ledgers, standing.record
    targets = {**{part: ledger.latest.target for part, ledger in ledgers.items()}, **standing.waiting}
    on_target = pair.target.describe_topics(sorted({target.topic for target in targets.values()}))
    on_source = _source_topics(standing)
    found: Found = {}
    pairs: dict[TopicPartition, TopicPartition] = {}
    for part, target in targets.items():
        there = on_target.get(target.topic)
        if there is None or target.partition >= there.partitions:
            found |= {part: _gone(standing, part, ledgers[part])} if part in ledgers else {}
        elif part.topic in on_source and part.partition < on_source[part.topic].partitions:
            pairs[part] = target
    logs = None if standing.with_source else {part: _as_recorded(ledgers[part]) for part in pairs}
    topics = (on_source, on_target)
    facts = gather_facts(pair, record=record, pairs=pairs, topics=topics, ledger=ledgers, tick=tick, source_logs=logs)
    now_ms = int(time.time() * 1000)
    for part, fact in facts.items():
        decision = decide(standing.flow, fact, record.source_cluster_id, now_ms)
        problem = _hanging(standing.flow, fact, now_ms) or decision.problem
        if problem is not None and not isinstance(problem, TargetTransactionOpen):
            found[part] = problem
        elif decision.incidents:
            found[part] = decision.incidents[0]
    return found


def _gone(standing: Standing, part: TopicPartition, ledger: PartitionLedger) -> MirrorError | Incident:
    latest = ledger.latest
    if standing.flow.on_recreated != "restart":
        return TargetTopicGone(
            topic=part.topic,
            target_topic=latest.target_topic,
            recorded_id=latest.target_topic_id,
            records=ledger.records,
        )
    return made_anew(ledger, int(time.time() * 1000))


def _hanging(flow: MirrorFlow, fact: PartitionFacts, now_ms: int) -> MirrorError | None:
    """The transaction for which the next run would fail, since it is open for too long."""
    pending = None if fact.ledger is None else fact.ledger.latest.pending
    log = fact.source_log
    if pending is None or log.stable == log.end or pending[0] != log.stable:
        return None
    seconds = (now_ms - pending[1]) // 1000
    if seconds <= flow.lso_stuck_s:
        return None
    source = fact.source
    return TransactionHangs(
        topic=source.topic, partition=source.partition, stable=log.stable, end=log.end, seconds=seconds
    )


def _source_topics(standing: Standing) -> Mapping[str, TopicInfo]:
    ledgers = standing.ledgers
    names = sorted({part.topic for part in (*ledgers, *standing.waiting)})
    if standing.with_source:
        return standing.pair.source.describe_topics(names)
    counts = {name: 1 + max(part.partition for part in ledgers if part.topic == name) for name in names}
    ids = {part.topic: ledger.latest.source_topic_id for part, ledger in ledgers.items()}
    return {
        name: TopicInfo(name=name, topic_id=ids[name], partitions=counts[name], replication_factor=0) for name in names
    }


def _as_recorded(ledger: PartitionLedger) -> LogOffsets:
    """A source log of which nothing is known but that it was mirrored so far."""
    progress = ledger.latest.next_offset
    return LogOffsets(start=progress, stable=progress, end=progress)
