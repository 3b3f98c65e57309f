"""Airflow connections from the environment, without Airflow."""

import json

import pytest

from airflow_provider_mm2.cli.connections import connection_settings
from airflow_provider_mm2.mirror.errors import ConnectionMissing

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
