"""The hook that makes a mirror client of an Airflow connection."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_provider_mm2.hooks.mirror_client import MirrorClientHook
from airflow_provider_mm2.mirror.errors import ConnectionMissing, PolicyNotUsable
from airflow_provider_mm2.mirror.mirror_client import MirrorClient


@pytest.fixture(autouse=True)
def _connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a connection that nobody listens at."""
    extra = {"bootstrap.servers": "eu:9092", "group.id": "g"}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_EU", json.dumps({"conn_type": "kafka", "extra": extra}))


def test_it_gives_a_client_of_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are the connection's, the rest is the hook's, and messages call the cluster by the connection's id."""
    given: dict[str, Any] = {}
    monkeypatch.setattr(MirrorClient, "connect", lambda settings, **more: given.update(settings=settings, **more))
    MirrorClientHook("kafka_eu", replication_policy="identity", separator="_", source_alias="us").get_conn()
    assert given == {
        "settings": {"bootstrap.servers": "eu:9092", "group.id": "g"},
        "replication_policy": "identity",
        "separator": "_",
        "source_alias": "us",
        "alias": "kafka_eu",
    }


def test_each_client_is_a_new_one() -> None:
    """A client of before a fork would be dead in the task, so none is kept; making one contacts nobody."""
    hook = MirrorClientHook("kafka_eu")
    with hook.get_conn() as first, hook.get_conn() as second:
        assert first is not second
        assert first.replication_policy.format_remote_topic("us", "t") == "us.t"


def test_what_cannot_be_used_is_refused() -> None:
    """A connection or a policy that is not there."""
    with pytest.raises(ConnectionMissing):
        MirrorClientHook("kafka_nowhere").get_conn()
    with pytest.raises(PolicyNotUsable):
        MirrorClientHook("kafka_eu", replication_policy="other").get_conn()
