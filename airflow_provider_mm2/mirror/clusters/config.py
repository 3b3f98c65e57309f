"""Settings of one cluster: where the values come from, which are secret, and what each client is forced to. Pure.

What a user gives is one librdkafka dictionary for all roles. What the mirror depends on is set on top of it and cannot
be lowered by a connection: isolation, commits, offset reset, topic creation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from airflow_provider_mm2.mirror.errors import SettingRefused, VariableMissing
from airflow_provider_mm2.mirror.flow import ClusterSettings
from airflow_provider_mm2.mirror.setting_text import VARIABLE

Settings = dict[str, object]

SECRET_KEYS = frozenset(
    {
        "sasl.password",
        "sasl.jaas.config",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.certificate.pem",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "ssl.truststore.password",
        "basic.auth.user.info",
    }
)
"""Keys whose value is a secret, whatever Airflow's own masker thinks of their names."""

NO_SECRET = ("sasl.oauthbearer.token.endpoint.url",)
"""Keys that only sound like one."""

SHORTEST_SECRET = 3
"""A value shorter than this is in every text by chance."""

_SECRET_WORDS = re.compile(r"password|passphrase|secret|token|jaas|private|credential|\.key\.|key\.pem$|user\.info$")

CLIENT_TIMEOUTS: Settings = {
    "socket.connection.setup.timeout.ms": 10_000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1_000,
    "retry.backoff.ms": 50,
    "retry.backoff.max.ms": 500,
}

NO_TOPIC_CREATION: Settings = {"allow.auto.create.topics": False}
"""A client's metadata request can make a broker create the topic it asks for; for producers that is the default."""

STREAM_READER: Settings = {
    **NO_TOPIC_CREATION,
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "check.crcs": True,
    "topic.metadata.refresh.interval.ms": 30_000,
}
"""Every consumer that reads records: assigned, read committed, never commits, never jumps."""

BATCH_BYTES = 1_000_000
"""Largest batch of a producer; a broker's default limit is 1,048,588 bytes."""

_NOT_FOR_PRODUCERS = (
    "group.",
    "fetch.",
    "queued.",
    "auto.offset",
    "auto.commit",
    "enable.auto",
    "isolation.",
    "max.poll",
    "session.timeout",
    "heartbeat.interval",
    "partition.assignment",
    "max.partition.fetch",
    "check.crcs",
    "enable.partition.eof",
)
_NOT_FOR_CONSUMERS = (
    "group.instance.id",  # a static member throws out the one that holds its id, and with it the lease
    "message.max.bytes",  # would lift fetch.max.bytes over our receive.message.max.bytes, which is refused
    "transaction",
    "enable.idempotence",
    "acks",
    "request.required.acks",
    "linger",
    "batch.",
    "compression.",
    "queue.buffering",
    "delivery.timeout",
    "message.timeout",
    "retries",
    "message.send.max.retries",
    "partitioner",
    "sticky.partitioning",
)


def is_secret(key: str) -> bool:
    """Whether the value of a setting must never be shown."""
    lowered = key.lower()
    if lowered.endswith(NO_SECRET):
        return False
    return lowered in SECRET_KEYS or _SECRET_WORDS.search(lowered) is not None


def plain_secrets(cluster: ClusterSettings) -> tuple[str, ...]:
    """Secret keys of a flow's own settings whose value is not exactly ``${NAME}``."""
    settings = cluster.settings or {}
    return tuple(key for key, value in settings.items() if is_secret(key) and VARIABLE.fullmatch(str(value)) is None)


def scrubbed(text: str, settings: Mapping[str, object]) -> str:
    """A client's own words without the values of secret settings, which it may quote."""
    for key, value in settings.items():
        if is_secret(key) and len(str(value)) >= SHORTEST_SECRET:
            text = text.replace(str(value), "***")
    return text


def redacted(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings as they may be shown."""
    return {key: "***" if is_secret(key) else value for key, value in settings.items()}


def resolve_settings(
    cluster: ClusterSettings,
    connection: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """One cluster's librdkafka settings; every ``${NAME}`` in a flow's own settings is filled in.

    :param connection: settings from elsewhere, taken as they are: a password in a connection may look like a variable.
    :param environment: where ``${NAME}`` is looked up, default the process's environment.
    :raises VariableMissing: a variable is not set.
    :raises SettingRefused: a callback is given as text, or there is no ``bootstrap.servers``.
    """
    given: Mapping[str, object] = connection if connection is not None else dict(cluster.settings or {})
    variables = os.environ if environment is None else environment
    resolved: Settings = {}
    for key, value in given.items():
        is_template = connection is None and isinstance(value, str)
        resolved[key] = _fill(cluster.alias, key, str(value), variables) if is_template else value
        if key.endswith("_cb"):
            raise SettingRefused(alias=cluster.alias, problem=f"{key!r} names a callback; callbacks are not taken yet")
    if not resolved.get("bootstrap.servers"):
        raise SettingRefused(alias=cluster.alias, problem="there is no bootstrap.servers")
    return resolved


def _fill(alias: str, key: str, value: str, variables: Mapping[str, str]) -> str:
    def look_up(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in variables:
            raise VariableMissing(alias=alias, setting=key, variable=name)
        return variables[name]

    return VARIABLE.sub(look_up, value)


def admin_settings(given: Settings) -> Settings:
    """Settings of an admin client."""
    return {**_without(given, _NOT_FOR_PRODUCERS + _NOT_FOR_CONSUMERS), **CLIENT_TIMEOUTS, **NO_TOPIC_CREATION}


def reader_settings(given: Settings, *, group: str) -> Settings:
    """Settings of a consumer that is assigned partitions; ``group`` is only a name, nothing is committed to it."""
    return {**_without(given, _NOT_FOR_CONSUMERS), **CLIENT_TIMEOUTS, **STREAM_READER, "group.id": group}


FETCH_LIMIT = 2_000_000_000
"""Below what librdkafka takes; a topic may have a ``max.message.bytes`` of 2,147,483,647."""


def copy_reader_settings(given: Settings, *, group: str, max_record_bytes: int) -> Settings:
    """Settings of the consumer that feeds the copy.

    The sizes keep memory flat whatever the codec (limits count compressed bytes) at full speed; with the default
    ``fetch.queue.backoff.ms`` of a second a partition of small records is held to a third of its speed.
    """
    fetched = min(max(52_428_800, max_record_bytes + 1_048_576), FETCH_LIMIT)
    tuned: Settings = {
        "max.partition.fetch.bytes": 1_048_576,
        "fetch.max.bytes": fetched,
        "receive.message.max.bytes": fetched + 1_048_576,
        "queued.max.messages.kbytes": 32_768,
        "queued.min.messages": 1_000_000,
        "fetch.queue.backoff.ms": 2,
        "fetch.wait.max.ms": 50,
        "fetch.error.backoff.ms": 50,
    }
    return {**reader_settings(given, group=group), **tuned}


def state_reader_settings(given: Settings, *, group: str) -> Settings:
    """Settings of a consumer for small reads: it does not wait for more to come."""
    return {**reader_settings(given, group=group), "fetch.wait.max.ms": 1, "fetch.queue.backoff.ms": 2}


def progress_settings(given: Settings, *, group: str) -> Settings:
    """Settings of the client bound to the progress group: with ``read_uncommitted`` it would show old offsets."""
    return {**state_reader_settings(given, group=group), "retry.backoff.ms": 5, "retry.backoff.max.ms": 20}


def member_settings(given: Settings, *, group: str, owner: str, session_s: float) -> Settings:
    """Settings of a lock group's member: classic protocol, sticky, so that a newcomer never takes the lock away."""
    return {
        **reader_settings(given, group=group),
        "client.id": owner,
        "group.protocol": "classic",
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": int(session_s * 1000),
        "heartbeat.interval.ms": 1000,
        "max.poll.interval.ms": max(300_000, int(session_s * 1000)),
        "auto.offset.reset": "latest",
    }


def producer_settings(
    given: Settings, *, transactional_id: str, timeout_s: int, batch_bytes: int = BATCH_BYTES
) -> Settings:
    """Settings of a transactional producer.

    Whether a record is too large the broker alone decides, by what the topic says now: a limit of the client's own
    counts bytes before compression and would refuse what the source and the target take.

    :param batch_bytes: the smallest ``max.message.bytes`` of the topics written, which counts whole batches.
    """
    tuned: Settings = {
        "transactional.id": transactional_id,
        "transaction.timeout.ms": timeout_s * 1000,
        "enable.idempotence": True,
        "acks": "all",
        "message.max.bytes": 1_000_000_000,
        "queue.buffering.max.messages": 0,
        "queue.buffering.max.kbytes": 2_097_151,
        "linger.ms": 5,
        "batch.size": min(BATCH_BYTES, batch_bytes),
        "batch.num.messages": 100_000,
        "delivery.timeout.ms": min(timeout_s * 1000, 60_000),
    }
    return {**_without(given, _NOT_FOR_PRODUCERS), **CLIENT_TIMEOUTS, **NO_TOPIC_CREATION, **tuned}


def plain_producer_settings(given: Settings, *, batch_bytes: int = BATCH_BYTES) -> Settings:
    """Settings of a producer without transactions (``delivery: at_least_once``).

    It repeats nothing by itself and leaves no gap: it is idempotent, a record that is refused ends it, and none is
    given up by the client, which would send on what comes behind; whoever uses it keeps the time.
    ``enable.idempotence: false`` is respected here, for a target that refuses idempotent producers; one request at a
    time then keeps the order, and an answer that was lost costs a repeat.
    """
    is_idempotent = str(given.get("enable.idempotence", True)).lower() != "false"
    ordered: Settings = {"enable.idempotence": False, "max.in.flight.requests.per.connection": 1, "retries": 2**31 - 1}
    gapless: Settings = {"enable.idempotence": True, "enable.gapless.guarantee": True}
    settings = producer_settings(given, transactional_id="", timeout_s=0, batch_bytes=batch_bytes)
    plain = {key: value for key, value in settings.items() if not key.startswith("transaction")}
    return {**plain, **(gapless if is_idempotent else ordered), "delivery.timeout.ms": 0}


def application_writer_settings(given: Settings) -> Settings:
    """Settings of a producer as an application has it."""
    tuned: Settings = {"enable.idempotence": True, "acks": "all", "linger.ms": 5, "delivery.timeout.ms": 30_000}
    return {**_without(given, _NOT_FOR_PRODUCERS), **CLIENT_TIMEOUTS, **NO_TOPIC_CREATION, **tuned}


def application_reader_settings(given: Settings, *, group: str, protocol: str) -> Settings:
    """Settings of a member of a consumer group as an application has it, which never guesses where it stands."""
    tuned: Settings = {
        "group.id": group,
        "group.protocol": protocol,
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
    }
    if protocol == "classic":
        tuned["session.timeout.ms"] = 6000
    return {**_without(given, _NOT_FOR_CONSUMERS), **CLIENT_TIMEOUTS, **NO_TOPIC_CREATION, **tuned}


def _without(given: Settings, prefixes: tuple[str, ...]) -> Settings:
    return {key: value for key, value in given.items() if not key.startswith(prefixes)}
