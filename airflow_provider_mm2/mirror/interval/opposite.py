"""Flows in the opposite direction: what they write on our source must not be carried back.

Names tell it where the default policy is used with the same aliases in both flows. Else only their state does, which
lies on their target, and that is our source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import MirrorError, OppositeFlow
from airflow_provider_mm2.mirror.state.gate import read_gate
from airflow_provider_mm2.mirror.state.ledger import read_ledger
from airflow_provider_mm2.mirror.state_model import ActiveSide, FlowRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """Our flow and its clusters, by their own ids."""

    flow: str
    source_cluster_id: str
    target_cluster_id: str


def check_opposite_flows(
    source: ClusterReader, listed: Mapping[str, int], selected: Collection[str], ours: Direction, tick: Tick
) -> tuple[str, ...]:
    """Refuse topics that an opposite flow writes; gives warnings of flows that cannot be seen.

    A flow whose active side is its target, or that is frozen, writes nothing: that is what a failover leaves. Our own
    way home writes nothing either while our gate is open: each of its runs looks at that gate.

    :param listed: all topics of the source with their partition counts.
    :raises OppositeFlow: a selected topic is what another flow mirrors from our target.
    """
    warnings: list[str] = []
    for flow in _flows(listed):
        if flow == ours.flow + naming.REVERSE:
            continue
        try:
            written = _written(source, listed, flow, ours, tick)
        except MirrorError as error:
            if error.retriable:
                raise
            warnings.append(
                f"what the flow {flow!r} writes on {source.alias!r} cannot be seen, so records that it brings from the "
                f"target would go round in a circle unnoticed: {error.first_line}"
            )
            continue
        shared = tuple(sorted(written & set(selected)))
        if shared:
            raise OppositeFlow(alias=source.alias, flow=flow, topics=shared)
    return tuple(warnings)


def _flows(listed: Collection[str]) -> Iterator[str]:
    """Flows with their state on a cluster."""
    for topic in sorted(listed):
        match = naming.GATE_NAME.fullmatch(topic)
        if match is not None:
            yield match["flow"]


def _written(source: ClusterReader, listed: Mapping[str, int], flow: str, ours: Direction, tick: Tick) -> set[str]:
    """Topics on our source that a flow writes, if it comes from our target and is at work."""
    record = read_gate(source, flow, tick)
    if record is None or not _is_opposite(record, ours):
        return set()
    shards = range(listed.get(naming.ledger_topic(flow), 0))
    ledgers = [read_ledger(source, flow, shard, tick) for shard in shards]
    return {found.latest.target_topic for ledger in ledgers for found in ledger.values()}


def _is_opposite(record: FlowRecord, ours: Direction) -> bool:
    clusters = (record.source_cluster_id, record.target_cluster_id)
    comes_from_our_target = clusters == (ours.target_cluster_id, ours.source_cluster_id)
    return comes_from_our_target and record.active_side is ActiveSide.SOURCE and not record.frozen
