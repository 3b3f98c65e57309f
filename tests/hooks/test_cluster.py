"""The hook: connections of the official type as they are, refused by name, with every secret masked."""

from __future__ import annotations

import asyncio
import json
from importlib.metadata import version
from typing import Any

import pytest

from airflow_provider_mm2.hooks import cluster
from airflow_provider_mm2.hooks.cluster import (
    KafkaClusterHook,
    apair_settings,
    mask_secrets,
    pair_settings,
    refuse_plain_secrets,
)
from airflow_provider_mm2.mirror.errors import ConnectionMissing, SecretInFlow, VariableMissing
from airflow_provider_mm2.mirror.flow import MirrorFlow

SECRET = "hunter2-of-orders"  # noqa: S105 # planted, to be looked for


def flow(source: dict[str, Any] | None = None, target: dict[str, Any] | None = None) -> MirrorFlow:
    """Make a flow between two clusters that nobody contacts."""
    return MirrorFlow.model_validate(
        {
            "name": "orders",
            "source": {"alias": "us", **(source or {"connection": "kafka_us"})},
            "target": {"alias": "eu", **(target or {"settings": {"bootstrap.servers": "eu:9092"}})},
            "topics": ["orders"],
        }
    )


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a maker of Airflow connections: ``connection("kafka_us", extra)``."""

    def make(name: str, extra: object, **fields: Any) -> None:
        text = extra if isinstance(extra, str) else json.dumps(extra)
        given = {"conn_type": "kafka", "extra": text, **fields}
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(given))

    return make


@pytest.fixture
def masked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the list of what Airflow is told to mask."""
    told: list[str] = []
    monkeypatch.setattr(cluster, "mask_secret", told.append)
    return told


def test_an_official_connection_is_taken_as_it_is(connection: Any) -> None:
    """The extra of a ``kafka`` connection is the settings, whatever roles its keys are for."""
    extra = {"bootstrap.servers": "us:9092", "group.id": "g", "acks": 1, "enable.auto.commit": True, "linger.ms": 0.5}
    connection("kafka_us", extra, host="ignored", login="ignored", password="ignored")  # noqa: S106 # no secret
    assert KafkaClusterHook("kafka_us").get_conn() == extra
    assert pair_settings(flow())["us"] == extra


def test_a_loop_is_given_the_same(connection: Any, masked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """K58: settings are looked up without blocking, checked and masked as in a task."""
    connection("kafka_us", {"bootstrap.servers": "us:9092", "sasl.password": SECRET})
    expected = pair_settings(flow())
    masked.clear()
    monkeypatch.setattr(KafkaClusterHook, "get_connection", None)
    assert asyncio.run(apair_settings(flow())) == expected
    assert SECRET in masked
    with pytest.raises(ConnectionMissing, match="'kafka_nowhere' cannot be used: it is not defined"):
        asyncio.run(KafkaClusterHook("kafka_nowhere").aget_conn())
    with pytest.raises(SecretInFlow):
        asyncio.run(apair_settings(flow({"settings": {"bootstrap.servers": "b", "sasl.password": SECRET}})))


def test_each_call_gives_settings_of_its_own(connection: Any) -> None:
    """Nothing is cached, so that what one client's maker changes is not seen by another's."""
    connection("kafka_us", {"bootstrap.servers": "us:9092"})
    hook = KafkaClusterHook("kafka_us")
    hook.get_conn()["bootstrap.servers"] = "other"
    assert hook.get_conn() == {"bootstrap.servers": "us:9092"}


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ({}, "its extra has no bootstrap.servers"),
        ({"bootstrap.servers": ""}, "its extra has no bootstrap.servers"),
        (f'{{"sasl.password": "{SECRET}"', "its extra is not a JSON object"),
        (f'["{SECRET}"]', "its extra is not a JSON object"),
        ({"bootstrap.servers": "b", "error_cb": "my.module.on_error"}, "it names callbacks (error_cb)"),
        ({"bootstrap.servers": "b", "sasl.password": {"a": SECRET}}, "sasl.password in its extra is not text"),
        ({"bootstrap.servers": "b", "acks": None}, "acks in its extra is not text"),
    ],
)
def test_an_unusable_connection_is_refused_by_name(connection: Any, extra: object, problem: str) -> None:
    """The refusal names the connection and what is wrong, and holds no value of it."""
    connection("kafka_us", extra)
    with pytest.raises(ConnectionMissing) as caught:
        KafkaClusterHook("kafka_us").get_conn()
    if isinstance(extra, str) and version("apache-airflow") < "3.2":
        problem = "it is not defined"  # Airflow itself refuses an extra that is not a JSON object there
    assert f"the connection 'kafka_us' cannot be used: {problem}" in str(caught.value)
    assert SECRET not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.__context__!r}"


def test_a_missing_connection_is_refused_by_name() -> None:
    """A connection that Airflow does not know is an error of ours, with the way to make it."""
    with pytest.raises(ConnectionMissing, match="'kafka_nowhere' cannot be used: it is not defined"):
        KafkaClusterHook("kafka_nowhere").get_conn()


def test_every_secret_is_masked_by_our_own_list(connection: Any, masked: list[str]) -> None:
    """Airflow takes ``ssl.key.pem`` or ``sasl.jaas.config`` for harmless; here the key list decides."""
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nabc=\n-----END PRIVATE KEY-----\n"
    jaas = 'org.apache.kafka.Plain required username="app" password="in-jaas-config";'
    connection(
        "kafka_us",
        {
            "bootstrap.servers": "us:9092",
            "sasl.username": "app",
            "sasl.password": SECRET,
            "ssl.key.pem": pem,
            "sasl.jaas.config": jaas,
            "basic.auth.user.info": "app:in-user-info",
        },
    )
    KafkaClusterHook("kafka_us").get_conn()
    assert {SECRET, pem, "MIIEvQIBADANBgkqhkiG9w0", jaas, "in-jaas-config", "app:in-user-info", "in-user-info"} <= {
        *masked
    }
    assert pem.replace("\n", "\\n") in masked
    assert not {"app", "us:9092", "-----BEGIN PRIVATE KEY-----", "abc="} & {*masked}


def test_a_secret_from_the_environment_is_masked(monkeypatch: pytest.MonkeyPatch, masked: list[str]) -> None:
    """A ``${NAME}`` is filled in only here, and masked then."""
    monkeypatch.setenv("ORDERS_PASSWORD", SECRET)
    settings = {"bootstrap.servers": "us:9092", "sasl.password": "${ORDERS_PASSWORD}"}
    pair_settings(flow({"settings": settings}))
    assert SECRET in masked
    monkeypatch.delenv("ORDERS_PASSWORD")
    with pytest.raises(VariableMissing, match="ORDERS_PASSWORD"):
        pair_settings(flow({"settings": settings}))


def test_secrets_of_other_kinds_than_text_are_masked(masked: list[str]) -> None:
    """A password of digits alone is a number in JSON."""
    mask_secrets({"sasl.password": 1234567890, "acks": 1})
    assert masked == ["1234567890"]


def test_a_plain_secret_in_a_flow_is_refused(masked: list[str]) -> None:
    """What a flow holds ends in Airflow's database; only ``${NAME}`` may stand for a secret."""
    plain = {"bootstrap.servers": "eu:9092", "sasl.password": SECRET, "ssl.key.pem": "${KEY}", "acks": 1}
    with pytest.raises(SecretInFlow) as caught:
        refuse_plain_secrets(flow(target={"settings": plain}))
    assert caught.value.settings == ("sasl.password",)
    assert "'eu'" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert SECRET in masked
    with pytest.raises(SecretInFlow):
        pair_settings(flow(target={"settings": plain}))
