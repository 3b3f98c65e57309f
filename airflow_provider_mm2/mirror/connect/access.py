"""From a flow to its Connect cluster: the REST interface, and the settings that its connectors are given."""

from __future__ import annotations

import os
from collections.abc import Mapping

from airflow_provider_mm2.mirror.connect.connectors import Connector, connectors_of
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.connect.java_settings import for_the_worker
from airflow_provider_mm2.mirror.connect.rest import ConnectRest
from airflow_provider_mm2.mirror.errors import ConnectVariableMissing, NotAConnectFlow
from airflow_provider_mm2.mirror.flow import ClusterSettings, MirrorFlow
from airflow_provider_mm2.mirror.setting_text import VARIABLE
from airflow_provider_mm2.mirror.web.endpoint import HttpAccess, web_of


def connectors_at(
    flow: MirrorFlow,
    *,
    access: HttpAccess | None = None,
    environment: Mapping[str, str] | None = None,
) -> FlowConnectors:
    """A flow's connectors; nothing is contacted yet.

    :param access: what the Airflow connection says that the flow names; needed where it names one.
    :param environment: where ``${NAME}`` is looked up, default the process's environment.
    :raises NotAConnectFlow: the flow has another engine.
    :raises ConnectVariableMissing: a variable is not set.
    """
    if flow.engine != "connect":
        raise NotAConnectFlow(flow=flow.name)
    rest = connect_rest(flow, access=access, environment=environment)
    return FlowConnectors(flow=flow, rest=rest, secrets=_known_secrets(flow, environment))


def _known_secrets(flow: MirrorFlow, environment: Mapping[str, str] | None) -> tuple[Mapping[str, object], ...]:
    """Settings whose variables a worker fills in, as far as this process has them: a worker may quote their values."""
    variables = os.environ if environment is None else environment
    return tuple(
        {
            key: VARIABLE.sub(lambda match: variables.get(match[1], match[0]), str(value))
            for key, value in (cluster.settings or {}).items()
        }
        for cluster in (flow.source, flow.target)
    )


def connect_rest(
    flow: MirrorFlow, *, access: HttpAccess | None = None, environment: Mapping[str, str] | None = None
) -> ConnectRest:
    """The REST interface that a flow names.

    :raises ConnectVariableMissing: a variable is not set.
    """
    variables = os.environ if environment is None else environment

    def fill(text: str) -> str:
        missing = [name for name in VARIABLE.findall(text) if name not in variables]
        if missing:
            raise ConnectVariableMissing(flow=flow.name, variable=missing[0])
        return VARIABLE.sub(lambda match: variables[match[1]], text)

    given = flow.connect
    web = web_of(given, given.url or "", fill) if access is None else access.web(given, fill)
    return ConnectRest(web=web, wait_s=given.wait_s)


def wanted_connectors(flow: MirrorFlow, settings: Mapping[str, Mapping[str, object]]) -> tuple[Connector, ...]:
    """The connectors as they are to be.

    :param settings: of both clusters by alias, every variable filled in.
    :raises NotOnConnect: the flow asks what MirrorMaker 2 cannot do.
    """
    return connectors_of(flow, {side.alias: _sent(flow, side, settings) for side in (flow.source, flow.target)})


def _sent(
    flow: MirrorFlow, cluster: ClusterSettings, settings: Mapping[str, Mapping[str, object]]
) -> Mapping[str, object]:
    is_workers = flow.connect.variables == "worker" and cluster.settings is not None
    return for_the_worker(cluster) if is_workers else settings[cluster.alias]
