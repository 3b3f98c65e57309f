"""One look at the clusters: is a condition met as things stand. Nothing is written, joined or committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from threading import Event

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, Tick
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.conditions.condition import (
    Condition,
    ConnectRunning,
    GroupCaughtUp,
    GroupLeftSource,
    LagBelow,
    MirroredThrough,
)
from airflow_provider_mm2.mirror.conditions.connectors import look_at_connectors
from airflow_provider_mm2.mirror.conditions.finding import Finding, Holding
from airflow_provider_mm2.mirror.conditions.judge import (
    judge_caught_up,
    judge_lag,
    judge_left,
    judge_through,
    not_begun,
)
from airflow_provider_mm2.mirror.conditions.on_connect import look_at_group, look_at_progress
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.errors import (
    FlowNotPrepared,
    GroupUnknown,
    MirrorError,
    NotAConnectFlow,
    RunsOnConnect,
    Stopped,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupState
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.reading import read_mirror
from airflow_provider_mm2.mirror.state.snapshot import read_snapshot
from airflow_provider_mm2.mirror.state_model import PartitionLedger
from airflow_provider_mm2.mirror.status import read_record, read_recorded


def look(
    condition: Condition,
    flow: MirrorFlow,
    pair: ClusterPair,
    *,
    stop: Event,
    connectors: FlowConnectors | None = None,
) -> Finding:
    """Whether a condition is met now.

    ``MirroredThrough`` and ``GroupCaughtUp`` ask the target alone, ``LagBelow`` both, ``GroupLeftSource`` the source,
    ``ConnectRunning`` the Connect cluster and, for a time, the source. Of a flow with ``engine: connect`` the first and
    ``LagBelow`` ask the Connect cluster and the source.

    :raises RunsOnConnect: connectors have to be asked, and are not given.
    :param connectors: of a flow with ``engine: connect``.
    :param stop: ends it within a second, or when the cluster's answer under way has come.
    :raises Stopped: it was asked to.
    :raises MirrorError: a cluster that has to be asked does not answer, or what it says cannot be believed.
    """

    def tick() -> None:
        if stop.is_set():
            raise Stopped

    tick()
    if isinstance(condition, GroupLeftSource):
        return _look_left(condition, flow, pair, tick)
    if isinstance(condition, ConnectRunning):
        if connectors is None:
            raise NotAConnectFlow(flow=flow.name)
        return look_at_connectors(condition, flow, pair.source, connectors, tick)
    if flow.engine == "connect":
        return _look_on_connect(condition, flow, pair, tick, connectors)
    try:
        if isinstance(condition, MirroredThrough):
            return _look_through(condition, flow, pair, tick)
        if isinstance(condition, LagBelow):
            return _look_lag(condition, flow, pair, tick)
        return _look_caught_up(condition, flow, pair, tick)
    except FlowNotPrepared:
        return not_begun(flow.name)


def watch(
    condition: Condition,
    flow: MirrorFlow,
    pair: ClusterPair,
    *,
    stop: Event,
    every_s: float,
    report: Callable[[Finding], None],
    connectors: FlowConnectors | None = None,
) -> Finding:
    """Look once; where the condition has to hold for a time, look on until it has, or does not hold any more.

    :param every_s: longest time between two looks.
    :param report: is given each finding.
    :raises MirrorError: as :func:`look`.
    """
    holding = Holding(condition.for_s)
    while True:
        finding = holding.add(look(condition, flow, pair, stop=stop, connectors=connectors))
        report(finding)
        left_s = holding.left_s
        if finding.met or left_s is None:
            return finding
        stop.wait(min(pause_s(condition.for_s, every_s), left_s))


def pause_s(for_s: float, every_s: float) -> float:
    """Time between two looks: a condition that has to hold for a time is looked at ten times in it."""
    return min(every_s, max(0.1, for_s / 10)) if for_s else every_s


def _look_on_connect(
    condition: MirroredThrough | LagBelow | GroupCaughtUp,
    flow: MirrorFlow,
    pair: ClusterPair,
    tick: Tick,
    connectors: FlowConnectors | None,
) -> Finding:
    if isinstance(condition, GroupCaughtUp):
        return look_at_group(condition, flow, pair, tick)
    if connectors is None:
        raise RunsOnConnect(flow=flow.name)
    return look_at_progress(condition, flow, pair.source, connectors, tick)


def _look_through(condition: MirroredThrough, flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> Finding:
    _, ledger = read_recorded(flow.name, pair.target, tick=tick)
    entries = {part: found.latest for part, found in ledger.items()}
    return judge_through(condition, entries, _not_begun_yet(flow, pair, ledger))


def _not_begun_yet(
    flow: MirrorFlow, pair: ClusterPair, ledger: Mapping[TopicPartition, PartitionLedger]
) -> set[TopicPartition]:
    """Partitions that the flow mirrors and that have no entry yet.

    Step 0 makes all target topics before the first shard copies, so the target's topics tell. Only where it has more
    of them than the ledger is the source asked, since a target topic may have been made with more partitions.
    """
    policy, on_target = naming.policy_of(flow), pair.target.list_topics()
    by_source: dict[str, int] = {}
    for name, partitions in on_target.items():
        upstream = policy.upstream_topic(name)
        if upstream is not None and policy.topic_source(name) == flow.source.alias:
            by_source[upstream] = partitions
    counts = Counter(part.topic for part in ledger)
    selected = select_topics(flow, policy, by_source).topics
    more = {name for name in selected if by_source[name] > counts[name] and _may_be_missing(name, counts)}
    on_source = pair.source.describe_topics(more) if more else {}
    expected = (TopicPartition(name, number) for name, info in on_source.items() for number in range(info.partitions))
    return {part for part in expected if part not in ledger and part.partition < by_source[part.topic]}


def _may_be_missing(topic: str, counts: Mapping[str, int]) -> bool:
    """Heartbeats are left out of a mirror when its own stand in their place."""
    return topic != naming.HEARTBEATS_TOPIC or topic in counts


def _look_lag(condition: LagBelow, flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> Finding:
    _, ledger = read_recorded(flow.name, pair.target, tick=tick)
    on_source = pair.source.list_topics()
    counts = Counter(part.topic for part in ledger)
    selected = select_topics(flow, naming.policy_of(flow), on_source).topics
    names = {name for name in selected if _may_be_missing(name, counts)} | (counts.keys() & on_source.keys())
    logs = pair.source.log_offsets(
        [TopicPartition(name, number) for name in sorted(names) for number in range(on_source[name])]
    )
    return judge_lag(condition, {part: found.latest.next_offset for part, found in ledger.items()}, logs)


def _look_caught_up(condition: GroupCaughtUp, flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> Finding:
    record = read_record(flow.name, pair.target, tick=tick)
    found = pair.target.group_offsets([condition.group], tick)[condition.group]
    if isinstance(found, MirrorError):
        raise found
    # The map after the group: what is mirrored in between only makes the lag larger.
    return judge_caught_up(condition, found, read_mirror(pair.target, record, tick))


def _look_left(condition: GroupLeftSource, flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> Finding:
    state = _state(pair.source, condition.group, tick)
    if not state.exists and not _is_known(condition.group, flow, pair, tick):
        looked_in = f"{flow.source.alias}, {flow.target.alias} and the snapshot of flow {flow.name}"
        raise GroupUnknown(group=condition.group, looked_in=looked_in)
    return judge_left(condition, state)


def _state(cluster: ClusterReader, group: str, tick: Tick) -> GroupState:
    found = cluster.describe_groups([group], tick)[group]
    if isinstance(found, MirrorError):
        raise found
    return found


def _is_known(group: str, flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> bool:
    """Whether a group that the source does not know was ever there: a misspelt one must not count as gone."""
    if _state(pair.target, group, tick).exists:
        return True
    return group in read_snapshot(pair.target, flow.name, tick).groups
