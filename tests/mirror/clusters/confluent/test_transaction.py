"""A transactional producer whose client says nothing."""

from __future__ import annotations

import socket
import time

import pytest

from airflow_provider_mm2.mirror.clusters import config
from airflow_provider_mm2.mirror.clusters.confluent.failures import FailureWatch
from airflow_provider_mm2.mirror.clusters.confluent.transaction import State, Transactions
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import TransactionFailed


@pytest.mark.thorough
def test_deliveries_that_are_never_told() -> None:
    """They are waited for no longer than the transaction may live; a topic deleted in a copy once held one for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    given: config.Settings = {"bootstrap.servers": address}
    settings = config.producer_settings(given, transactional_id="mm2.f.0", timeout_s=1)
    transactions = Transactions(alias="eu", settings=settings, watch=FailureWatch(alias="eu", settings=given))
    transactions.state = State.OPEN
    transactions.producer = Silent()  # type: ignore[assignment]
    began = time.monotonic()
    with pytest.raises(TransactionFailed, match="deliver 3 record"):
        transactions.flush(no_tick)
    assert 1 <= time.monotonic() - began < 20


class Silent:
    """A client with three records in flight for ever."""

    def flush(self, timeout_s: float) -> int:
        """Nothing has come."""
        return 3

    def begin_transaction(self) -> None:
        """Nothing is wrong."""
