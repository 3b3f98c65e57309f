"""Handing a flow over to the engine that its file names. The file to read first."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.connect.connectors import Connector
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.connect.source_offsets import SourceOffsets
from airflow_provider_mm2.mirror.errors import HandOverRefused
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.handover.report import HandOverReport
from airflow_provider_mm2.mirror.handover.to_connectors import ToConnectors
from airflow_provider_mm2.mirror.handover.to_runs import to_runs
from airflow_provider_mm2.mirror.handover.work import HandOverWork, Say
from airflow_provider_mm2.mirror.state.engines import with_engine
from airflow_provider_mm2.mirror.state_model import Engine


def as_connect_flow(flow: MirrorFlow) -> MirrorFlow:
    """The flow as its connectors have it, whichever engine it names.

    :raises HandOverRefused: it does not say where its Connect cluster is.
    """
    if not flow.connect.is_given:
        problem = "it has no connect: block, which says where its Connect cluster is"
        cause = "the block was taken out with engine: connect, or it was never mirrored by connectors"
        raise HandOverRefused(flow=flow.name, problems=(problem,), cause=cause)
    return with_engine(flow, Engine.CONNECT)


def hand_over(
    flow: MirrorFlow,
    pair: ClusterPair,
    connectors: FlowConnectors,
    wanted: Sequence[Connector],
    *,
    apply: bool,
    owner: str,
    tick: Tick,
    say: Say,
) -> HandOverReport:
    """Let the engine that the flow names mirror it from here on; no record is lost or comes twice.

    Handed over already, nothing is done but to see that the connectors run.

    :param connectors: the flow's, whichever engine it names.
    :param wanted: its connectors as they are to be; only needed with ``engine: connect``.
    :param apply: without, it is only shown what would be done.
    :param say: told in a line what is being done.
    :raises MirrorError: see ``to_runs`` and ``to_connectors``.
    """
    offsets = SourceOffsets(connectors=connectors)
    work = HandOverWork(flow=flow, pair=pair, offsets=offsets, owner=owner, tick=tick, say=say)
    if flow.engine == "connect":
        return ToConnectors(work=work, wanted=wanted).do(apply=apply)
    return to_runs(work, apply=apply)
