"""Where a flow in the opposite direction ended, by its state on what is our source now: the failover point.

What that flow brought lies below it and came from our target in the first place; what applications have written since
the failover lies above it.
"""

from __future__ import annotations

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, Tick
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state.gate import read_gate
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state_model import ActiveSide, FlowRecord


def read_failover_points(pair: ClusterPair, tick: Tick) -> dict[TopicPartition, tuple[str, int]]:
    """Flow and end of what it brought, by partition of our source.

    :raises ValueError: no flow comes from our target, or one is still at work; says which.
    """
    clusters = (pair.target.cluster_id(), pair.source.cluster_id())
    opposite = [record for record in _records(pair.source, tick) if _clusters(record) == clusters]
    if not opposite:
        raise ValueError(f"no flow from {pair.target.alias!r} to {pair.source.alias!r} has left its state there")
    working = sorted(record.flow for record in opposite if not _has_failed_over(record))
    if working:
        raise ValueError(f"flow {', '.join(map(repr, working))} is still at work; fail it over first")
    points: dict[TopicPartition, tuple[str, int]] = {}
    for record in opposite:
        for ledger in read_shards(pair.source, record.flow, record.shards, tick).values():
            points[ledger.latest.target] = (record.flow, ledger.latest.target_end)
    return points


def _records(source: ClusterReader, tick: Tick) -> list[FlowRecord]:
    flows = [match["flow"] for topic in source.list_topics() if (match := naming.GATE_NAME.fullmatch(topic))]
    found = [read_gate(source, flow, tick) for flow in sorted(flows)]
    return [record for record in found if record is not None]


def _clusters(record: FlowRecord) -> tuple[str, str]:
    return record.source_cluster_id, record.target_cluster_id


def _has_failed_over(record: FlowRecord) -> bool:
    return record.frozen or record.active_side is ActiveSide.TARGET
