"""The flow's own topics and its record: made by its first run, held against its settings by every later one."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import StateTopicUnfit
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.replicas import check_replicas
from airflow_provider_mm2.mirror.interval.survey import check_record
from airflow_provider_mm2.mirror.model import NewTopic
from airflow_provider_mm2.mirror.state.gate import read_gate, write_gate
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state_model import FlowRecord


def ensure_state_topics(flow: MirrorFlow, pair: ClusterPair) -> frozenset[str]:
    """Create the internal topics on first use, check them on later ones; gives the settings that brokers know.

    :raises StateTopicUnfit: one has other properties than it needs.
    :raises TooFewReplicas: no write to one could succeed.
    """
    partitions = {naming.gate_topic(flow.name): 1, naming.ledger_topic(flow.name): flow.shards}
    present = pair.target.describe_topics(list(partitions))
    for name, info in present.items():
        if info.partitions != partitions[name]:
            problem = f"it has {info.partitions} partition(s), needed are {partitions[name]}"
            raise StateTopicUnfit(topic=name, problem=problem)
    settings = dict(pair.target.topic_settings(list(present)))
    for name, found in settings.items():
        policy = found.get("cleanup.policy")
        if policy is not None and policy.value != "compact":
            raise StateTopicUnfit(topic=name, problem=f"its cleanup.policy is {policy.value!r}, needed is 'compact'")
    missing = [name for name in partitions if name not in present]
    pair.target.create_topics(
        [
            NewTopic(
                name=name,
                partitions=partitions[name],
                replication_factor=flow.internal_replication_factor,
                settings={"cleanup.policy": "compact"},
            )
            for name in missing
        ]
    )
    settings.update(pair.target.topic_settings(missing))
    check_replicas({**present, **pair.target.describe_topics(missing)}, settings)
    return frozenset(name for found in settings.values() for name in found)


def record_flow(flow: MirrorFlow, pair: ClusterPair, record: FlowRecord, lease: Lease, tick: Tick) -> None:
    """Write the first flow record, unless another first run just did; or the way of delivery, which may change.

    :raises FlowChanged: that one recorded something else.
    """
    standing = read_gate(pair.target, flow.name, tick)
    if standing is None:
        write_gate(pair.target, expected=None, new=record, lease=lease, tick=tick)
        return
    check_record(standing, record)
    if standing.delivery is not record.delivery:
        new = replace(standing, delivery=record.delivery)
        write_gate(pair.target, expected=standing, new=new, lease=lease, tick=tick)
