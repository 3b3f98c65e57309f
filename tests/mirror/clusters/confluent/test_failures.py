"""Which of Kafka's codes are worth a retry."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka import KafkaError

from airflow_provider_mm2.mirror.clusters.confluent.failures import FailureWatch, client_log, translate
from airflow_provider_mm2.mirror.errors import AuthenticationFailed, KafkaBusy, KafkaFailure

PASSING = (
    "_TIMED_OUT",
    "_TIMED_OUT_QUEUE",
    "_MSG_TIMED_OUT",
    "_RETRY",
    "_WAIT_CACHE",
    "_TRANSPORT",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "CONCURRENT_TRANSACTIONS",
    "THROTTLING_QUOTA_EXCEEDED",
    "UNSTABLE_OFFSET_COMMIT",
)


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_by_itself_is_retriable(name: str) -> None:
    """A code that only says "not now" is worth a retry; a request that a woken process finds timed out is one."""
    found = translate(KafkaError(getattr(KafkaError, name)), alias="eu", operation="ask")
    assert isinstance(found, KafkaBusy)
    assert found.retriable


def test_what_does_not_pass_is_final() -> None:
    """A code that stays the same however often one asks is not retried."""
    found = translate(KafkaError(KafkaError.INVALID_PARTITIONS), alias="eu", operation="ask")
    assert isinstance(found, KafkaFailure)
    assert not found.retriable


BROKEN = (
    "sasl_ssl://b:1/0: SASL SCRAM-SHA-256 mechanism handshake failed: Local: Broker transport failure: broker's "
    "supported mechanisms: (n/a) (after 0ms in state DOWN)",
    "SASL authentication error: SaslAuthenticateRequest failed: Local: Broker transport failure (after 0ms)",
    "SASL authentication error: SaslAuthenticateRequest failed: Local: Timed out (after 10000ms)",
)
REFUSALS = (
    "SASL authentication error: Authentication failed: Invalid username or password (after 0ms in state AUTH_REQ)",
    "SASL X mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: PLAIN",
    "Local: Authentication failure",
)


@pytest.mark.parametrize("text", BROKEN)
def test_a_connection_that_breaks_in_the_login_refuses_nothing(text: str) -> None:
    """The library's code for it is the one of a refusal; a network that fails for a moment is worth a retry."""
    error = KafkaError(KafkaError._AUTHENTICATION, text)
    assert isinstance(translate(error, alias="eu", operation="ask"), KafkaBusy)
    watch = FailureWatch(alias="eu", settings={"bootstrap.servers": "b:1"})
    watch(error)
    watch.raise_refused()
    assert text in str(watch.unreachable(5))


@pytest.mark.parametrize("text", REFUSALS)
def test_a_broker_that_refuses_the_login(text: str) -> None:
    """It stays so however often one asks."""
    error = KafkaError(KafkaError._AUTHENTICATION, text)
    assert isinstance(translate(error, alias="eu", operation="ask"), AuthenticationFailed)
    watch = FailureWatch(alias="eu", settings={"bootstrap.servers": "b:1"})
    watch(error)
    with pytest.raises(AuthenticationFailed):
        watch.raise_refused()


def test_a_first_transaction_is_no_alarm() -> None:
    """The broker that has no topic of transactions yet says so to each producer, which just tries again."""
    record = logging.makeLogRecord({"msg": "GETPID [thrd:main]: Failed to acquire transactional PID: retrying"})
    assert not client_log.filter(record)
    assert client_log.filter(logging.makeLogRecord({"msg": "A-LINE-OF-ITS-OWN [thrd:main]: something"}))
