"""Airflow connections from the environment, without Airflow: ``AIRFLOW_CONN_<ID>`` as JSON or as a URI.

Source: Airflow's documentation, "Managing Connections", the two forms of the variable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from airflow_provider_mm2.mirror.errors import ConnectionMissing
from airflow_provider_mm2.mirror.json_text import read_json

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


def _from_json(text: str) -> dict[str, object]:
    document = read_json(text)
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
