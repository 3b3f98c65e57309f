"""Where a flow stands: progress, lag and the recovery point. Works from the target alone when the source is gone."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, Tick
from airflow_provider_mm2.mirror.clusters.selection import Selection, select_topics
from airflow_provider_mm2.mirror.errors import (
    AuthenticationFailed,
    ClusterUnreachable,
    FlowNotPrepared,
    MirrorError,
    StateDamaged,
    TopicDeleted,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.incident_model import Incident
from airflow_provider_mm2.mirror.interval.health import Health, Standing, standing_health
from airflow_provider_mm2.mirror.interval.plan import check_named, check_selection
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.standing import stored_report
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state.incidents import describe, incident_json, read_incidents
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state_model import ActiveSide, FlowRecord, PartitionLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStatus:
    """A flow as it stands; ``source_problem`` says why nothing is known of the source.

    ``waiting``: partitions that the flow selects and nothing is recorded of, with their place on the target.
    ``retired``: topics that no run mirrors any more, with why; their progress stays until it is forgotten.
    """

    record: FlowRecord
    ledger: Mapping[TopicPartition, PartitionLedger]
    waiting: Mapping[TopicPartition, TopicPartition]
    source_logs: Mapping[TopicPartition, LogOffsets]
    unsaved_groups: tuple[TopicPartition, ...]
    source_problem: str | None
    groups: GroupsReport | None
    health: Health
    incidents: tuple[Incident, ...]
    now_ms: int
    retired: Mapping[str, str] = field(default_factory=dict)

    @property
    def rpo_s(self) -> float | None:
        """Seconds since the earliest time that every partition is mirrored through; None: nothing can be claimed.

        Nothing can while a partition that holds records was never mirrored. Topics that no run mirrors any more do not
        count: they would hold the claim back for ever.
        """
        if any(self.source_logs[part].end > self.source_logs[part].start for part in self.waiting):
            return None
        through = [each.latest.through_ms for part, each in self.ledger.items() if part.topic not in self.retired]
        known = [moment for moment in through if moment is not None]
        return (self.now_ms - min(known)) / 1000 if known and len(known) == len(through) else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is worth knowing and stops nothing."""
        unsaved = (
            f"{part}: the progress group has no offset (expired or deleted); the ledger decides and the next run "
            "restores it"
            for part in self.unsaved_groups
        )
        accepted = (f"the next run accepts this: {describe(incident)}" for incident in self.health.accepted)
        retired = (
            f"topic {name!r} is not mirrored any more ({why}); its progress stays until mm2 forget --topic {name}"
            for name, why in sorted(self.retired.items())
        )
        shut = () if self.record.active_side is ActiveSide.SOURCE else (self._away(),)
        return (*shut, *unsaved, *accepted, *retired, *(() if self.groups is None else self.groups.told))

    def _away(self) -> str:
        name = self.record.flow
        return f"the target is the active side: no run is due, and `mm2 failback {name}` brings home what it has taken"

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 status --json``."""
        return {
            "flow": self.record.flow,
            "active_side": self.record.active_side.value,
            "frozen": self.record.frozen,
            "delivery": self.record.delivery.value,
            "delivery_cost": self.record.delivery.cost,
            "partitions": [
                self._row(part) if part in self.ledger else self._waiting_row(part)
                for part in sorted((*self.ledger, *self.waiting))
            ],
            "rpo_s": self.rpo_s,
            "groups": None if self.groups is None else self.groups.counts(),
            "source_problem": self.source_problem,
            "problems": [{"kind": type(error).__name__, "message": str(error)} for error in self.health.problems],
            "incidents": [incident_json(incident) for incident in self.incidents],
            "warnings": list(self.warnings),
        }

    def _waiting_row(self, part: TopicPartition) -> dict[str, Any]:
        log = self.source_logs[part]
        return {
            "topic": part.topic,
            "partition": part.partition,
            "progress": None,
            "source_end": log.stable,
            "lag": log.stable - log.start,
            "mirrored_through": None,
            "target_topic": self.waiting[part].topic,
            "target_end": None,
            "records": 0,
            "open_transaction_at": None if log.stable == log.end else log.stable,
        }

    def _row(self, part: TopicPartition) -> dict[str, Any]:
        latest, log = self.ledger[part].latest, self.source_logs.get(part)
        return {
            "topic": part.topic,
            "partition": part.partition,
            "progress": latest.next_offset,
            "source_end": None if log is None else log.stable,
            "lag": None if log is None else max(0, log.stable - latest.next_offset),
            "mirrored_through": None if latest.through_ms is None else show(latest.through_ms),
            "target_topic": latest.target_topic,
            "target_end": latest.target_end,
            "records": self.ledger[part].records,
            "open_transaction_at": None if log is None or log.stable == log.end else log.stable,
        }


def read_recorded(
    flow: str, target: ClusterReader, *, tick: Tick
) -> tuple[FlowRecord, Mapping[TopicPartition, PartitionLedger]]:
    """What a flow has recorded on the target: the gate, and the ledger by source partition.

    :raises FlowNotPrepared: it never ran.
    :raises MirrorError: the target cannot be read.
    """
    record, topic = read_record(flow, target, tick=tick), naming.ledger_topic(flow)
    present = target.describe_topics([topic])
    return record, read_shards(target, flow, present[topic].partitions if topic in present else 0, tick)


def read_record(flow: str, target: ClusterReader, *, tick: Tick) -> FlowRecord:
    """The gate of a flow.

    :raises FlowNotPrepared: it never ran.
    :raises MirrorError: the target cannot be read.
    """
    record = find_gate(target, flow, tick)
    if record is None:
        raise FlowNotPrepared(flow=flow)
    return record


def flow_status(flow: MirrorFlow, pair: ClusterPair, *, tick: Tick) -> FlowStatus:
    """Read where a flow stands.

    :raises FlowNotPrepared: it never ran.
    :raises MirrorError: the target cannot be read.
    """
    record, ledger = read_recorded(flow.name, pair.target, tick=tick)
    targets = {part: entries.latest.target for part, entries in ledger.items()}
    alive = pair.target.describe_topics(sorted({target.topic for target in targets.values()}))
    asked = [target for target in targets.values() if target.topic in alive]
    committed = pair.target.committed(naming.progress_group(flow.name), asked, tick)
    counts, problem = _source_topics(pair)
    selection = select_topics(flow, naming.policy_of(flow), counts)
    waiting = _waiting(selection, counts, ledger)
    logs, gone = _source_logs(pair, [*ledger, *waiting]) if problem is None else ({}, problem)
    groups, damage = _groups(flow, pair, record, ledger, tick)
    waiting = {part: target for part, target in waiting.items() if part in logs}
    retired = _retired(flow, ledger, None if gone is not None else {part.topic for part in logs})
    alive_ledger = {part: each for part, each in ledger.items() if part.topic not in retired}
    standing = Standing(
        flow=flow, pair=pair, record=record, ledgers=alive_ledger, waiting=waiting, with_source=gone is None
    )
    is_open = record.active_side is ActiveSide.SOURCE and not record.frozen
    health = standing_health(standing, tick) if is_open else Health()
    damage = (*damage, *(() if gone is not None else _selection_problems(flow, selection, ledger)))
    return FlowStatus(
        record=record,
        ledger=ledger,
        waiting=waiting,
        source_logs=logs,
        unsaved_groups=tuple(part for part, target in targets.items() if target in asked and target not in committed),
        source_problem=gone,
        groups=groups,
        incidents=read_incidents(pair.target, flow.name, tick),
        health=replace(health, problems=(*health.problems, *damage)),
        now_ms=int(time.time() * 1000),
        retired=retired,
    )


def _selection_problems(
    flow: MirrorFlow, selection: Selection, ledger: Mapping[TopicPartition, PartitionLedger]
) -> tuple[MirrorError, ...]:
    """What stops the next run at its very beginning: what the flow selects on the source cannot be mirrored."""
    try:
        check_named(flow, selection)
        check_selection(flow, selection, {part.topic for part in ledger})
    except MirrorError as error:
        return (error,)
    return ()


def _retired(
    flow: MirrorFlow, ledger: Mapping[TopicPartition, PartitionLedger], on_source: Collection[str] | None
) -> dict[str, str]:
    """Topics with progress that no run mirrors any more: left out by the flow, or gone from the source.

    :param on_source: topics that the source has; None: it cannot be asked.
    """
    names = {part.topic for part in ledger}
    left_out = dict(select_topics(flow, naming.policy_of(flow), names).left_out)
    gone = {} if on_source is None else dict.fromkeys(names - set(on_source), "it is not on the source")
    return {**gone, **{name: f"left out: {rule}" for name, rule in left_out.items()}}


def _groups(
    flow: MirrorFlow,
    pair: ClusterPair,
    record: FlowRecord,
    ledger: Mapping[TopicPartition, PartitionLedger],
    tick: Tick,
) -> tuple[GroupsReport | None, tuple[MirrorError, ...]]:
    """Where groups stand, or why that cannot be told: what is known of the data is told all the same."""
    try:
        return stored_report(flow, pair.target, record, ledger, tick), ()
    except StateDamaged as error:
        return None, (error,)


def _source_topics(pair: ClusterPair) -> tuple[Mapping[str, int], str | None]:
    """The source's topics with their partition counts, or why it cannot be asked."""
    try:
        return pair.source.list_topics(), None
    except (ClusterUnreachable, AuthenticationFailed) as error:
        return {}, error.first_line


def _waiting(
    selection: Selection, counts: Mapping[str, int], ledger: Mapping[TopicPartition, PartitionLedger]
) -> dict[TopicPartition, TopicPartition]:
    """Partitions that the flow selects and nothing is recorded of, with their place on the target."""
    selected = dict(selection.topics)
    selected.pop(naming.HEARTBEATS_TOPIC, None)  # where ours stand the source's are left out
    places = {
        TopicPartition(name, number): TopicPartition(target, number)
        for name, target in selected.items()
        for number in range(counts[name])
    }
    return {part: target for part, target in places.items() if part not in ledger}


def _source_logs(
    pair: ClusterPair, parts: list[TopicPartition]
) -> tuple[Mapping[TopicPartition, LogOffsets], str | None]:
    """The source's logs, or why they cannot be had: a status is wanted most when the source is gone."""
    try:
        topics = pair.source.describe_topics(sorted({part.topic for part in parts}))
        present = [part for part in parts if part.topic in topics and part.partition < topics[part.topic].partitions]
        return pair.source.log_offsets(present), None
    except (ClusterUnreachable, AuthenticationFailed, TopicDeleted) as error:
        return {}, error.first_line
