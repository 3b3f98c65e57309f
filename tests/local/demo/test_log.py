"""Loading and reading back, on real Kafka."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.local.demo.flights import flights_of
from airflow_provider_mm2.local.demo.log import create_topic, load, read
from airflow_provider_mm2.local.demo.report import all_same, records
from airflow_provider_mm2.local.pair import LocalPair
from tests.conftest import TopicName
from tests.data import FLIGHTS_SAMPLE

pytestmark = pytest.mark.broker


def test_reads_back_what_was_loaded(pair: LocalPair, topic_name: TopicName) -> None:
    """Two topics with the same records compare equal, on whichever cluster, and another order does not."""
    topic, flights = topic_name("flights"), flights_of(FLIGHTS_SAMPLE)
    source, target = pair.addresses["source"], pair.addresses["target"]
    for settings in (source, target):
        create_topic(settings, topic, partitions=3, config={"retention.ms": "-1"})
        load(settings, topic, flights)
    left, right = read(source, topic), read(target, topic)
    assert all_same(left, right)
    assert records(left) == len(flights)
    assert sum(partition.months["2014-01"] for partition in left.values()) == 6
    backwards = topic_name("flights")
    create_topic(source, backwards, partitions=3, config={"retention.ms": "-1"})
    load(source, backwards, flights[::-1])
    assert not all_same(left, read(source, backwards))
