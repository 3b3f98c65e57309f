"""Airflow connections from the environment, without Airflow."""

import json

import pytest

from airflow_provider_mm2.cli.connections import connect_access, connection_settings
from airflow_provider_mm2.mirror.errors import ConnectionMissing, HttpConnectionUnusable
from tests.mirror.connect.flows import connect_flow

EXTRA = {"bootstrap.servers": "b:1", "sasl.password": "p w&x"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"conn_type": "kafka", "extra": EXTRA}),
        json.dumps({"conn_type": "kafka", "extra": json.dumps(EXTRA)}),
        "kafka://?bootstrap.servers=b%3A1&sasl.password=p%20w%26x",
        "kafka://?__extra__=%7B%22bootstrap.servers%22%3A%20%22b%3A1%22%2C%20%22sasl.password%22%3A%20%22p%20w%26x%22%7D",
    ],
    ids=["json", "json in json", "uri", "uri with packed extra"],
)
def test_forms(text: str) -> None:
    """Airflow's JSON and URI forms of a connection give the same settings."""
    assert connection_settings("kafka_us", {"AIRFLOW_CONN_KAFKA_US": text}) == EXTRA


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not set"),
        ('{"extra": ', "neither JSON nor a URI"),
        ('{"extra": "secret-text"}', "neither JSON nor a URI"),
        ('{"extra": [1]}', "neither JSON nor a URI"),
        ('{"conn_type": "kafka"}', "no bootstrap.servers"),
        ("kafka://host", "no bootstrap.servers"),
    ],
)
def test_unusable(text: str, problem: str) -> None:
    """A missing or unreadable connection is refused with its variable's name and without its text."""
    with pytest.raises(ConnectionMissing, match=problem) as caught:
        connection_settings("kafka_us", {"AIRFLOW_CONN_KAFKA_US": text})
    assert "AIRFLOW_CONN_KAFKA_US" in str(caught.value)
    assert "secret-text" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"conn_type": "http", "host": "c", "port": "8443", "schema": "https", "login": "me", "password": "p w",'
        ' "extra": {"X-A": "b"}}',
        "http://me:p%20w@c:8443/https?X-A=b",
    ],
    ids=["json", "uri"],
)
def test_the_way_to_connect(text: str) -> None:
    """An http connection in both of Airflow's forms: address, log-in, headers."""
    flow = connect_flow(connect={"connection": "connect_eu"})
    found = connect_access(flow, {"AIRFLOW_CONN_CONNECT_EU": text})
    assert found is not None
    assert (found.url, found.user, found.password, found.headers) == ("https://c:8443", "me", "p w", {"X-A": "b"})
    assert connect_access(connect_flow(), {}) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not set"),
        ('{"host": "secret-text', "neither JSON nor a URI"),
        ("[]", "names no host"),
        ('{"port": 1}', "names no host"),
        ("http://c:secret-text", "neither JSON nor a URI"),
    ],
)
def test_no_way_to_connect(text: str, problem: str) -> None:
    """One that leads nowhere is refused with its variable's name and without its text."""
    flow = connect_flow(connect={"connection": "connect_eu"})
    with pytest.raises(HttpConnectionUnusable, match=problem) as caught:
        connect_access(flow, {"AIRFLOW_CONN_CONNECT_EU": text})
    assert "secret-text" not in str(caught.value)
