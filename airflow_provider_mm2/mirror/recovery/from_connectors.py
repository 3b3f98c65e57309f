"""Failing over a flow that connectors mirror: they are stopped, and from there on it is one that runs mirror.

With the source there the flow is handed over to runs, and the drain is a run that copies what is left. Without it the
connectors' offsets and checkpoints are put on record as they are. Either way the connectors stay stopped: after a
rollback the flow is handed over to them again by a person.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.connect.source_offsets import SourceOffsets
from airflow_provider_mm2.mirror.errors import FailoverRefused, MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.handover.hand_over import as_connect_flow
from airflow_provider_mm2.mirror.handover.to_runs import to_runs
from airflow_provider_mm2.mirror.handover.without_source import take_without_source
from airflow_provider_mm2.mirror.handover.work import HandOverWork
from airflow_provider_mm2.mirror.recovery.record import Order
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.recovery.work import Detail, Work
from airflow_provider_mm2.mirror.state.engines import with_engine
from airflow_provider_mm2.mirror.state_model import Engine, FlowRecord


def check_connectors(
    flow: MirrorFlow,
    order: Order,
    record: FlowRecord,
    connectors: Callable[[], FlowConnectors] | None,
    tick: Tick,
) -> None:
    """What cannot be done while connectors mirror a flow, before anything is.

    :param connectors: gives the way to them.
    :raises FailoverRefused: only some groups are to move, and the connectors go on for the others.
    :raises HandOverRefused: the flow does not say where its Connect cluster is.
    :raises ConnectorMissing: the connector that copies is not there, so nobody could say how far it is.
    :raises EndpointUnreachable: the Connect cluster does not answer.
    """
    if record.engine is Engine.BOUNDED:
        return
    as_connect_flow(flow)
    if record.engine is Engine.CONNECT and connectors is not None:
        SourceOffsets(connectors=connectors()).see_there(tick)
    if not order.is_whole:
        problem = (
            "connectors mirror it, and they are stopped by a failover, so only all of it can move; for some groups "
            f"hand it over to runs first, with engine: bounded and `mm2 hand-over {flow.name} --apply`"
        )
        raise FailoverRefused(flow=flow.name, problems=(problem,))


def take_from_connectors(work: Work) -> Detail:
    """Stop the connectors for good, and put on record what they have copied; nothing to do where runs mirror."""
    record = work.record
    if record.engine is Engine.BOUNDED:
        return {}
    if work.connectors is None:
        raise RuntimeError("whoever fails over a flow that connectors mirror brings the way to them")
    hand_over = HandOverWork(
        flow=with_engine(work.given, Engine.BOUNDED),
        pair=work.reachable,
        offsets=SourceOffsets(connectors=work.connectors()),
        owner=work.owner,
        tick=work.journal.keep,
        say=work.report,
        lease=work.journal.lease,
    )
    try:
        if work.order.mode is Mode.PLANNED:
            partitions = len(to_runs(hand_over, apply=True).partitions)
        else:
            partitions = len(take_without_source(hand_over, record, work.journal.lease, work.journal.keep))
    except MirrorError:
        with suppress(MirrorError):
            work.journal.open()  # so that the failure can be put on record
        raise
    work.journal.open()  # the flow record was written anew
    return {"connectors": "stopped, and the flow is handed over to runs", "partitions_taken": partitions}
