"""An Airflow connection of type ``http`` as the way to a Connect cluster, its secrets masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook

from airflow_provider_mm2.mirror.errors import HttpConnectionUnusable
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.json_text import read_json
from airflow_provider_mm2.mirror.mm2_import.findings import may_be_secret
from airflow_provider_mm2.version_compat import AirflowNotFoundException, mask_secret

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
    from airflow_provider_mm2.mirror.web.endpoint import HttpAccess


class ConnectRestHook(BaseHook):
    """Address, log-in and headers of a Connect cluster's REST interface, from a connection of type ``http``.

    :param http_conn_id: id of the connection.
    """

    conn_name_attr = "http_conn_id"
    default_conn_name = "http_default"
    conn_type = "http"
    hook_name = "Kafka Connect REST"

    def __init__(self, http_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.http_conn_id = http_conn_id

    def get_conn(self) -> HttpAccess:
        """The way there; nothing is contacted.

        :raises HttpConnectionUnusable: there is no such connection, or it names no host.
        """
        try:
            return self._access(self.get_connection(self.http_conn_id))
        except AirflowNotFoundException:
            raise self._unusable("it is not defined, or Airflow cannot read it") from None

    async def aget_conn(self) -> HttpAccess:
        """The same for an event loop.

        :raises HttpConnectionUnusable: as :meth:`get_conn`.
        """
        try:
            return self._access(await self.aget_connection(self.http_conn_id))
        except AirflowNotFoundException:
            raise self._unusable("it is not defined, or Airflow cannot read it") from None

    def _access(self, found: Any) -> HttpAccess:
        # Imported here: parsing a DAG must not load an HTTP client.
        from airflow_provider_mm2.mirror.web.http_connection import http_access

        try:
            extra = read_json(found.extra or "{}")
        except ValueError:
            extra = None
        if not isinstance(extra, dict):
            raise self._unusable("its extra is not a JSON object")
        if not found.host:
            raise self._unusable("it has no host")
        fields = {name: getattr(found, name) for name in ("host", "port", "schema", "login", "password")}
        access = http_access(**fields, extra=extra)
        for name, value in {**access.headers, "password": access.password or ""}.items():
            if value and (may_be_secret(name.replace("-", ".")) or name.lower() == "authorization"):
                mask_secret(value)
        return access

    def _unusable(self, problem: str) -> HttpConnectionUnusable:
        return HttpConnectionUnusable(connection=self.http_conn_id, problem=problem)


def flow_connectors(flow: MirrorFlow) -> FlowConnectors | None:
    """The connectors of a flow, by the http connection that it names; None: runs mirror it. Nothing is contacted.

    Call it in ``execute()`` only: it asks Airflow and the environment of the worker.

    :raises MirrorError: as :func:`connectors_beside`.
    """
    return connectors_beside(flow) if flow.engine == "connect" else None


def connectors_beside(flow: MirrorFlow) -> FlowConnectors:
    """The connectors of a flow whichever engine it names, for a hand-over. Nothing is contacted.

    :raises HandOverRefused: the flow does not say where its Connect cluster is.
    :raises HttpConnectionUnusable: the connection cannot be used.
    :raises ConnectVariableMissing: an environment variable is not set.
    """
    from airflow_provider_mm2.mirror.handover.hand_over import as_connect_flow

    given = as_connect_flow(flow)
    connection = given.connect.connection
    return _connectors(given, None if connection is None else ConnectRestHook(connection).get_conn())


async def aflow_connectors(flow: MirrorFlow) -> FlowConnectors | None:
    """:func:`flow_connectors` for an event loop.

    :raises MirrorError: as there.
    """
    if flow.engine != "connect":
        return None
    connection = flow.connect.connection
    return _connectors(flow, None if connection is None else await ConnectRestHook(connection).aget_conn())


def _connectors(flow: MirrorFlow, access: HttpAccess | None) -> FlowConnectors:
    from airflow_provider_mm2.mirror.connect.access import connectors_at

    found = connectors_at(flow, access=access)
    for secret in found.rest.web.secrets:
        mask_secret(secret)
    return found
