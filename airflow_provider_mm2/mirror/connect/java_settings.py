"""librdkafka's settings of a cluster as those of MirrorMaker 2's Java clients: the way back of an import. Pure.

Source: MirrorMaker 2, ``MirrorConnectorConfig`` (``source.cluster.*`` takes ``MirrorClientConfig.CLIENT_CONFIG_DEF``
alone, everything else goes to each client by its role); Kafka, ``SslConfigs`` (KIP-651), ``SaslConfigs``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.flow import ClusterSettings
from airflow_provider_mm2.mirror.mm2_import import client_keys
from airflow_provider_mm2.mirror.mm2_import.cluster_settings import AS_A_RUN_DOES, Side
from airflow_provider_mm2.mirror.setting_text import VARIABLE

ROLES = {
    Side.SOURCE: ("source.consumer.", "source.admin."),
    Side.TARGET: ("producer.override.", "target.producer.", "target.consumer.", "target.admin."),
}
"""Clients that need what is no matter of TLS or SASL; the worker's producer writes the records."""

_JAVA_NAMES = {client_keys.RENAMED[key]: key for key in client_keys.RENAMED}
_NO_LIMIT = {"connections.max.idle.ms": "-1", "socket.send.buffer.bytes": "-1", "socket.receive.buffer.bytes": "-1"}
"""What Java has for librdkafka's 0."""

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_OIDC_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
_OIDC = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_NO_EQUAL = "MirrorMaker 2's Java clients have no equal, or it is not for a flow to say"


@dataclass(slots=True, kw_only=True)
class JavaDraft:
    """Settings in the making.

    :param left: librdkafka's that are not taken care of yet.
    :param cluster: Java's, that all clients of the cluster share.
    :param clients: Java's, that each client needs by itself.
    :param problems: by librdkafka's key.
    """

    left: dict[str, str]
    cluster: dict[str, str] = field(default_factory=dict)
    clients: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def take(self, key: str) -> str | None:
        """A setting that is taken care of now."""
        return self.left.pop(key, None)


def for_the_worker(cluster: ClusterSettings) -> dict[str, object]:
    """A flow's own settings, each ``${NAME}`` left for the worker's config provider ``env`` to fill in (KIP-887)."""
    given = cluster.settings or {}
    return {key: VARIABLE.sub(r"${env:\1}", value) if isinstance(value, str) else value for key, value in given.items()}


def java_settings(side: Side, settings: Mapping[str, object]) -> tuple[dict[str, str], dict[str, str]]:
    """Keys of a connector, and what is wrong with keys of the flow's settings, by key; no value is in the latter."""
    draft = JavaDraft(left={key: _text(value) for key, value in settings.items()})
    _add_sasl(draft)
    _add_trust(draft)
    _add_identity(draft)
    _add_plain(draft, side)
    for key, value in draft.left.items():
        if value.lower() not in AS_A_RUN_DOES.get(key, ()):
            draft.problems[key] = _NO_EQUAL
    found = {f"{side.name.lower()}.cluster.{key}": value for key, value in draft.cluster.items()}
    found |= {head + key: value for head in ROLES[side] for key, value in draft.clients.items()}
    if side is Side.TARGET and "compression.type" in draft.clients:
        found = {key: value for key, value in found.items() if _is_of_records(key)}
    return found, draft.problems


def _is_of_records(key: str) -> bool:
    """Whether a key is one of those that a target's client may have: only the writer of records compresses."""
    return not key.endswith(".compression.type") or key.startswith("producer.override.")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _add_plain(draft: JavaDraft, side: Side) -> None:
    """What has the same name, or another for the same."""
    for key in sorted(draft.left):
        java = _JAVA_NAMES.get(key, key)
        if java not in client_keys.SAME_NAME and java not in client_keys.RENAMED:
            continue
        value = draft.left.pop(key)
        if value == "0" and key in _NO_LIMIT:
            value = _NO_LIMIT[key]
        place = draft.cluster if java in client_keys.SECURITY else draft.clients
        place[java] = value.upper() if java == "security.protocol" else value
    compression = draft.left.get("compression.type")
    if compression is not None and side is Side.TARGET:
        draft.clients["compression.type"] = draft.left.pop("compression.type")


def _add_sasl(draft: JavaDraft) -> None:
    mechanism = draft.take("sasl.mechanisms")
    if mechanism is not None:
        draft.left.setdefault("sasl.mechanism", mechanism)
    mechanism = draft.left.get("sasl.mechanism", "").upper()
    if mechanism == "OAUTHBEARER" and draft.left.get("sasl.oauthbearer.method", "").lower() == "oidc":
        draft.take("sasl.oauthbearer.method")
        draft.cluster["sasl.login.callback.handler.class"] = _OIDC_HANDLER
        draft.cluster["sasl.jaas.config"] = _jaas(draft, _BEARER, _OIDC)
    elif "sasl.username" in draft.left or "sasl.password" in draft.left:
        module = _PLAIN if mechanism == "PLAIN" else _SCRAM
        login = {"username": "sasl.username", "password": "sasl.password"}
        draft.cluster["sasl.jaas.config"] = _jaas(draft, module, login)


def _jaas(draft: JavaDraft, module: str, options: Mapping[str, str]) -> str:
    """One login, its values quoted as Java's ``StreamTokenizer`` reads them."""
    given = {option: draft.take(key) for option, key in options.items()}
    words = [f'{option}="{_quoted(value)}"' for option, value in given.items() if value is not None]
    return f"{module} required {' '.join(words)};"


def _quoted(value: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", value)


def _add_trust(draft: JavaDraft) -> None:
    location, inline = draft.take("ssl.ca.location"), draft.take("ssl.ca.pem")
    if location is not None or inline is not None:
        draft.cluster["ssl.truststore.type"] = "PEM"
    if location is not None:
        draft.cluster["ssl.truststore.location"] = location
    elif inline is not None:
        draft.cluster["ssl.truststore.certificates"] = inline
    check = draft.take("ssl.endpoint.identification.algorithm")
    if check is not None:
        draft.cluster["ssl.endpoint.identification.algorithm"] = "" if check.lower() == "none" else check
    if draft.left.get("enable.ssl.certificate.verification", "").lower() == "true":
        draft.take("enable.ssl.certificate.verification")


def _add_identity(draft: JavaDraft) -> None:
    """Our certificate and key: one PEM file, both as text, or a PKCS#12 store."""
    certificate, key = draft.take("ssl.certificate.location"), draft.take("ssl.key.location")
    chain, inline = draft.take("ssl.certificate.pem"), draft.take("ssl.key.pem")
    store, password = draft.take("ssl.keystore.location"), draft.take("ssl.keystore.password")
    of_key = draft.take("ssl.key.password")
    if certificate != key:
        draft.problems["ssl.key.location"] = "Java reads certificate and key from one PEM file; name it in both keys"
    elif certificate is not None:
        draft.cluster |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": certificate}
    elif chain is not None and inline is not None:
        draft.cluster |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain}
        draft.cluster["ssl.keystore.key"] = inline
    elif store is not None:
        draft.cluster |= {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": store}
        if password is not None:
            draft.cluster["ssl.keystore.password"] = password
    if of_key is not None:
        draft.cluster["ssl.key.password"] = of_key
