"""Steps 3 and 4: read gate, ledger and progress, take the bounds, and decide from which offset to which.

Every fact read here looks wrong to an attempt that slept while a successor went on. So a verdict is believed only
when the lease is still ours and everything, read again two seconds later, says the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import (
    Fenced,
    FlowChanged,
    ForeignWrites,
    MirrorError,
    Overtaken,
    ProgressUnknown,
    TargetTopicGone,
    TargetTransactionOpen,
    TopicDeleted,
)
from airflow_provider_mm2.mirror.flow import Cut, MirrorFlow
from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.interval.facts import gather_facts
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.interval.policies import decide
from airflow_provider_mm2.mirror.interval.settled import check_settled
from airflow_provider_mm2.mirror.interval.topics import Prepared
from airflow_provider_mm2.mirror.model import CopyRange, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.state.gate import check_engine_on_record, check_open, read_gate
from airflow_provider_mm2.mirror.state.incidents import counted_up, read_incidents
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state.ledger import read_ledger
from airflow_provider_mm2.mirror.state.rebase import Rebased
from airflow_provider_mm2.mirror.state_model import Delivery, FlowRecord, PartitionLedger

SECOND_LOOK_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What a shard may copy. ``ranges`` has every partition of the shard, also those with nothing to copy.

    ``rebased``: partitions that go on from another place than the ledger says, by a policy of the flow, and
    ``incidents`` what was accepted so; both are written with the first transaction.
    ``stable_taken_ms``: when the bounds were taken. ``restored``: partitions whose progress group offset was missing
    and is written again from the ledger. ``late``: topics or partitions that are not ready on the target yet.
    """

    record: FlowRecord
    facts: Mapping[TopicPartition, PartitionFacts]
    rebased: Mapping[TopicPartition, Rebased]
    incidents: tuple[Incident, ...]
    ranges: tuple[CopyRange, ...]
    stable_taken_ms: int
    restored: tuple[TopicPartition, ...]
    late: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One shard of a prepared flow and what is needed to look at it."""

    flow: MirrorFlow
    pair: ClusterPair
    prepared: Prepared
    number: int
    bounds: RunBounds


def admit(shard: Shard, lease: Lease, tick: Tick) -> Admission:
    """Steps 3 and 4 for one shard, after the fence.

    :raises MirrorError: the verdict, the same twice while the lease was ours.
    :raises Fenced: what was read moved, so another attempt is at work.
    """
    first = _outcome(shard, tick)
    if isinstance(first, Admission) and not first.incidents:
        return first
    lease.confirm()
    _wait(SECOND_LOOK_S, tick)
    second = _outcome(shard, tick)
    lease.confirm()
    if isinstance(first, Admission) and isinstance(second, Admission) and _accepted(first) == _accepted(second):
        return second
    if isinstance(first, MirrorError) and isinstance(second, MirrorError) and _is_same(first, second):
        raise second from first
    seen = type(first).__name__ if isinstance(first, MirrorError) else first.incidents[0].kind.value
    why = f"what it read changed while it looked (first: {seen})"
    raise Fenced(transactional_id=naming.transactional_id(shard.flow.name, shard.number), why=why)


def _outcome(shard: Shard, tick: Tick) -> Admission | MirrorError:
    """What one look gives; what passes by itself is raised at once."""
    try:
        return _look(shard, tick)
    except MirrorError as verdict:
        passes_by_itself = verdict.retriable and not isinstance(verdict, TargetTransactionOpen)
        if passes_by_itself:
            raise
        return verdict


def _accepted(admission: Admission) -> set[tuple[IncidentKind, TopicPartition]]:
    return {(incident.kind, incident.source) for incident in admission.incidents}


def _is_same(first: MirrorError, second: MirrorError) -> bool:
    """Whether two verdicts are one, but for what a stranger who is still writing adds to it."""
    told_by_count = isinstance(first, (ForeignWrites, ProgressUnknown, TargetTransactionOpen))
    grows = {"records", "how_many", "end"} if told_by_count else set()

    def lasting(verdict: MirrorError) -> dict[str, object]:
        return {name: fact for name, fact in verdict.facts.items() if name not in grows}

    return type(second) is type(first) and lasting(second) == lasting(first)


def _wait(seconds: float, tick: Tick) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        tick()
        time.sleep(0.1)


def _look(shard: Shard, tick: Tick) -> Admission:
    flow, pair = shard.flow, shard.pair
    record = read_gate(pair.target, flow.name, tick)
    _check_gate(record, shard.prepared.record)
    ledger = read_ledger(pair.target, flow.name, shard.number, tick)
    source_topics = _source_topics(shard)
    target_topics = pair.target.describe_topics(list(shard.prepared.topics.values()))
    wanted = _partitions(shard, source_topics)
    ready, late = _split_late(shard, wanted, target_topics, ledger)
    pairs = {part: TopicPartition(shard.prepared.topics[part.topic], part.partition) for part in ready}
    check_settled(
        pair.target,
        transactional_id=naming.transactional_id(flow.name, shard.number),
        ledger=TopicPartition(naming.ledger_topic(flow.name), shard.number),
        fenced=flow.delivery is Delivery.EXACTLY_ONCE,
        partitions=pairs.values(),
        seconds=SECOND_LOOK_S,
    )
    stable_taken_ms = int(time.time() * 1000)
    facts = gather_facts(
        pair,
        record=shard.prepared.record,
        pairs=pairs,
        topics=(source_topics, target_topics),
        ledger=ledger,
        tick=tick,
    )
    return _decided(shard, facts, stable_taken_ms, late, tick)


def _decided(
    shard: Shard,
    facts: Mapping[TopicPartition, PartitionFacts],
    stable_taken_ms: int,
    late: tuple[str, ...],
    tick: Tick,
) -> Admission:
    """What the shard may copy by its facts and the flow's policies.

    :raises MirrorError: what stops it.
    """
    flow, record = shard.flow, shard.prepared.record
    decisions = {part: decide(flow, fact, record.source_cluster_id, stable_taken_ms) for part, fact in facts.items()}
    for decision in decisions.values():
        if decision.problem is not None:
            raise decision.problem
    incidents = [incident for decision in decisions.values() for incident in decision.incidents]
    decided = {part: decision.facts for part, decision in decisions.items()}
    _check_strict(shard, decided.values())
    return Admission(
        record=record,
        facts=decided,
        rebased={part: decision.rebased for part, decision in decisions.items() if decision.rebased is not None},
        incidents=counted_up(incidents, read_incidents(shard.pair.target, flow.name, tick)) if incidents else (),
        ranges=tuple(_range(shard, fact) for fact in decided.values()),
        stable_taken_ms=stable_taken_ms,
        restored=tuple(part for part, fact in facts.items() if fact.ledger and fact.group_offset is None),
        late=late,
    )


def _check_gate(record: FlowRecord | None, prepared: FlowRecord) -> None:
    if record is None:
        raise FlowChanged(flow=prepared.flow, setting="flow record", recorded="nothing", given="a prepared flow")
    check_open(record)
    check_engine_on_record(record, prepared.engine)
    if record.delivery is not prepared.delivery:
        what = (
            f"the flow was recorded with delivery {record.delivery.value}, and this run has {prepared.delivery.value}"
        )
        raise Overtaken(writer=record.flow, what=what)
    if record.shards != prepared.shards:
        raise FlowChanged(flow=record.flow, setting="shards", recorded=str(record.shards), given=str(prepared.shards))
    for name in ("source_cluster_id", "target_cluster_id"):
        if getattr(record, name) != getattr(prepared, name):
            raise FlowChanged(
                flow=record.flow, setting=name, recorded=getattr(record, name), given=getattr(prepared, name)
            )


def _source_topics(shard: Shard) -> Mapping[str, TopicInfo]:
    """Facts of the topics that were planned.

    :raises TopicDeleted: one is gone since.
    """
    found = shard.pair.source.describe_topics(list(shard.prepared.topics))
    for name in shard.prepared.topics:
        if name not in found:
            raise TopicDeleted(alias=shard.pair.source.alias, topic=name)
    return found


def _partitions(shard: Shard, topics: Mapping[str, TopicInfo]) -> list[TopicPartition]:
    """The source partitions that hash onto the shard."""
    every = (TopicPartition(name, index) for name in sorted(topics) for index in range(topics[name].partitions))
    return [part for part in every if naming.shard_of(part, shard.prepared.shards) == shard.number]


def _split_late(
    shard: Shard,
    wanted: Sequence[TopicPartition],
    target_topics: Mapping[str, TopicInfo],
    ledger: Mapping[TopicPartition, PartitionLedger],
) -> tuple[list[TopicPartition], tuple[str, ...]]:
    """Partitions that have a place on the target, and those that came up after step 0 and wait for the next run.

    :raises TargetTopicGone: a partition that was mirrored has no place any more.
    """
    ready: list[TopicPartition] = []
    late: list[str] = []
    for part in wanted:
        target = target_topics.get(shard.prepared.topics[part.topic])
        if target is not None and part.partition < target.partitions:
            ready.append(part)
        elif part in ledger:
            latest = ledger[part].latest
            raise TargetTopicGone(
                topic=part.topic,
                target_topic=latest.target_topic,
                recorded_id=latest.target_topic_id,
                records=ledger[part].records,
            )
        else:
            late.append(str(part))
    return ready, tuple(late)


def _range(shard: Shard, fact: PartitionFacts) -> CopyRange:
    cuts = shard.flow.cut is Cut.INTERVAL
    return CopyRange(
        source=fact.source,
        target=fact.target,
        start=fact.progress,
        end=fact.source_log.stable,
        cut_ms=shard.bounds.until_ms if cuts else None,
        leader_epoch=None if fact.ledger is None else fact.ledger.latest.leader_epoch,
    )


def _check_strict(shard: Shard, facts: Iterable[PartitionFacts]) -> None:
    if not shard.flow.strict:
        return
    for fact in facts:
        through = None if fact.ledger is None else fact.ledger.latest.through_ms
        first = None
        if through is None and fact.source_log.stable > fact.progress:
            first = shard.pair.source.first_visible(fact.source, fact.progress, fact.source_log.stable)
        shard.bounds.check_strict(fact.source, through, None if first is None else first[1])
