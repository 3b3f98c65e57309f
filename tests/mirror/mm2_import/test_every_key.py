"""Every key that Kafka defines is honoured or listed; none is dropped in silence."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from airflow_provider_mm2.mirror.errors import ImportRefused
from airflow_provider_mm2.mirror.mm2_import.client_keys import CLIENT_KEYS
from airflow_provider_mm2.mirror.mm2_import.importer import Imported, import_files
from airflow_provider_mm2.mirror.mm2_import.keys import KEYS, Kind
from tests.mirror.mm2_import.kafka_keys import dedicated, imported, keys_of

UNUSUAL = {
    "enabled": "false",
    "source.cluster.alias": "elsewhere",
    "target.cluster.alias": "elsewhere",
    "connector.class": "org.example.Other",
    "replication.policy.class": "org.example.Policy",
    "replication.policy.separator": "_",
    "sync.topic.acls.enabled": "true",
    "replication.factor": "7",
    "offset-syncs.topic.replication.factor": "7",
    "checkpoints.topic.replication.factor": "7",
    "emit.offset-syncs.enabled": "false",
    "emit.checkpoints.enabled": "false",
    "sync.topic.configs.enabled": "false",
    "heartbeats.replication.enabled": "true",
    "exactly.once.source.support": "disabled",
    "sasl.jaas.config": 'org.example.PlainLoginModule required username="who" password="hidden";',
    "request.timeout.ms": "4711",
    "connections.max.idle.ms": "4711",
    "send.buffer.bytes": "4711",
    "receive.buffer.bytes": "4711",
}
"""Values that are valid and not what a run does anyway."""

ALWAYS_SO = {
    "replication.policy.internal.topic.separator.enabled": "either value says the same while the separator is '.'"
}
"""Keys with nothing to be told or honoured in the examples here."""

NAMING = ("replication.policy.class", "replication.policy.separator")
REFUSED = {"source": ("connector.class", *NAMING), "checkpoint": NAMING, "heartbeat": ()}
"""Without a connector that copies there is no flow; with other names for checkpoints there is no way to use them."""

CONNECTORS = {
    "source": "MirrorSourceConnector",
    "checkpoint": "MirrorCheckpointConnector",
    "heartbeat": "MirrorHeartbeatConnector",
}


def unusual(key: str) -> str:
    """Give a value for a key that must not pass unseen."""
    if key in UNUSUAL:
        return UNUSUAL[key]
    kind = KEYS[key].kind if key in KEYS and KEYS[key].field else None
    return {Kind.SWITCH: "true", Kind.NUMBER: "4711", Kind.PATTERNS: "other-.*"}[kind] if kind else "unusual"


def is_accounted_for(key: str, before: Imported, after: Imported) -> bool:
    """Tell whether a key changed the flows, or is in the list."""
    return before.flows != after.flows or any(found.key.endswith(key) for found in after.unhonoured)


def dropped(head: str, keys: Iterable[str], *lines: str) -> list[str]:
    """Give the keys that are neither honoured nor listed when they are added to a properties file, one at a time."""
    base = imported(dedicated(*lines))
    return [
        key
        for key in keys
        if not is_accounted_for(key, base, imported(dedicated(*lines, f"{head}{key} = {unusual(key)}")))
    ]


OF_CONNECTORS = [key for key in keys_of("source", "checkpoint", "heartbeat") if key not in {*ALWAYS_SO, "enabled"}]


def test_keys_of_a_direction() -> None:
    """A connector's key behind a direction of a properties file."""
    assert dropped("us->eu.", OF_CONNECTORS, "us->eu.topics = orders") == []
    with pytest.raises(ImportRefused, match=r"no flow from us to eu: it is switched off"):
        imported(dedicated("us->eu.enabled = false"))


def test_keys_of_all_directions() -> None:
    """The same key with nothing in front."""
    of_topics = [key for key in OF_CONNECTORS if key in ("topics", "heartbeats.replication.enabled")]
    assert dropped("", [key for key in OF_CONNECTORS if key not in of_topics]) == []
    assert dropped("", ["topics"]) == []
    assert dropped("", ["heartbeats.replication.enabled"], "us->eu.topics = orders") == []


@pytest.mark.parametrize("head", ["", "eu.", "us->eu."])
def test_keys_of_the_process(head: str) -> None:
    """A worker's key, wherever it stands."""
    assert dropped(head, [key for key in keys_of("worker") if key not in CLIENT_KEYS]) == []


@pytest.mark.parametrize("role", ["consumer", "producer", "admin"])
@pytest.mark.parametrize("side", ["us", "eu", "us->eu.source", "us->eu.target"])
def test_keys_of_the_clients(role: str, side: str) -> None:
    """A client's key with its role, of either cluster and in one direction."""
    assert dropped(f"{side}.{role}.", keys_of(role)) == []


@pytest.mark.parametrize("head", ["", "us.", "eu.", "us->eu.source.cluster.", "us->eu.target.cluster.", "us->eu."])
def test_keys_of_the_clusters(head: str) -> None:
    """A client's key without a role; brokers for all clusters are none where each names its own."""
    keys = CLIENT_KEYS - ({"bootstrap.servers"} if head == "" else set())
    assert dropped(head, sorted(keys)) == []


def config_of(kind: str, **keys: str) -> dict[str, str]:
    """Give the configuration of a connector from ``us`` to ``eu``."""
    return {
        "connector.class": f"org.apache.kafka.connect.mirror.{CONNECTORS[kind]}",
        "source.cluster.alias": "us",
        "target.cluster.alias": "eu",
        "source.cluster.bootstrap.servers": "us:9092",
        "target.cluster.bootstrap.servers": "eu:9092",
        **({"topics": "orders"} if kind == "source" else {}),
        **keys,
    }


def connectors(kind: str, **keys: str) -> Imported:
    """Import the three connectors, one of them with these keys, too."""
    configs = [config_of(each, **(keys if each == kind else {})) for each in CONNECTORS]
    return import_files([("connectors.json", json.dumps(configs).encode())])


@pytest.mark.parametrize("kind", CONNECTORS)
def test_keys_of_connectors(kind: str) -> None:
    """Each key of each connector as JSON, also where that connector does not read it."""
    base = connectors(kind)
    for key in OF_CONNECTORS:
        if key == "name":  # the other connectors' names say nothing, and this one's is told below
            continue
        if key in REFUSED[kind]:
            with pytest.raises(ImportRefused):
                connectors(kind, **{key: unusual(key)})
            continue
        result = connectors(kind, **{key: unusual(key)})
        is_beside = any(found.key == "connector.class" for found in result.unhonoured)
        assert is_beside or is_accounted_for(key, base, result), key


def test_a_name_that_no_flow_can_have() -> None:
    """A connector's name is the flow's as far as its characters allow; where they do not, that is told."""
    named = import_files([("c.json", json.dumps(config_of("source", name="us->eu.MirrorSourceConnector")).encode())])
    assert [flow.name for flow in named.flows] == ["us-eu"]
    assert [found.value for found in named.unhonoured if found.key == "name"] == ["us->eu.MirrorSourceConnector"]
