"""Which engine mirrors a flow. Pure."""

from __future__ import annotations

from airflow_provider_mm2.mirror.errors import RunsOnConnect
from airflow_provider_mm2.mirror.flow import MirrorFlow


def check_engine(flow: MirrorFlow) -> None:
    """Refuse a run beside connectors that mirror the same: everything would come twice.

    :raises RunsOnConnect: the flow has ``engine: connect``.
    """
    if flow.engine == "connect":
        raise RunsOnConnect(flow=flow.name)
