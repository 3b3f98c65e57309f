"""Where a flow stands that connectors mirror: how they run, how far they are, and what is left to copy.

What they are to be asked for comes through Connect's REST interface. When that does not answer, Kafka still tells where
both sides end, and MirrorMaker 2's newest offset sync up to where each partition is copied at least.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, Tick
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.connect.report import StatusReport
from airflow_provider_mm2.mirror.errors import (
    COUNT_LIMIT,
    AuthenticationFailed,
    ClusterUnreachable,
    ConnectFailed,
    ConnectIdle,
    ConnectorNotOurs,
    EndpointRefused,
    EndpointTooSlow,
    EndpointUnreachable,
    MirrorError,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.incident_model import Incident
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.offsets.checkpointed import checkpointed_report
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.mm2_reading import read_mm2_state_on_target, topics_on_target
from airflow_provider_mm2.mirror.offsets.positions import Origin, Topics
from airflow_provider_mm2.mirror.offsets.standing import compare_with_target
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state.incidents import incident_json, read_incidents
from airflow_provider_mm2.mirror.state_model import ActiveSide, FlowRecord

Logs = Mapping[TopicPartition, LogOffsets]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStanding:
    """How far one partition is.

    :param progress: the next source offset to copy; None: nobody knows.
    :param at_least: what MirrorMaker 2's newest offset sync says of it, where Connect does not answer.
    :param source_log: None: the source does not answer.
    :param lag: records left to copy; beyond ``COUNT_LIMIT`` offsets.
    :param through_ms: all that was stamped before it is copied; None: that cannot be claimed.
    """

    source: TopicPartition
    target: TopicPartition
    progress: int | None
    at_least: int | None
    source_log: LogOffsets | None
    target_log: LogOffsets | None
    lag: int | None
    through_ms: int | None

    def to_json(self) -> dict[str, Any]:
        """The row of ``mm2 status --json``, with the keys of one of a run."""
        log = self.source_log
        return {
            "topic": self.source.topic,
            "partition": self.source.partition,
            "progress": self.progress,
            "at_least": self.at_least,
            "source_end": None if log is None else log.stable,
            "lag": self.lag,
            "mirrored_through": None if self.through_ms is None else show(self.through_ms),
            "target_topic": self.target.topic,
            "target_end": None if self.target_log is None else self.target_log.end,
            "records": None,
            "open_transaction_at": None if log is None or log.stable == log.end else log.stable,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectStanding:
    """A flow that connectors mirror, as it stands.

    :param record: None: no run ever mirrored it.
    :param connectors: None: Connect cannot be asked, for ``connect_problem``.
    """

    flow: MirrorFlow
    record: FlowRecord | None
    connectors: StatusReport | None
    connect_problem: MirrorError | None
    parts: tuple[PartStanding, ...]
    source_problem: str | None
    groups: GroupsReport | None
    incidents: tuple[Incident, ...]
    now_ms: int

    @property
    def rpo_s(self) -> float | None:
        """Seconds since the earliest time that every partition is copied through; None: nothing can be claimed."""
        if not self.parts or any(part.through_ms is None for part in self.parts):
            return None
        return (self.now_ms - min(part.through_ms or 0 for part in self.parts)) / 1000

    @property
    def problems(self) -> tuple[MirrorError, ...]:
        """Why nothing is copied, or nobody knows whether it is."""
        return tuple(self._problems())

    def _problems(self) -> Iterator[MirrorError]:
        if self.connect_problem is not None:
            yield self.connect_problem
        failures, waits = (self.connectors.failures, self.connectors.waits) if self.connectors else ([], [])
        if failures:
            yield ConnectFailed(flow=self.flow.name, failures=tuple(failures))
        elif waits and self._is_open:
            yield ConnectIdle(flow=self.flow.name, waits=tuple(waits))

    @property
    def _is_open(self) -> bool:
        """Whether no failover has stopped the connectors."""
        record = self.record
        return record is None or (record.active_side is ActiveSide.SOURCE and not record.frozen)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is worth knowing and stops nothing."""
        told = () if self.groups is None else self.groups.told
        if self.record is None or self.record.active_side is ActiveSide.SOURCE:
            return told
        away = "the target is the active side: nothing is due to be copied"
        return (f"{away}, and `mm2 failback {self.flow.name}` brings home what it has taken", *told)

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 status --json``."""
        record, connectors = self.record, self.connectors
        problem = self.connect_problem
        return {
            "flow": self.flow.name,
            "active_side": (ActiveSide.SOURCE if record is None else record.active_side).value,
            "frozen": record is not None and record.frozen,
            "delivery": self.flow.delivery.value,
            "delivery_cost": self.flow.delivery.cost,
            "connectors": None if connectors is None else [each.to_json() for each in connectors.connectors],
            "connect_problem": None if problem is None else problem.first_line,
            "partitions": [part.to_json() for part in self.parts],
            "rpo_s": self.rpo_s,
            "groups": None if self.groups is None else self.groups.counts(),
            "source_problem": self.source_problem,
            "problems": [{"kind": type(error).__name__, "message": str(error)} for error in self.problems],
            "incidents": [incident_json(incident) for incident in self.incidents],
            "warnings": list(self.warnings),
        }


def connect_standing(flow: MirrorFlow, pair: ClusterPair, connectors: FlowConnectors, *, tick: Tick) -> ConnectStanding:
    """Read where a flow stands; works without the source, and without Connect.

    :raises MirrorError: the target cannot be read.
    """
    status, problem = _asked(connectors, tick)
    on_target = topics_on_target(flow, pair.target)
    now_ms = int(time.time() * 1000)
    logs, gone = _source_logs(flow, pair.source)
    record = find_gate(pair.target, flow.name, tick)
    groups = checkpointed_report(flow, pair.target, tick=tick)
    return ConnectStanding(
        flow=flow,
        record=record,
        connectors=status,
        connect_problem=problem,
        parts=tuple(_parts(flow, pair, status, on_target, logs, now_ms, tick)),
        source_problem=gone,
        groups=None if groups is None else compare_with_target(pair.target, groups, tick),
        incidents=() if record is None else read_incidents(pair.target, flow.name, tick),
        now_ms=now_ms,
    )


def _asked(connectors: FlowConnectors, tick: Tick) -> tuple[StatusReport | None, MirrorError | None]:
    try:
        return connectors.status(tick), None
    except (EndpointUnreachable, EndpointTooSlow, EndpointRefused, ConnectorNotOurs) as error:
        return None, error


def _source_logs(flow: MirrorFlow, source: ClusterReader) -> tuple[Logs | None, str | None]:
    """The source's logs, or why they cannot be had: a status is wanted most when the source is gone."""
    try:
        return source_logs(flow, source), None
    except (ClusterUnreachable, AuthenticationFailed) as error:
        return None, error.first_line


def source_logs(flow: MirrorFlow, source: ClusterReader) -> Logs:
    """Logs of all partitions that the flow selects on the source, in order."""
    counts = source.list_topics()
    names = sorted(select_topics(flow, naming.policy_of(flow), counts).topics)
    parts = [TopicPartition(name, number) for name in names for number in range(counts[name])]
    logs = source.log_offsets(parts)
    return {part: logs[part] for part in parts}


def _parts(
    flow: MirrorFlow,
    pair: ClusterPair,
    status: StatusReport | None,
    on_target: Topics,
    logs: Logs | None,
    now_ms: int,
    tick: Tick,
) -> Iterator[PartStanding]:
    policy, progress = naming.policy_of(flow), {} if status is None else status.progress
    known = {TopicPartition(name, number) for name, (_, count) in on_target.items() for number in range(count)}
    every = sorted(logs) if logs is not None else sorted(known)
    places = {part: policy.format_remote_topic(flow.source.alias, part.topic) for part in every}
    there = {part: TopicPartition(places[part], part.partition) for part in every if part in known}
    target_logs = pair.target.log_offsets(list(there.values()))
    synced = _synced(flow, pair, on_target, tick) if status is None else {}
    for part in every:
        tick()
        log, at = None if logs is None else logs[part], progress.get(part)
        position = log.start if at is None and status is not None and log is not None else at
        left = (
            (None, None) if log is None or position is None else _left(pair.source, part, position, log, now_ms, tick)
        )
        yield PartStanding(
            source=part,
            target=TopicPartition(places[part], part.partition),
            progress=at,
            at_least=synced.get(part),
            source_log=log,
            target_log=target_logs.get(there[part]) if part in there else None,
            lag=left[0],
            through_ms=left[1],
        )


def next_to_copy(source: ClusterReader, part: TopicPartition, position: int, log: LogOffsets) -> tuple[int, int] | None:
    """Offset and timestamp of the first record from a position on that a reader sees; None: there is none yet.

    Markers and aborted records lie between the last copied record and the next one, so an offset alone tells little.
    """
    at = max(position, log.start)
    return source.first_visible(part, at, log.stable) if at < log.stable else None


def _left(
    source: ClusterReader, part: TopicPartition, position: int, log: LogOffsets, now_ms: int, tick: Tick
) -> tuple[int, int | None]:
    """Records left to copy, and the time through which all is copied: that of the first of them, else now."""
    following = next_to_copy(source, part, position, log)
    if following is None:
        return 0, now_ms if log.stable == log.end else None
    offset, stamped_ms = following
    records = source.count_visible(part, offset, log.stable, tick)
    lag = records if records < COUNT_LIMIT else log.stable - offset
    return lag, min(stamped_ms, now_ms) if stamped_ms >= 0 else None


def _synced(flow: MirrorFlow, pair: ClusterPair, topics: Topics, tick: Tick) -> dict[TopicPartition, int]:
    """Up to where each partition is copied at least, by the newest offset sync on the target."""
    state = read_mm2_state_on_target(flow, pair.target, topics, tick)
    store = None if state is None else state.syncs.get(Origin.SYNCS_ON_TARGET)
    return {} if store is None else {part: sync.source_offset + 1 for part, sync in store.latest().items()}
