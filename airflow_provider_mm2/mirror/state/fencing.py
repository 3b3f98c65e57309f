"""Ending every run of a flow that is at work, once the gate is shut for it.

A run fences its own id first and reads the gate after, so it either sees that the gate is shut or is fenced. Without
transactions nothing can be fenced: each shard's lease is taken for a moment, which shows that nobody is at work, and a
run that slept looks at the flow record before it writes its ledger.
"""

from __future__ import annotations

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import TargetCluster, Tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.state.lease import held_lease
from airflow_provider_mm2.mirror.state_model import Delivery, FlowRecord


def fence_runs(flow: MirrorFlow, target: TargetCluster, record: FlowRecord, owner: str, tick: Tick) -> list[str]:
    """End every writer of the flow's data; gives the transactional ids.

    :raises LeaseHeld: without transactions: a run is still at work.
    """
    ids = [naming.transactional_id(flow.name, number) for number in range(record.shards)]
    for each in ids:
        if record.delivery is Delivery.AT_LEAST_ONCE:
            group, topic = naming.lease_group(each), naming.gate_topic(flow.name)
            with held_lease(flow, target, group=group, topic=topic, owner=owner, tick=tick):
                continue
        writer = target.state_writer(each)
        try:
            writer.fence(tick)
        finally:
            writer.close()
    return ids
