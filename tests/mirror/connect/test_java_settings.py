"""librdkafka's settings as Java's, and back by an import: log-ins, TLS, sockets, and what has no equal."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from airflow_provider_mm2.mirror.connect.connectors import connectors_of
from airflow_provider_mm2.mirror.connect.java_settings import for_the_worker, java_settings
from airflow_provider_mm2.mirror.errors import NotOnConnect
from airflow_provider_mm2.mirror.flow import ClusterSettings
from airflow_provider_mm2.mirror.mm2_import.cluster_settings import Side
from airflow_provider_mm2.mirror.mm2_import.importer import import_files
from tests.mirror.connect.flows import connect_flow

BOOTSTRAP = {"bootstrap.servers": "a:9092,b:9092"}
LOGIN = {"sasl.username": "mirror", "sasl.password": "${PASSWORD}"}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "plaintext": {},
    "plain": {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", **LOGIN},
    "scram": {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", **LOGIN},
    "a user with quotes": {"sasl.mechanism": "PLAIN", "sasl.username": 'a"b\\c d', "sasl.password": "${PASSWORD}"},
    "oidc": {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "mirror",
        "sasl.oauthbearer.client.secret": "${PASSWORD}",
        "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
        "sasl.oauthbearer.scope": "kafka",
    },
    "trust": {"security.protocol": "SSL", "ssl.ca.location": "/etc/ca.pem"},
    "trust as text": {"ssl.ca.pem": "-----BEGIN CERTIFICATE-----"},
    "one file": {
        "ssl.certificate.location": "/etc/me.pem",
        "ssl.key.location": "/etc/me.pem",
        "ssl.key.password": "${PASSWORD}",
    },
    "key as text": {"ssl.certificate.pem": "${CHAIN}", "ssl.key.pem": "${KEY}", "ssl.key.password": "${PASSWORD}"},
    "a store": {"ssl.keystore.location": "/etc/me.p12", "ssl.keystore.password": "${PASSWORD}"},
    "any name": {"ssl.endpoint.identification.algorithm": "none"},
    "sockets": {
        "client.rack": "a",
        "socket.timeout.ms": 30000,
        "connections.max.idle.ms": 0,
        "socket.send.buffer.bytes": 0,
        "socket.receive.buffer.bytes": 65536,
    },
}


@pytest.mark.parametrize("case", SETTINGS)
def test_there_and_back(case: str) -> None:
    """What an import makes of the connectors' client keys is what the flow has, on both sides."""
    settings = {**BOOTSTRAP, **SETTINGS[case]}
    sides = {alias: {"alias": alias, "settings": settings} for alias in ("us", "eu")}
    flow = connect_flow(source=sides["us"], target=sides["eu"])
    connectors = connectors_of(flow, {side.alias: for_the_worker(side) for side in (flow.source, flow.target)})
    (again,) = import_files([("c.json", json.dumps([dict(each.config) for each in connectors]).encode())]).flows
    for cluster in (again.source, again.target):
        path = f"${{MM2_{cluster.alias.upper()}_SSL_KEY_LOCATION}}"  # an import takes it for a secret
        assert cluster.settings == ({**settings, "ssl.key.location": path} if case == "one file" else settings)


def test_each_client_gets_what_it_reads() -> None:
    """MirrorMaker 2 drops a key behind ``source.cluster.`` that is no matter of security: each role has its own."""
    found, _ = java_settings(Side.SOURCE, {**BOOTSTRAP, "socket.timeout.ms": 9})
    assert found == {
        "source.cluster.bootstrap.servers": "a:9092,b:9092",
        "source.consumer.request.timeout.ms": "9",
        "source.admin.request.timeout.ms": "9",
    }
    found, _ = java_settings(Side.TARGET, {"compression.type": "lz4", "socket.timeout.ms": 9})
    assert {key for key in found if key.startswith("producer.override.")} == {
        "producer.override.request.timeout.ms",
        "producer.override.compression.type",
    }
    assert [key for key in found if "compression" in key] == ["producer.override.compression.type"]


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"linger.ms": 5}, "linger.ms"),
        ({"sasl.kerberos.keytab": "/k"}, "sasl.kerberos.keytab"),
        ({"ssl.certificate.location": "/a", "ssl.key.location": "/b"}, "ssl.key.location"),
        ({"enable.ssl.certificate.verification": False}, "enable.ssl.certificate.verification"),
        ({"isolation.level": "read_uncommitted"}, "isolation.level"),
        ({"compression.type": "lz4"}, "compression.type"),
        ({"sasl.mechanism": "PLAIN", "sasl.password": "hunter2", "debug": "hunter2"}, "debug"),
    ],
)
def test_what_has_no_equal(settings: Mapping[str, object], key: str) -> None:
    """A setting that Java's clients do not have is refused by its name; its value is not in the message."""
    with pytest.raises(NotOnConnect) as caught:
        connectors_of(connect_flow(), {"us": {**BOOTSTRAP, **settings}, "eu": BOOTSTRAP})
    assert caught.value.problems[0].startswith(f"source.settings.{key}: ")
    assert "hunter2" not in str(caught.value)


def test_what_changes_nothing_is_taken() -> None:
    """A setting that asks for what MirrorMaker 2 does anyway is no reason to refuse."""
    settings = {**BOOTSTRAP, "isolation.level": "read_committed", "acks": "all", "sasl.mechanisms": "PLAIN"}
    found, problems = java_settings(Side.SOURCE, {**settings, "enable.ssl.certificate.verification": True})
    assert (problems, found["source.cluster.sasl.mechanism"], len(found)) == ({}, "PLAIN", 2)


def test_variables_for_the_worker() -> None:
    """A variable becomes a reference of Kafka's config provider for the environment, also inside a longer value."""
    cluster = ClusterSettings(alias="us", settings={"bootstrap.servers": "${HOST}:9092", "socket.timeout.ms": 9})
    assert for_the_worker(cluster) == {"bootstrap.servers": "${env:HOST}:9092", "socket.timeout.ms": 9}
