"""The flow record of a flow that connectors mirror: made when they are first put, asked before they may work."""

from __future__ import annotations

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


def record_connectors(flow: MirrorFlow, pair: ClusterPair, *, owner: str, tick: Tick) -> None:
    """Write down that connectors mirror a flow, before they begin; on record already, nothing is written.

    :raises MirrorError: as :func:`check_connectors_may_work`; or the flow's own topics cannot be made.
    """
    if check_connectors_may_work(flow, pair.target, tick):
        return
    record = wanted_record(flow, pair)
    ensure_state_topics(flow, pair)
    with control_lease(flow, pair.target, owner, tick) as lease:
        record_flow(flow, pair, record, lease, lease.keeping(tick))
