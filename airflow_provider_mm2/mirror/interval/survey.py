"""What stands on both clusters before a run: read only, so that ``mm2 plan`` can show it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.clusters.selection import Selection, select_topics
from airflow_provider_mm2.mirror.errors import (
    FlowChanged,
    SameCluster,
    StateDamaged,
    TargetTopicClaimed,
    WayHomeNotPrepared,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.carried import Settings
from airflow_provider_mm2.mirror.interval.opposite import Direction, check_opposite_flows
from airflow_provider_mm2.mirror.interval.plan import check_named, check_selection
from airflow_provider_mm2.mirror.model import TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow
from airflow_provider_mm2.mirror.state.claims import claims_of_others
from airflow_provider_mm2.mirror.state.gate import check_engine_on_record, check_open, find_gate
from airflow_provider_mm2.mirror.state.ledger import read_ledger
from airflow_provider_mm2.mirror.state.topic_settings import OwnSettings, read_topic_settings
from airflow_provider_mm2.mirror.state_model import Engine, FlowRecord, PartitionLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Both clusters as a run finds them; ``record`` is what the gate has or, before the first run, would get.

    ``gone``: source topics that were mirrored and are not on the source any more. ``own_settings``: what the mirror has
    set on target topics. ``target_brokers``: counted where the flow gives a replication factor. ``notes``: what could
    not be looked at, for people.
    """

    record: FlowRecord
    recorded: bool
    ledger: Mapping[TopicPartition, PartitionLedger]
    selection: Selection
    source_topics: Mapping[str, TopicInfo]
    target_topics: Mapping[str, TopicInfo]
    source_settings: Mapping[str, Settings]
    target_settings: Mapping[str, Settings]
    gone: tuple[str, ...]
    own_settings: Mapping[str, OwnSettings] = field(default_factory=dict)
    target_brokers: int = 0
    state_topics_missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def max_record_bytes(self) -> int:
        """Largest record that a selected source topic may hold."""
        sizes = (settings.get("max.message.bytes") for settings in self.source_settings.values())
        return max((int(size.value) for size in sizes if size is not None and size.value), default=1_048_588)


def survey_flow(flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> Survey:
    """Read what stands on both clusters and refuse what can never be mirrored.

    :raises MirrorError: one cluster twice, a changed or frozen flow, an impossible selection, a claimed topic.
    """
    wanted = wanted_record(flow, pair)
    record, ledger = _recorded_state(flow, pair, tick)
    if record is not None:
        check_record(record, wanted)
    elif ledger:
        problem = "the ledger holds progress of this flow, and its flow record is missing"
        raise StateDamaged(topic=naming.gate_topic(flow.name), partition=0, offset=0, problem=problem)
    elif isinstance(flow, ReverseFlow):
        raise WayHomeNotPrepared(flow=flow.name, forward=flow.forward.name)
    mirrored = {source.topic for source in ledger}
    listed = pair.source.list_topics()
    selection = select_topics(flow, naming.policy_of(flow), listed)
    check_named(flow, selection)
    selection = _without_own_heartbeats(pair, selection, mirrored)
    check_selection(flow, selection, mirrored)
    ours = Direction(
        flow=flow.name, source_cluster_id=wanted.source_cluster_id, target_cluster_id=wanted.target_cluster_id
    )
    notes = check_opposite_flows(pair.source, listed, selection.topics, ours, tick)
    source_topics = pair.source.describe_topics(list(selection.topics))
    targets = [selection.topics[name] for name in source_topics]
    target_topics = pair.target.describe_topics(targets)
    _check_claims(flow, pair, set(targets) & set(target_topics), tick)
    return Survey(
        record=record or wanted,
        recorded=record is not None,
        ledger=ledger,
        selection=selection,
        source_topics=source_topics,
        target_topics=target_topics,
        source_settings=pair.source.topic_settings(list(source_topics)),
        target_settings=pair.target.topic_settings(list(target_topics)),
        gone=tuple(sorted(mirrored - set(source_topics) - set(selection.left_out))),
        own_settings=read_topic_settings(pair.target, flow.name, tick) if record else {},
        target_brokers=pair.target.broker_count() if flow.replication_factor or flow.internal_replication_factor else 0,
        state_topics_missing=_state_topics_missing(flow, pair),
        notes=notes,
    )


def _state_topics_missing(flow: MirrorFlow, pair: ClusterPair) -> tuple[str, ...]:
    names = (naming.gate_topic(flow.name), naming.ledger_topic(flow.name))
    present = pair.target.describe_topics(names)
    return tuple(name for name in names if name not in present)


def _without_own_heartbeats(pair: ClusterPair, selection: Selection, mirrored: set[str]) -> Selection:
    """Leave the source's heartbeats out where our own stand in their place: they were there before it had any."""
    name = naming.HEARTBEATS_TOPIC
    target = selection.topics.get(name)
    if target is None or name in mirrored or target not in pair.target.describe_topics([target]):
        return selection
    place = TopicPartition(target, 0)
    if pair.target.log_offsets([place])[place].end == 0:
        return selection
    topics = {source: remote for source, remote in selection.topics.items() if source != name}
    rule = f"the mirror's own heartbeats stand in {target!r}"
    return Selection(topics=topics, left_out={**selection.left_out, name: rule})


def wanted_record(flow: MirrorFlow, pair: ClusterPair) -> FlowRecord:
    """The flow record that fits the settings given.

    :raises SameCluster: both sides are one cluster.
    """
    source_id, target_id = pair.source.cluster_id(), pair.target.cluster_id()
    if source_id == target_id:
        raise SameCluster(cluster_id=source_id, source=flow.source.alias, target=flow.target.alias)
    return FlowRecord(
        flow=flow.name,
        source_alias=flow.source.alias,
        target_alias=flow.target.alias,
        policy=flow.replication_policy,
        separator=flow.separator,
        source_cluster_id=source_id,
        target_cluster_id=target_id,
        shards=flow.shards,
        delivery=flow.delivery,
        engine=Engine(flow.engine),
    )


IDENTITY = ("source_alias", "target_alias", "policy", "separator", "source_cluster_id", "target_cluster_id")
"""What makes a flow the same one, beside its name; addresses may change."""


def check_record(record: FlowRecord, wanted: FlowRecord) -> None:
    """Hold what is recorded against the settings given, and refuse while the gate is shut.

    :raises FlowChanged: a recorded fact differs.
    :raises FlowFrozen: a failover forbids mirror runs.
    :raises MirrorError: another engine mirrors the flow; see ``check_engine_on_record``.
    """
    check_facts(record, wanted, (*IDENTITY, "shards"))
    check_open(record)
    check_engine_on_record(record, wanted.engine)


def check_facts(record: FlowRecord, wanted: FlowRecord, names: Collection[str] = IDENTITY) -> None:
    """Hold recorded facts of a flow against the settings given.

    :raises FlowChanged: one differs.
    """
    for name in names:
        recorded, given = getattr(record, name), getattr(wanted, name)
        if recorded != given:
            setting = name.replace("_", " ")
            raise FlowChanged(flow=record.flow, setting=setting, recorded=str(recorded), given=str(given))


def _recorded_state(
    flow: MirrorFlow, pair: ClusterPair, tick: Tick
) -> tuple[FlowRecord | None, Mapping[TopicPartition, PartitionLedger]]:
    """The ledger first: who wrote to it had written the gate before, so the gate read after it shows that.

    The other order took another attempt's first ledger record for damage when this one slept in between.
    """
    ledger = naming.ledger_topic(flow.name)
    present = pair.target.describe_topics([ledger])
    entries: dict[TopicPartition, PartitionLedger] = {}
    for shard in range(present[ledger].partitions if ledger in present else 0):
        entries.update(read_ledger(pair.target, flow.name, shard, tick))
    return find_gate(pair.target, flow.name, tick), entries


def _check_claims(flow: MirrorFlow, pair: ClusterPair, targets: set[str], tick: Tick) -> None:
    """Two flows on one target topic would double everything, and neither would notice."""
    if not targets:
        return
    claims = claims_of_others(pair.target, flow.name, tick)
    shared = targets & claims.keys()
    if shared:
        raise TargetTopicClaimed(target_topic=min(shared), group=claims[min(shared)])
