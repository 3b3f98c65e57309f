"""Real clusters: start, crash, restart, stop."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.pair import LocalPair

pytestmark = pytest.mark.broker


def test_pair_serves(pair: LocalPair) -> None:
    """Both clusters of the session's pair answer at the addresses the pair gives."""
    for settings in pair.addresses.values():
        assert len(AdminClient(settings).list_topics(timeout=10).brokers) == 1


def test_pair_has_two_clusters(pair: LocalPair) -> None:
    """Source and target are two clusters, not one under two names."""
    assert pair.addresses["source"] != pair.addresses["target"]


def test_wrong_password(make_cluster: Callable[..., LocalCluster]) -> None:
    """A client with a wrong password is turned away."""
    cluster = make_cluster(security="sasl_plaintext", users={"alice": "a'\"\\é"})
    right = cluster.client_settings
    assert len(AdminClient(right).list_topics(timeout=10).brokers) == 1
    with pytest.raises(KafkaException):
        AdminClient({**right, "sasl.password": "wrong", "log_level": 0}).list_topics(timeout=2)
