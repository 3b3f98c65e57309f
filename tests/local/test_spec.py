"""The broker properties and client settings that follow from a cluster as asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_mm2.local.spec import (
    ClusterSpec,
    Ports,
    Security,
    broker_properties,
    client_settings,
    format_arguments,
    java_client_settings,
)

FOLDER = Path("/pair/source/broker-0")
TLS = Path("/pair/source/tls")


def properties_of(spec: ClusterSpec, node: int = 0) -> dict[str, str]:
    ports = [Ports(client=1000 + at, internal=2000 + at, controller=3000 + at) for at in range(spec.brokers)]
    return broker_properties(spec, node, ports, folder=FOLDER, tls_folder=TLS)


@pytest.mark.parametrize(
    ("brokers", "replicas", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (5, "3", "2")]
)
def test_internal_topics_fit_the_brokers(brokers: int, replicas: str, in_sync: str) -> None:
    """Internal topics get three replicas and two in sync as soon as there are three brokers."""
    properties = properties_of(ClusterSpec(name="source", brokers=brokers))
    assert properties["offsets.topic.replication.factor"] == replicas
    assert properties["transaction.state.log.replication.factor"] == replicas
    assert properties["transaction.state.log.min.isr"] == in_sync
    assert properties["share.coordinator.state.topic.min.isr"] == in_sync


def test_each_broker_knows_all_voters_and_its_own_listeners() -> None:
    """Broker 1 of 3 listens on its own ports and votes with all three controllers."""
    properties = properties_of(ClusterSpec(name="source", brokers=3), node=1)
    assert properties["controller.quorum.voters"] == "0@127.0.0.1:3000,1@127.0.0.1:3001,2@127.0.0.1:3002"
    assert properties["advertised.listeners"] == "CLIENT://127.0.0.1:1001,INTERNAL://127.0.0.1:2001"


def test_records_are_kept_for_ever() -> None:
    """Records with old timestamps are not deleted by a retention nobody asked for."""
    properties = properties_of(ClusterSpec(name="source"))
    assert (properties["log.retention.ms"], properties["log.retention.bytes"]) == ("-1", "-1")


def test_given_properties_win() -> None:
    """A property given by the caller replaces the one chosen here."""
    spec = ClusterSpec(name="source", properties={"auto.create.topics.enable": "true", "num.partitions": "7"})
    properties = properties_of(spec)
    assert (properties["auto.create.topics.enable"], properties["num.partitions"]) == ("true", "7")


def test_passwords_are_quoted_for_the_login_module() -> None:
    """Quotes and backslashes in a password reach the broker's login module escaped."""
    spec = ClusterSpec(name="source", security=Security.SASL_PLAINTEXT, users={"a": 'x"y\\z', "b": "c"})
    login = properties_of(spec)["listener.name.client.plain.sasl.jaas.config"]
    assert login.endswith('required user_a="x\\"y\\\\z" user_b="c";')


def test_plaintext_clients_need_an_address_only() -> None:
    """Without security the client settings are the addresses."""
    assert client_settings(ClusterSpec(name="source"), "h:1", tls_folder=TLS) == {"bootstrap.servers": "h:1"}


def test_sasl_ssl_clients_get_user_and_authority() -> None:
    """With SASL_SSL clients log in as the first user and trust the cluster's authority, in Java and in C."""
    spec = ClusterSpec(name="source", security=Security.SASL_SSL, users={"alice": "secret", "bob": "other"})
    settings = client_settings(spec, "h:1", tls_folder=TLS)
    assert settings == {
        "bootstrap.servers": "h:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "alice",
        "sasl.password": "secret",
        "ssl.ca.location": "/pair/source/tls/ca.pem",
    }
    java = java_client_settings(settings)
    login = java["sasl.jaas.config"]
    assert login.endswith('scram.ScramLoginModule required username="alice" password="secret";')
    assert (java["ssl.truststore.type"], java["ssl.truststore.location"]) == ("PEM", "/pair/source/tls/ca.pem")


def test_sasl_ssl_brokers_know_users_and_check_them() -> None:
    """SCRAM credentials are written when the storage is formatted, and the first user alone may do everything."""
    spec = ClusterSpec(name="source", security=Security.SASL_SSL, users={"alice": 'x"y', "bob": "c"})
    assert format_arguments(spec) == [
        *("--add-scram", 'SCRAM-SHA-256=[name="alice",password="x"y"]'),
        *("--add-scram", 'SCRAM-SHA-256=[name="bob",password="c"]'),
    ]
    assert properties_of(spec)["super.users"] == "User:alice;User:ANONYMOUS"
    assert format_arguments(ClusterSpec(name="source", security=Security.SASL_PLAINTEXT)) == []
