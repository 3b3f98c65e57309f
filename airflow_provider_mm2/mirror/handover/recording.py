"""The flow record of a flow that connectors mirror: made when they are first put, asked before they may work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, TargetCluster, Tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.state_topics import ensure_state_topics, record_flow
from airflow_provider_mm2.mirror.interval.survey import wanted_record
from airflow_provider_mm2.mirror.state.control import control_lease
from airflow_provider_mm2.mirror.state.gate import check_engine_on_record, check_open, find_gate
from airflow_provider_mm2.mirror.state_model import Engine


def check_connectors_may_work(flow: MirrorFlow, target: TargetCluster, tick: Tick) -> bool:
    """Refuse to let connectors work beside runs; whether the flow is on record.

    :raises EngineDiffers: runs mirror it.
    :raises HandOverUnderWay: nothing may, until that is finished.
    :raises FlowFrozen: a failover has stopped it.
    """
    record = find_gate(target, flow.name, tick)
    if record is not None:
        check_open(record)
        check_engine_on_record(record, Engine.CONNECT)
    return record is not None


@contextmanager
def connectors_at_work(flow: MirrorFlow, pair: ClusterPair, *, owner: str, tick: Tick) -> Iterator[Tick]:
    """Let connectors work, by the record and under the control lease: nobody hands the flow over meanwhile.

    On the first time it goes on record that connectors mirror the flow. Gives a tick that keeps the lease: whoever has
    lost it must not ask for anything any more.

    :raises LeaseHeld: a hand-over or a failover is at work.
    :raises MirrorError: as :func:`check_connectors_may_work`; or the flow's own topics cannot be made.
    """
    record = None if check_connectors_may_work(flow, pair.target, tick) else wanted_record(flow, pair)
    if record is not None:
        ensure_state_topics(flow, pair)
    with control_lease(flow, pair.target, owner, tick) as lease:
        keep = lease.keeping(tick)
        if record is not None:
            record_flow(flow, pair, record, lease, keep)
        check_connectors_may_work(flow, pair.target, keep)
        yield keep
