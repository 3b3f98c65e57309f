"""Airflow connections as settings of Kafka clients, with every secret masked before anything can log it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from threading import Event
from typing import TYPE_CHECKING

from airflow.sdk import BaseHook

from airflow_provider_mm2.mirror.clusters.config import is_secret, plain_secrets, resolve_settings
from airflow_provider_mm2.mirror.errors import ConnectionMissing, SecretInFlow, SecretInRepoint, Stopped
from airflow_provider_mm2.mirror.flow import ClusterSettings, MirrorFlow
from airflow_provider_mm2.mirror.json_text import read_json
from airflow_provider_mm2.version_compat import AirflowNotFoundException, mask_secret

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.ports import ClusterPair

_ASSIGNED = re.compile(r"""(?:password|secret|token)\w*\s*=\s*(["'])(?P<text>.+?)\1""", re.IGNORECASE)
_FROM_ENVIRONMENT = re.compile(r"(?:bearer |basic )?\$\{\w+\}", re.IGNORECASE)
_SHORTEST_LINE = 12
"""Shortest line of a key file that is masked by itself: shorter ones would blot out words of ordinary lines."""


class KafkaClusterHook(BaseHook):
    """The librdkafka settings behind a connection of the official type ``kafka``, used as it is.

    Only the connection's extra counts; host, login and password are left alone, as the official provider does.

    :param kafka_conn_id: id of the connection.
    """

    conn_name_attr = "kafka_conn_id"
    default_conn_name = "kafka_default"
    conn_type = "kafka"
    hook_name = "Kafka cluster"

    def __init__(self, kafka_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.kafka_conn_id = kafka_conn_id

    def get_conn(self) -> dict[str, object]:
        """The settings, a new dictionary each time; a client is made from them in the task itself, never here.

        :raises ConnectionMissing: there is no such connection, its extra is not a JSON object of plain values, has no
            ``bootstrap.servers`` or names a callback.
        """
        try:
            connection = self.get_connection(self.kafka_conn_id)
        except AirflowNotFoundException:
            raise self._unusable("it is not defined") from None
        return self._settings(connection.extra)

    async def aget_conn(self) -> dict[str, object]:
        """The same for an event loop, which the look-up does not block: in a trigger the other one is refused.

        :raises ConnectionMissing: as :meth:`get_conn`.
        """
        try:
            connection = await self.aget_connection(self.kafka_conn_id)
        except AirflowNotFoundException:
            raise self._unusable("it is not defined") from None
        return self._settings(connection.extra)

    def _settings(self, extra: str | None) -> dict[str, object]:
        settings = self._parsed(extra)
        mask_secrets(settings)
        self._check(settings)
        return settings

    def _parsed(self, extra: str | None) -> dict[str, object]:
        """The extra as a mapping. The parser's own error holds the text, secrets and all, and is dropped."""
        try:
            settings = read_json(extra or "{}")
        except ValueError:
            settings = None
        if not isinstance(settings, dict):
            raise self._unusable("its extra is not a JSON object")
        return settings

    def _check(self, settings: Mapping[str, object]) -> None:
        callbacks = sorted(key for key in settings if key.endswith("_cb"))
        if callbacks:
            raise self._unusable(f"it names callbacks ({', '.join(callbacks)}), which are not taken yet")
        nested = sorted(key for key, value in settings.items() if not isinstance(value, str | int | float | bool))
        if nested:
            raise self._unusable(f"{', '.join(nested)} in its extra is not text, a number, true or false")
        if not settings.get("bootstrap.servers"):
            raise self._unusable("its extra has no bootstrap.servers (its host and port are not looked at)")

    def _unusable(self, problem: str) -> ConnectionMissing:
        return ConnectionMissing(connection=self.kafka_conn_id, problem=problem)


def pair_settings(flow: MirrorFlow, *, target_only: bool = False) -> dict[str, dict[str, object]]:
    """Settings of both clusters by alias: from connections where the flow names them, with ``${NAME}`` filled in.

    Call it in ``execute()`` only: it asks Airflow and the environment of the worker.

    :param target_only: nothing that the source needs is asked for.
    :raises SecretInFlow: a cluster holds a secret in plain text.
    :raises ConnectionMissing: a connection cannot be used.
    :raises VariableMissing: an environment variable is not set.
    """
    refuse_plain_secrets(flow)
    clusters = (flow.target,) if target_only else (flow.source, flow.target)
    return {cluster.alias: _settings_of(cluster) for cluster in clusters}


async def apair_settings(flow: MirrorFlow) -> dict[str, dict[str, object]]:
    """:func:`pair_settings` for an event loop.

    :raises MirrorError: as there.
    """
    refuse_plain_secrets(flow)
    found: dict[str, dict[str, object]] = {}
    for cluster in (flow.source, flow.target):
        connection = None if cluster.connection is None else await KafkaClusterHook(cluster.connection).aget_conn()
        found[cluster.alias] = _resolved(cluster, connection)
    return found


def connect_pair(
    flow: MirrorFlow, settings: Mapping[str, Mapping[str, object]], stop: Event, *, target_only: bool = False
) -> ClusterPair:
    """The two clusters of a flow; nothing is contacted yet.

    :param settings: by alias, from :func:`pair_settings`.
    :param stop: ends every wait for an answer, also for one that a cluster which is gone will never give.
    :param target_only: the source cannot be asked for.
    :raises SettingRefused: the client refuses the settings.
    """
    # Imported here: parsing a DAG must not load the Kafka client.
    from airflow_provider_mm2.mirror.clusters.confluent.client import connect

    def tick() -> None:
        if stop.is_set():
            raise Stopped

    return connect(flow, settings=settings, tick=tick, target_only=target_only)


def refuse_plain_secrets(flow: MirrorFlow) -> None:
    """Refuse secrets in plain text: what a flow holds ends in Airflow's database and pages.

    :raises SecretInFlow: with the names of the settings.
    :raises SecretInRepoint: with those of an entry of ``repoint``.
    """
    for cluster in (flow.source, flow.target):
        refuse_plain_secrets_in(cluster.alias, cluster.settings or {})
    refuse_plain_secrets_in_connect(flow.target.alias, flow.connect.model_dump())
    if flow.repoint:
        # Imported here: parsing a DAG loads nothing that only a failover needs.
        from airflow_provider_mm2.mirror.recovery.repoint.plain_secrets import plain_secrets_in

        for item in flow.repoint:
            keys = plain_secrets_in(item)
            if keys:
                raise SecretInRepoint(name=item.label, keys=keys)


def refuse_plain_secrets_in(alias: str, settings: Mapping[str, object]) -> None:
    """Refuse secrets in plain text in the settings of one cluster, which may not make a valid flow yet.

    :raises SecretInFlow: with the names of the settings.
    """
    found = plain_secrets(ClusterSettings.model_construct(alias=alias, settings=dict(settings)))
    if found:
        mask_secrets({key: settings[key] for key in found})
        raise SecretInFlow(alias=alias, settings=found)


def refuse_plain_secrets_in_connect(alias: str, connect: Mapping[str, object]) -> None:
    """Refuse a log-in in plain text in a ``connect:`` block, which may not be a valid one yet.

    :param alias: of the target, where the Connect cluster stands.
    :raises SecretInFlow: with the names of the keys.
    """
    auth, headers = connect.get("auth"), connect.get("headers")
    given: dict[str, object] = {}
    if isinstance(auth, Mapping):
        given |= {f"connect.auth.{name}": auth.get(name) for name in ("password", "token")}
    if isinstance(headers, Mapping):
        named = {name: f"connect.headers.{name}" for name in headers}
        given |= {
            key: headers[name]
            for name, key in named.items()
            if is_secret(str(name).replace("-", ".")) or str(name).lower() == "authorization"
        }
    found = tuple(key for key, text in given.items() if text and _FROM_ENVIRONMENT.fullmatch(str(text)) is None)
    if found:
        for key in found:
            mask_secret(str(given[key]))
        raise SecretInFlow(alias=alias, settings=found)


def mask_secrets(settings: Mapping[str, object]) -> None:
    """Have Airflow mask the secret values in everything it logs, by our own list of keys.

    Airflow goes by words in a key's name and takes ``ssl.key.pem`` or ``sasl.jaas.config`` for harmless.
    """
    for key, value in settings.items():
        if is_secret(key):
            for text in sorted(set(_forms(key, value if isinstance(value, str) else json.dumps(value)))):
                mask_secret(text)


def _forms(key: str, secret: str) -> Iterator[str]:
    """A secret as it may turn up: whole, escaped, a line of it, the password inside it."""
    yield from filter(None, (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1]))
    lines = [line.strip() for line in secret.splitlines()]
    yield from (line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith("-----"))
    yield from (match.group("text") for match in _ASSIGNED.finditer(secret))
    if key.endswith("user.info"):
        yield from filter(None, (secret.partition(":")[2],))


def _settings_of(cluster: ClusterSettings) -> dict[str, object]:
    connection = None if cluster.connection is None else KafkaClusterHook(cluster.connection).get_conn()
    return _resolved(cluster, connection)


def _resolved(cluster: ClusterSettings, connection: Mapping[str, object] | None) -> dict[str, object]:
    resolved = resolve_settings(cluster, connection)
    mask_secrets(resolved)
    return resolved
