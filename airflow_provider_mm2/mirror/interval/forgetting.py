"""Forgetting: what a flow has recorded of topics, or of itself, is removed; mirrored records are never touched.

Every shard's lease is held and every shard is fenced, so nothing is being copied. Then, so that each prefix is a state
that a run understands: the progress group goes first (the ledger alone decides then, and a run would restore it), after
it the ledger's records, each shard's in one transaction, and last what is left of the progress group comes back.
Checkpoints and offset syncs stay: MirrorMaker 2's readers end on a record that removes one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import StateWriter, TargetCluster, Tick
from airflow_provider_mm2.mirror.errors import (
    FailbackRefused,
    FlowNotPrepared,
    MirrorError,
    NothingRecorded,
    NothingToForget,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow
from airflow_provider_mm2.mirror.state.gate import check_open, find_gate
from airflow_provider_mm2.mirror.state.incidents import to_record as incident_record
from airflow_provider_mm2.mirror.state.lease import Lease, held_lease
from airflow_provider_mm2.mirror.state.ledger import read_ledger, read_shards
from airflow_provider_mm2.mirror.state.turns import removals
from airflow_provider_mm2.mirror.state_model import FlowRecord, PartitionLedger, StateRecord

log = logging.getLogger(__name__)

Ledgers = Mapping[TopicPartition, PartitionLedger]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """What is, or was, removed: the progress of partitions and, for a whole flow, its own topics."""

    flow: str
    ledgers: Ledgers
    topics_deleted: tuple[str, ...]
    applied: bool

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 forget --json``."""
        return {
            "flow": self.flow,
            "applied": self.applied,
            "partitions": [
                {
                    "topic": part.topic,
                    "partition": part.partition,
                    "progress": ledger.latest.next_offset,
                    "records": ledger.records,
                    "target_topic": ledger.latest.target_topic,
                }
                for part, ledger in sorted(self.ledgers.items())
            ],
            "topics_deleted": list(self.topics_deleted),
            "stays": "mirrored records, checkpoints and offset syncs; offsets of consumer groups",
        }


def forget_flow(
    flow: MirrorFlow, target: TargetCluster, *, topics: Collection[str], apply: bool, owner: str, tick: Tick
) -> ForgetReport:
    """Remove what is recorded of topics; the source is not needed for it.

    :param topics: source topics, also such as the flow does not select any more; empty: the flow itself.
    :raises NothingRecorded: the flow never ran, or was forgotten before.
    :raises FlowFrozen: a failover holds the flow.
    :raises FailbackRefused: it is a way home, and open.
    :raises NothingToForget: nothing is recorded of a topic.
    :raises LeaseHeld: a run is at work.
    """
    record = find_gate(target, flow.name, tick)
    if record is None:
        raise NothingRecorded(flow=flow.name)
    check_open(record)
    if isinstance(flow, ReverseFlow):
        raise FailbackRefused(
            flow=flow.forward.name,
            problems=("its way home is open, and what it has recorded says what is home already: come home first",),
        )
    known = read_shards(target, flow.name, record.shards, tick)
    strangers = tuple(sorted(set(topics) - {part.topic for part in known}))
    if strangers:
        raise NothingToForget(flow=flow.name, topics=strangers, known=tuple(sorted({part.topic for part in known})))
    report = ForgetReport(
        flow=flow.name,
        ledgers={part: ledger for part, ledger in known.items() if not topics or part.topic in topics},
        topics_deleted=() if topics else _own_topics(flow, target),
        applied=apply,
    )
    if apply:
        _forget(flow, target, record, report, owner, tick)
    return report


def _open_gate(flow: MirrorFlow, target: TargetCluster, tick: Tick) -> FlowRecord:
    record = find_gate(target, flow.name, tick)
    if record is None:
        raise FlowNotPrepared(flow=flow.name)
    check_open(record)
    return record


def _own_topics(flow: MirrorFlow, target: TargetCluster) -> tuple[str, ...]:
    """The flow's own topics, the gate last: while it is there a second try goes on."""
    names = (naming.groups_topic(flow.name), naming.ledger_topic(flow.name), naming.gate_topic(flow.name))
    present = target.describe_topics(names)
    return tuple(name for name in names if name in present)


def _forget(
    flow: MirrorFlow, target: TargetCluster, record: FlowRecord, report: ForgetReport, owner: str, tick: Tick
) -> None:
    with ExitStack() as held:
        leases = [held.enter_context(_lease(flow, target, shard, owner, tick)) for shard in range(record.shards)]

        def keep() -> None:
            tick()
            for lease in leases:
                lease.keep()

        writers: dict[int, StateWriter] = {}
        for shard in range(record.shards):
            writers[shard] = target.state_writer(naming.transactional_id(flow.name, shard))
            held.callback(writers[shard].close)
            writers[shard].fence(keep)
        _open_gate(flow, target, keep)
        if report.topics_deleted:
            target.delete_group(naming.progress_group(flow.name), keep)
            target.delete_topics(report.topics_deleted[:-1])
        else:
            _forget_topics(flow, target, report, writers, owner, keep)
    if report.topics_deleted:  # the leases lie on the gate's topic
        target.delete_topics(report.topics_deleted[-1:])
    log.info("flow %s: progress of %d partition(s) forgotten", flow.name, len(report.ledgers))


def _lease(
    flow: MirrorFlow, target: TargetCluster, shard: int, owner: str, tick: Tick
) -> AbstractContextManager[Lease]:
    group, topic = naming.lease_group(naming.transactional_id(flow.name, shard)), naming.gate_topic(flow.name)
    return held_lease(flow, target, group=group, topic=topic, owner=owner, tick=tick)


def _forget_topics(
    flow: MirrorFlow,
    target: TargetCluster,
    report: ForgetReport,
    writers: Mapping[int, StateWriter],
    owner: str,
    tick: Tick,
) -> None:
    group, topics = naming.progress_group(flow.name), {part.topic for part in report.ledgers}
    gone = {ledger.latest.target for ledger in report.ledgers.values()}
    answer = target.group_offsets([group], tick)[group]
    if isinstance(answer, MirrorError):
        raise answer
    target.delete_group(group, tick)
    now_ms = int(time.time() * 1000)
    for shard, writer in writers.items():
        ledgers = read_ledger(target, flow.name, shard, tick)
        records = list(_removals(flow.name, shard, ledgers, topics, f"mm2 forget by {owner}", now_ms))
        if records:
            writer.write(records, tick)
    rest = {part: offset for part, offset in answer.offsets.items() if part not in gone}
    left = GroupOffsets(offsets=rest, metadata=answer.metadata)
    failed = target.commit_groups({group: left}, tick)[group] if rest else {}
    if isinstance(failed, MirrorError):
        raise failed
    for problem in failed.values():
        raise problem


def _removals(
    flow: str, shard: int, ledgers: Ledgers, topics: Collection[str], decided_by: str, now_ms: int
) -> Iterator[StateRecord]:
    for part, ledger in ledgers.items():
        if part.topic not in topics:
            continue
        yield from removals(flow, shard, ledger.entries)
        latest = ledger.latest
        incident = Incident(
            kind=IncidentKind.FORGOTTEN,
            topic=part.topic,
            partition=part.partition,
            at_ms=now_ms,
            start=ledger.entries[0].first,
            end=latest.next_offset,
            records=ledger.records,
            decided_by=decided_by,
        )
        yield incident_record(flow, incident)
