"""Reading what MirrorMaker 2 left of a flow's topics, on either cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from airflow_provider_mm2.mirror.clusters import mm2_topics
from airflow_provider_mm2.mirror.clusters.naming import DefaultReplicationPolicy, ReplicationPolicy, policy_of
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, TargetCluster, Tick
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import PARTITION, Checkpoint, OffsetSync
from airflow_provider_mm2.mirror.offsets.mm2_positions import Mm2State
from airflow_provider_mm2.mirror.offsets.positions import Origin, Topics
from airflow_provider_mm2.mirror.offsets.sync_store import OffsetSyncStore, SyncHistory
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow

T = TypeVar("T")

DOTTED = DefaultReplicationPolicy(source_alias="", separator=".")
"""How internal topics are named where ``replication.policy.internal.topic.separator.enabled`` is false."""


def read_mm2_state(flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> Mm2State | None:
    """What MirrorMaker 2 left of the flow's topics; None where it left nothing.

    Offset syncs are looked for on the target first and then on the source, where MirrorMaker 2 keeps them by default.

    :raises MirrorError: a topic of its is there and cannot be read to its end.
    """
    counts = pair.source.list_topics()
    selected = select_topics(flow, policy_of(flow), counts).topics
    topics: Topics = {name: (target, counts[name]) for name, target in selected.items()}
    places = {
        Origin.SYNCS_ON_TARGET: (pair.target, flow.source.alias),
        Origin.SYNCS_ON_SOURCE: (pair.source, flow.target.alias),
    }
    return _read_state(flow, pair.target, places, topics, tick)


def read_mm2_state_on_target(flow: MirrorFlow, target: TargetCluster, topics: Topics, tick: Tick) -> Mm2State | None:
    """What it left there of these topics, for when the source is not asked; None where it left nothing.

    :raises MirrorError: as :func:`read_mm2_state`.
    """
    return _read_state(flow, target, {Origin.SYNCS_ON_TARGET: (target, flow.source.alias)}, topics, tick)


def _read_state(
    flow: MirrorFlow,
    target: TargetCluster,
    places: Mapping[Origin, tuple[ClusterReader, str]],
    topics: Topics,
    tick: Tick,
) -> Mm2State | None:
    """What lies on the target and at these places; of a way home nothing does, and the names mean the way there."""
    if isinstance(flow, ReverseFlow):
        return None
    policy, odd = policy_of(flow), list[str]()
    stores = {
        origin: _read_syncs(cluster, _names(mm2_topics.offset_syncs_topic, policy, alias), topics, tick, odd)
        for origin, (cluster, alias) in places.items()
    }
    syncs = {origin: store for origin, store in stores.items() if not store.is_empty}
    names = _names(mm2_topics.checkpoints_topic, policy, flow.source.alias)
    checkpoints, newest_ms = _read_checkpoints(target, names, frozenset(name for name, _ in topics.values()), tick, odd)
    if not syncs and not checkpoints:
        return None
    behind = frozenset(part for store in syncs.values() for part in store.behind())
    warnings = [
        f"{part}: MirrorMaker 2 mirrors it again and has not come to where it was; what it had mirrored before lies "
        "before the positions given"
        for part in sorted(behind)
    ]
    return Mm2State(
        topics=topics,
        syncs=syncs,
        checkpoints=checkpoints,
        newest_checkpoint_ms=newest_ms,
        logs=_target_logs(target, topics),
        behind=behind,
        warnings=(*odd, *warnings),
    )


def topics_on_target(flow: MirrorFlow, target: ClusterReader) -> Topics:
    """The flow's topics by what they are called on the target, for when the source is not asked."""
    policy, counts = policy_of(flow), dict[str, tuple[str, int]]()
    for name, partitions in target.list_topics().items():
        upstream = policy.upstream_topic(name)
        if upstream is not None and policy.topic_source(name) == flow.source.alias:
            counts[upstream] = (name, partitions)
    return {name: counts[name] for name in select_topics(flow, policy, counts).topics}


def warn_of_syncs(flow: MirrorFlow, source: ClusterReader) -> tuple[str, ...]:
    """A warning where MirrorMaker 2 keeps its offset syncs on the source, as it does by default: K80.

    Nothing of this flow's own topics depends on them.
    """
    names = _names(mm2_topics.offset_syncs_topic, policy_of(flow), flow.target.alias)
    there, alias = source.list_topics(), flow.source.alias
    return tuple(
        f"MirrorMaker 2 keeps its offset syncs on the source ({name} on {alias}): once {alias} is gone they are out of "
        "reach, and a failover of what it mirrored must rely on its checkpoints alone. What this flow mirrored does "
        "not need them; offset-syncs.topic.location=target in MirrorMaker 2 puts them where they survive"
        for name in names
        if name in there
    )


def _names(name: Callable[[ReplicationPolicy, str], str], policy: ReplicationPolicy, alias: str) -> list[str]:
    return list(dict.fromkeys((name(policy, alias), name(DOTTED, alias))))


def _read_syncs(
    cluster: ClusterReader, names: list[str], topics: Topics, tick: Tick, odd: list[str]
) -> OffsetSyncStore:
    """Every sync of the flow's topics: the whole topic is read, so none needs to be thinned."""
    store = OffsetSyncStore(history=SyncHistory.ALL)
    for _, sync in _read(cluster, names, OffsetSync.decode, tick, odd):
        if sync.topic in topics:
            store.add(sync)
    store.mark_read()
    return store


def _read_checkpoints(
    target: TargetCluster, names: list[str], topics: frozenset[str], tick: Tick, odd: list[str]
) -> tuple[dict[tuple[str, TopicPartition], Checkpoint], int | None]:
    """The newest of each, and when the newest of all was written."""
    read = _read(target, names, Checkpoint.decode, tick, odd)
    found = [(stamped_ms, each) for stamped_ms, each in read if each.topic in topics]
    newest_ms = max((stamped_ms for stamped_ms, _ in found if stamped_ms is not None), default=None)
    return {(each.group, each.target): each for _, each in found}, newest_ms


def _read(
    cluster: ClusterReader,
    names: list[str],
    decode: Callable[[bytes | None, bytes | None], T],
    tick: Tick,
    odd: list[str],
) -> Iterator[tuple[int | None, T]]:
    """Records of the topics that are there, with their time; one that cannot be decoded is passed over and told."""
    for name in sorted(cluster.describe_topics(names)):
        for record in cluster.read_state(TopicPartition(name, PARTITION), tick):
            try:
                yield record.timestamp_ms, decode(record.key, record.value)
            except ValueError as error:
                odd.append(f"{name}-{PARTITION} at {record.offset} is passed over: {error}")


def _target_logs(target: TargetCluster, topics: Topics) -> Mapping[TopicPartition, LogOffsets]:
    present = target.describe_topics([name for name, _ in topics.values()])
    return target.log_offsets(
        [
            TopicPartition(name, number)
            for name, count in topics.values()
            if name in present
            for number in range(min(count, present[name].partitions))
        ]
    )
