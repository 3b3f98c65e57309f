"""Which of Kafka's codes are worth a retry."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from airflow_provider_mm2.mirror.clusters.confluent.failures import translate
from airflow_provider_mm2.mirror.errors import KafkaBusy, KafkaFailure

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
