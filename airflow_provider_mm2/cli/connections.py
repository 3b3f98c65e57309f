"""Airflow connections from the environment, without Airflow: ``AIRFLOW_CONN_<ID>`` as JSON or as a URI.

Source: Airflow's documentation, "Managing Connections", the two forms of the variable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from airflow_provider_mm2.mirror.clusters.config import resolve_settings
from airflow_provider_mm2.mirror.connect.access import connectors_at, wanted_connectors
from airflow_provider_mm2.mirror.connect.connectors import Connector
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.errors import ConnectionMissing, HttpConnectionUnusable
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.handover.hand_over import as_connect_flow
from airflow_provider_mm2.mirror.json_text import read_json
from airflow_provider_mm2.mirror.web.endpoint import HttpAccess
from airflow_provider_mm2.mirror.web.http_connection import http_access

PREFIX = "AIRFLOW_CONN_"


def connection_settings(connection: str, environment: Mapping[str, str] | None = None) -> dict[str, object]:
    """The librdkafka settings in a connection's extra.

    :raises ConnectionMissing: the variable is not set, cannot be read, or holds no ``bootstrap.servers``.
    """
    variables = os.environ if environment is None else environment
    variable = PREFIX + connection.upper()
    text = variables.get(variable, "").strip()
    if not text:
        raise ConnectionMissing(connection=connection, problem=f"{variable} is not set")
    try:
        extra = _from_json(text) if text.startswith("{") else _from_uri(text)
    except ValueError as error:
        # Without the text of the error: it may quote a secret.
        problem = f"{variable} is neither JSON nor a URI that can be read"
        raise ConnectionMissing(connection=connection, problem=problem) from error.__cause__
    if not extra.get("bootstrap.servers"):
        raise ConnectionMissing(connection=connection, problem=f"{variable} has no bootstrap.servers in its extra")
    return extra


def connect_access(flow: MirrorFlow, environment: Mapping[str, str] | None = None) -> HttpAccess | None:
    """What the http connection says that a flow names for its Connect cluster; None: it names none.

    :raises HttpConnectionUnusable: the variable is not set, cannot be read, or names no host.
    """
    connection = flow.connect.connection
    if connection is None:
        return None
    variables = os.environ if environment is None else environment
    variable = PREFIX + connection.upper()
    text = variables.get(variable, "").strip()
    if not text:
        raise HttpConnectionUnusable(connection=connection, problem=f"{variable} is not set")
    try:
        fields = _http_fields(text)
    except (AttributeError, ValueError):
        fields = None
    if fields is None:  # without the text of the error, which may quote a secret
        problem = f"{variable} is neither JSON nor a URI that can be read"
        raise HttpConnectionUnusable(connection=connection, problem=problem)
    if not fields["host"]:
        raise HttpConnectionUnusable(connection=connection, problem=f"{variable} names no host")
    return http_access(**fields)


def connectors_of(flow: MirrorFlow) -> FlowConnectors:
    """The connectors of a flow whichever engine it names, for a hand-over. Nothing is contacted.

    :raises HandOverRefused: the flow does not say where its Connect cluster is.
    :raises HttpConnectionUnusable: as :func:`connect_access`.
    """
    return connectors_at(as_connect_flow(flow), access=connect_access(flow))


def wanted_here(flow: MirrorFlow) -> tuple[Connector, ...]:
    """The connectors of a flow as they are to be, with settings from the environment.

    :raises NotOnConnect: the flow asks what MirrorMaker 2 cannot do.
    :raises SettingsError: a connection or variable is missing.
    """
    settings = {
        side.alias: resolve_settings(side, None if side.connection is None else connection_settings(side.connection))
        for side in (flow.source, flow.target)
    }
    return wanted_connectors(flow, settings)


def _http_fields(text: str) -> dict[str, Any]:
    if text.startswith("{"):
        document = read_json(text)
        fields = {name: document.get(name) for name in ("host", "port", "schema", "login", "password")}
        return {**fields, "port": int(fields["port"]) if fields["port"] else None, "extra": _extra_of(document)}
    parts = urlsplit(text)
    given = {"login": parts.username, "password": parts.password, "host": parts.hostname}
    plain = {name: None if value is None else unquote(value) for name, value in given.items()}
    return {**plain, "port": parts.port, "schema": parts.path.strip("/") or None, "extra": _from_uri(text)}


def _from_json(text: str) -> dict[str, object]:
    return _extra_of(read_json(text))


def _extra_of(document: Any) -> dict[str, object]:
    extra = document.get("extra", {})
    return _mapping(read_json(extra) if isinstance(extra, str) and extra else extra or {})


def _from_uri(text: str) -> dict[str, object]:
    query = dict(parse_qsl(urlsplit(text).query, keep_blank_values=True))
    packed = query.pop("__extra__", None)
    return _mapping(read_json(packed)) if packed is not None else dict(query)


def _mapping(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("the extra is not an object")
    return value
