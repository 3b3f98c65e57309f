"""An Airflow ``http`` connection as the way to a Connect cluster: taken as it is, refused by name, secrets masked."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from airflow_provider_mm2.hooks import connect
from airflow_provider_mm2.hooks.connect import ConnectRestHook, aflow_connectors, flow_connectors
from airflow_provider_mm2.mirror.errors import HttpConnectionUnusable
from tests.mirror.connect.flows import connect_flow

SECRET = "hunter2-of-connect"  # noqa: S105 - planted, to be looked for
NAMED = {"connection": "connect_eu"}


@pytest.fixture
def masked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give what Airflow is told to mask."""
    told: list[str] = []
    monkeypatch.setattr(connect, "mask_secret", told.append)
    return told


def define(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    """Define the connection."""
    monkeypatch.setenv("AIRFLOW_CONN_CONNECT_EU", json.dumps({"conn_type": "http", **fields}))


@pytest.mark.parametrize("is_async", [False, True])
def test_address_login_and_headers(monkeypatch: pytest.MonkeyPatch, masked: list[str], is_async: bool) -> None:
    """Host, port and scheme, the log-in, and headers of the extra but for options of a request; in a trigger too."""
    extra = json.dumps({"X-Api-Token": "t0ken", "verify": False})
    define(monkeypatch, host="connect", port=8443, schema="https", login="me", password=SECRET, extra=extra)
    flow = connect_flow(connect=NAMED)
    found = asyncio.run(aflow_connectors(flow)) if is_async else flow_connectors(flow)
    assert found is not None
    web = found.rest.web
    assert (web.url, web.user, web.password, dict(web.headers)) == (
        "https://connect:8443",
        "me",
        SECRET,
        {"X-Api-Token": "t0ken"},
    )
    assert {SECRET, "t0ken"} <= set(masked)
    assert SECRET not in repr(found)


def test_the_flows_own_log_in_wins(monkeypatch: pytest.MonkeyPatch, masked: list[str]) -> None:
    """What the flow says besides is taken, and its log-in is masked."""
    define(monkeypatch, host="https://connect", login="me", password="other")  # noqa: S106 - of a test
    monkeypatch.setenv("CONNECT_TOKEN", SECRET)
    found = flow_connectors(connect_flow(connect={**NAMED, "auth": {"token": "${CONNECT_TOKEN}"}}))
    assert found is not None
    assert (found.rest.web.url, found.rest.web.user) == ("https://connect", None)
    assert f"Bearer {SECRET}" in masked


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"host": "c", "extra": "[1]"}, "its extra is not a JSON object"),
        ({"host": "c", "extra": f"{{{SECRET}"}, "its extra is not a JSON object"),
        ({}, "it has no host"),
    ],
)
def test_unusable(monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], problem: str) -> None:
    """A connection that leads nowhere is refused by its id, without what it holds; Airflow 3.1 does not give all."""
    define(monkeypatch, **fields)
    with pytest.raises(HttpConnectionUnusable, match=f"{problem}|Airflow cannot read it") as caught:
        ConnectRestHook("connect_eu").get_conn()
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("is_async", [False, True])
def test_not_defined(is_async: bool) -> None:
    """One that Airflow does not know."""
    hook = ConnectRestHook("no_such_connection")
    with pytest.raises(HttpConnectionUnusable, match="it is not defined"):
        asyncio.run(hook.aget_conn()) if is_async else hook.get_conn()


def test_a_flow_of_the_other_engine() -> None:
    """It has no connectors, and nothing is asked for."""
    assert flow_connectors(connect_flow(engine="bounded", connect=NAMED)) is None
    assert asyncio.run(aflow_connectors(connect_flow(engine="bounded"))) is None
