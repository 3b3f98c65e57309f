"""What a Kafka error means: the one place where codes become retriable, abortable or final errors of ours.

librdkafka tells of connection trouble by a callback and otherwise only times out, so every client gets a
``FailureWatch`` that remembers it, and a logger that keeps a dead cluster from writing twenty lines a second.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException

from airflow_provider_mm2.mirror.clusters.config import scrubbed
from airflow_provider_mm2.mirror.errors import (
    AuthenticationFailed,
    ClusterUnreachable,
    KafkaBusy,
    KafkaFailure,
    MirrorError,
    NotAuthorized,
    TopicDeleted,
)

log = logging.getLogger("airflow_provider_mm2.kafka")

REFUSED = frozenset({KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED})
_OWN_ERROR = re.compile(r"Local: ([A-Za-z ]+)")
UNAUTHORIZED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
NO_TOPIC = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_ID,
    }
)
REFUSED_SETTINGS = frozenset({KafkaError.INVALID_CONFIG, KafkaError.INVALID_REQUEST})
"""What brokers say of a topic setting that they do not know, or of a value that they do not take."""

FENCES = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
    }
)
REFUSED_RECORDS = frozenset(
    {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_TIMESTAMP, KafkaError.INVALID_RECORD, KafkaError.INVALID_MSG}
)
AWAY = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._RETRY,
        KafkaError._WAIT_CACHE,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._WAIT_COORD,
        KafkaError._NODE_UPDATE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError.NOT_CONTROLLER,
        KafkaError.CONCURRENT_TRANSACTIONS,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
    }
)


def kafka_error(error: KafkaException | KafkaError) -> KafkaError:
    """The ``KafkaError`` inside an exception of the client."""
    if isinstance(error, KafkaError):
        return error
    inner = error.args[0] if error.args else None
    return inner if isinstance(inner, KafkaError) else KafkaError(KafkaError._FAIL, str(error))


def refusal(error: Exception) -> str:
    """What a client says of settings that it does not take."""
    return kafka_error(error).str() if isinstance(error, KafkaException) else str(error)


def is_away(error: KafkaError) -> bool:
    """Whether waiting and asking again is right."""
    return error.code() in AWAY or error.retriable() or (error.code() in REFUSED and not is_refused(error))


def is_refused(error: KafkaError) -> bool:
    """Whether a broker did not take the credentials.

    The library reports a connection that broke while it logged in by the same code (its issue 1581); the text then
    names an error of its own, such as ``Local: Broker transport failure``, in place of the broker's answer.
    """
    if error.code() not in REFUSED:
        return False
    own = {name.strip() for name in _OWN_ERROR.findall(error.str())}
    return own <= {"Authentication failure"}


def translate(
    error: KafkaException | KafkaError, *, alias: str, operation: str, topic: str | None = None
) -> MirrorError:
    """Our error for a failure of one cluster."""
    inner = kafka_error(error)
    code, problem = inner.code(), inner.str()
    if is_refused(inner):
        return AuthenticationFailed(alias=alias, servers="see its settings", problem=problem)
    if code in UNAUTHORIZED:
        return NotAuthorized(alias=alias, operation=operation, problem=problem)
    if code in NO_TOPIC and topic is not None:
        return TopicDeleted(alias=alias, topic=topic)
    if is_away(inner):
        return KafkaBusy(alias=alias, operation=operation, code=inner.name(), problem=problem)
    return KafkaFailure(alias=alias, operation=operation, code=inner.name(), problem=problem)


class FailureWatch:
    """Remembers what the library reports of one cluster's connections; given to clients as ``error_cb``."""

    def __init__(self, *, alias: str, settings: Mapping[str, object]) -> None:
        self.alias = alias
        self.servers = str(settings["bootstrap.servers"])
        self._settings = settings
        self.last: KafkaError | None = None
        self.refused: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        """Take one report."""
        if is_refused(error):
            self.refused = error
        elif error.code() != KafkaError._ALL_BROKERS_DOWN or self.last is None:
            self.last = error

    def raise_refused(self) -> None:
        """Raise when the credentials were refused.

        :raises AuthenticationFailed: a broker said so.
        """
        if self.refused is not None:
            problem = scrubbed(self.refused.str(), self._settings)
            raise AuthenticationFailed(alias=self.alias, servers=self.servers, problem=problem)

    def unreachable(self, seconds: float) -> ClusterUnreachable:
        """The error for a cluster that did not answer."""
        problem = "no connection was made" if self.last is None else scrubbed(self.last.str(), self._settings)
        return ClusterUnreachable(alias=self.alias, servers=self.servers, seconds=seconds, problem=problem)


class _Limited(logging.Filter):
    """Lets each kind of line through once in ten seconds, and never a configuration warning.

    Nor that a producer's id could not be had at once: the first transaction of a cluster makes the topic for it, which
    takes a moment, and where it lasts ``init_transactions`` fails and says so.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        text = record.getMessage()
        kind = text.split(" ", 1)[0]
        if kind in ("CONFWARN", "GETPID"):
            return False
        now = time.monotonic()
        if now - self._seen.get(kind, -10.0) < 10:
            return False
        self._seen[kind] = now
        return True


client_log = logging.getLogger("airflow_provider_mm2.kafka.client")
client_log.addFilter(_Limited())
