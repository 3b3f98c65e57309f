"""State records in one transaction of their own id (every write to the gate is one)."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaException

from airflow_provider_mm2.mirror.clusters.config import Settings
from airflow_provider_mm2.mirror.clusters.confluent.failures import FailureWatch
from airflow_provider_mm2.mirror.clusters.confluent.transaction import Transactions
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.model import StateRecord


class ConfluentStateWriter:
    """See :class:`airflow_provider_mm2.mirror.clusters.ports.StateWriter`."""

    def __init__(self, *, alias: str, settings: Settings, watch: FailureWatch) -> None:
        self._transactions = Transactions(alias=alias, settings=settings, watch=watch)

    def fence(self, tick: Tick) -> None:
        """End every earlier writer of this id."""
        self._transactions.fence(tick)

    def write(self, records: Iterable[StateRecord], tick: Tick) -> None:
        """Begin, write all, commit."""
        self._transactions.begin()
        try:
            for record in records:
                self._transactions.producer.produce(
                    record.topic, record.value, record.key, record.partition, None, None
                )
        except KafkaException as error:
            failure = self._transactions.failure(error, "write the state")
            self._transactions.abort()
            raise failure from error
        self._transactions.commit(tick)

    def close(self) -> None:
        """Abort what is open."""
        self._transactions.abort()
