"""What a local cluster is made of, as plain values, and the broker properties that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

HOST = "127.0.0.1"


class Security(str, Enum):
    """How clients talk to the brokers. Brokers talk to each other in plain text on a listener of their own.

    With SASL_SSL clients log in by SCRAM over TLS, and brokers check what each user may do; the first may do all.
    """

    PLAINTEXT = "plaintext"
    SASL_PLAINTEXT = "sasl_plaintext"
    SASL_SSL = "sasl_ssl"

    @property
    def protocol(self) -> str:
        """Kafka's name for it."""
        return self.value.upper()

    @property
    def mechanism(self) -> str:
        """How users log in."""
        return "SCRAM-SHA-256" if self is Security.SASL_SSL else "PLAIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """One cluster as asked for.

    :param name: used in folder names and messages.
    :param brokers: number of brokers, each also a controller.
    :param users: name to password, for the two SASL kinds; clients get the first.
    :param properties: broker properties that win over the ones chosen here.
    :param advertised: the port that clients are told in place of each broker's own, for a proxy before it.
    """

    name: str
    brokers: int = 1
    security: Security = Security.PLAINTEXT
    users: Mapping[str, str] = field(default_factory=lambda: {"mm2": "mm2-secret"})
    properties: Mapping[str, str] = field(default_factory=dict)
    advertised: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports of one broker."""

    client: int
    internal: int
    controller: int


def broker_properties(
    spec: ClusterSpec, node: int, ports: Sequence[Ports], *, folder: Path, tls_folder: Path
) -> dict[str, str]:
    """Give all properties of one broker of a cluster.

    :param node: index of the broker in ``ports``, also its node id.
    :param ports: the ports of every broker of the cluster, in order.
    :param folder: the broker's own folder; its data goes below.
    :param tls_folder: where the cluster's certificates are, used by SASL_SSL alone.
    """
    own = ports[node]
    voters = ",".join(f"{other}@{HOST}:{at.controller}" for other, at in enumerate(ports))
    told = spec.advertised[node] if spec.advertised else own.client
    internal = f"INTERNAL://{HOST}:{own.internal}"
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INTERNAL",
        "listeners": f"CLIENT://{HOST}:{own.client},{internal},CONTROLLER://{HOST}:{own.controller}",
        "advertised.listeners": f"CLIENT://{HOST}:{told},{internal}",
        "listener.security.protocol.map": (f"CLIENT:{spec.security.protocol},INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"),
        "log.dirs": str(folder / "data"),
        **_small_and_lasting(spec.brokers),
        **_security_properties(spec, tls_folder),
        **spec.properties,
    }


def _small_and_lasting(brokers: int) -> dict[str, str]:
    """Give the properties that make a cluster start fast, stay small and keep every record."""
    replicas = str(min(brokers, 3))
    in_sync = "2" if brokers >= 3 else "1"
    return {
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
        # Records of tests carry old timestamps: with Kafka's seven days they are deleted within minutes.
        "log.retention.ms": "-1",
        "log.retention.bytes": "-1",
        # A killed broker may come back only when the session of its former life is over: 9 s with the default.
        "broker.session.timeout.ms": "6000",
        "broker.heartbeat.interval.ms": "1000",
        # 128 MB of the heap otherwise, for a cleaner that has little to clean here.
        "log.cleaner.dedupe.buffer.size": "16777216",
    }


def _security_properties(spec: ClusterSpec, tls_folder: Path) -> dict[str, str]:
    if spec.security is Security.PLAINTEXT:
        return {}
    if spec.security is Security.SASL_PLAINTEXT:
        users = " ".join(f"user_{name}={_quoted(password)}" for name, password in spec.users.items())
        login = f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
        return {"sasl.enabled.mechanisms": "PLAIN", "listener.name.client.plain.sasl.jaas.config": login}
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    return {
        "sasl.enabled.mechanisms": spec.security.mechanism,
        f"listener.name.client.{spec.security.mechanism.lower()}.sasl.jaas.config": login,
        "listener.name.client.ssl.keystore.type": "PEM",
        "listener.name.client.ssl.keystore.location": str(tls_folder / "server.pem"),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # The brokers' own connections carry no name.
        "super.users": f"User:{next(iter(spec.users))};User:ANONYMOUS",
    }


def format_arguments(spec: ClusterSpec) -> list[str]:
    """What the formatting of a storage is told beside the cluster's id: SCRAM credentials lie in the metadata.

    The tool takes the outer quotes away and knows of no escapes: what stands between them is the password.
    """
    if spec.security is not Security.SASL_SSL:
        return []
    entries = (f'[name="{name}",password="{password}"]' for name, password in spec.users.items())
    return [word for entry in entries for word in ("--add-scram", f"{spec.security.mechanism}={entry}")]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def client_settings(spec: ClusterSpec, bootstrap: str, *, tls_folder: Path) -> dict[str, str]:
    """Give the librdkafka settings that reach a cluster as its first user."""
    settings = {"bootstrap.servers": bootstrap}
    if spec.security is not Security.PLAINTEXT:
        name, password = next(iter(spec.users.items()))
        settings["security.protocol"] = spec.security.protocol
        settings["sasl.mechanism"] = spec.security.mechanism
        settings["sasl.username"] = name
        settings["sasl.password"] = password
    if spec.security is Security.SASL_SSL:
        settings["ssl.ca.location"] = str(tls_folder / "ca.pem")
    return settings


def java_client_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Translate ``client_settings`` to the keys of Kafka's Java clients, Connect and MirrorMaker."""
    translated = {"bootstrap.servers": settings["bootstrap.servers"]}
    if "sasl.username" in settings:
        translated["security.protocol"] = settings["security.protocol"]
        translated["sasl.mechanism"] = settings["sasl.mechanism"]
        kind = "plain.Plain" if settings["sasl.mechanism"] == "PLAIN" else "scram.Scram"
        translated["sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.{kind}LoginModule required"
            f" username={_quoted(settings['sasl.username'])} password={_quoted(settings['sasl.password'])};"
        )
    if "ssl.ca.location" in settings:
        translated["ssl.truststore.type"] = "PEM"
        translated["ssl.truststore.location"] = settings["ssl.ca.location"]
    return translated
