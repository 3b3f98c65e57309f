"""docs/how-to/first-mirror.md: filling the local pair."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.lab import Side
from tests.contract.real_lab import RealLab
from tests.how_to.fill import fill

pytestmark = pytest.mark.broker


def test_the_local_pair_is_filled(pair: LocalPair) -> None:
    """A hundred records are in the topic that the first flow mirrors."""
    lab, admin = RealLab(pair.addresses), AdminClient(dict(pair.addresses["target"]))
    try:
        fill(dict(pair.addresses["target"]))
        parts = [TopicPartition("flights", number) for number in range(4)]
        assert sum(len(lab.visible(Side.TARGET, part)) for part in parts) == 100
    finally:
        admin.delete_topics(["flights"])["flights"].result()
        lab.close()
