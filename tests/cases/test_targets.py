"""Target topics that do not fit, and target clusters without transactions."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.mirror.clusters.confluent import transaction
from airflow_provider_mm2.mirror.errors import (
    RecordRefused,
    ReplicationImpossible,
    TargetPartitionsFewer,
    TargetTopicMissing,
    TransactionsUnsupported,
)
from airflow_provider_mm2.mirror.offsets.translate import Translated
from tests.cases.by_hand import partitions_of, topic_setting
from tests.cases.conftest import MakeCluster, MakeScenario
from tests.cases.scenario import MIDNIGHT, Scenario, copied, ms, record, records
from tests.contract.lab import Side
from tests.fakes.log import Message

pytestmark = pytest.mark.broker


def test_fewer_partitions_and_no_growth(make_scenario: MakeScenario) -> None:
    """A target with fewer partitions than its source is refused while growth is off; nothing is copied anywhere."""
    scenario = make_scenario(partitions=3, sync_topics={"grow": False})
    scenario.create_target(partitions=2)
    scenario.produce(*records(3), partition=0)
    error = scenario.refuses(TargetPartitionsFewer)
    assert (error.target_topic, error.partitions, error.needed) == (scenario.target().topic, 2, 3)


def test_fewer_partitions_and_growth(make_scenario: MakeScenario) -> None:
    """A target with fewer partitions is grown first, and every record arrives in its partition's number."""
    scenario = make_scenario(partitions=3)
    scenario.create_target(partitions=1)
    for partition in range(3):
        scenario.produce(*records(3, first=10 * partition), partition=partition)
    summary = scenario.run()
    assert summary.prepared.grown == (scenario.target().topic,)
    assert [scenario.numbers(partition) for partition in range(3)] == [[0, 1, 2], [10, 11, 12], [20, 21, 22]]


def test_more_partitions_than_the_source(make_scenario: MakeScenario) -> None:
    """A target with more partitions than its source is left as it is; the spare ones stay empty."""
    scenario = make_scenario(partitions=2)
    scenario.create_target(partitions=4)
    scenario.produce(*records(3), partition=1)
    assert copied(scenario.run()) == 3
    assert partitions_of(scenario.addresses["target"], scenario.target().topic) == 4
    assert [len(scenario.mirrored(partition)) for partition in range(4)] == [0, 3, 0, 0]


def test_a_target_topic_that_may_not_be_created(make_scenario: MakeScenario) -> None:
    """With creation off a missing target topic is refused by name, before anything is made; made by hand it works."""
    scenario = make_scenario(sync_topics={"create": False})
    scenario.produce(*records(3))
    assert scenario.refuses(TargetTopicMissing).target_topics == (scenario.target().topic,)
    scenario.create_target()
    assert copied(scenario.run()) == 3


@pytest.mark.parametrize("option", ["replication_factor", "internal_replication_factor"])
def test_more_replicas_than_brokers(make_scenario: MakeScenario, option: str) -> None:
    """A replication factor that the target cannot give is refused with its number of brokers, and nothing is made."""
    too_many: dict[str, Any] = {option: 3}
    scenario = make_scenario(**too_many)
    scenario.produce(*records(3))
    error = scenario.refuses(ReplicationImpossible)
    assert (error.alias, error.factor, error.brokers) == ("eu", f"{option}: 3", 1)
    assert error.retriable  # a broker that restarts is not told of: the cluster looks smaller for a moment
    enough: dict[str, Any] = {option: 1}
    assert copied(scenario.run(**enough)) == 3


def test_settings_are_there_before_the_first_record(make_scenario: MakeScenario) -> None:
    """A new target topic has its source's retention at creation, so that old records are not deleted as they come."""
    scenario = make_scenario(settings={"retention.ms": "86400000000000", "cleanup.policy": "delete", "segment.ms": "1"})
    scenario.produce(record(0, 1))
    scenario.run()
    target = scenario.addresses["target"], scenario.target().topic
    assert topic_setting(*target, "retention.ms") == "86400000000000"
    assert topic_setting(*target, "message.timestamp.type") == "CreateTime"
    assert scenario.numbers() == [0]


def test_a_source_that_stamps_records_itself(make_scenario: MakeScenario) -> None:
    """A source with LogAppendTime is mirrored with the times its readers see."""
    scenario = make_scenario(settings={"message.timestamp.type": "LogAppendTime"})
    scenario.produce(record(0, MIDNIGHT))
    scenario.run()
    (source,) = scenario.lab.visible(Side.SOURCE, scenario.source())
    assert source[1].timestamp_ms > ms(MIDNIGHT)
    assert scenario.mirrored() == [source[1]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"cleanup.policy": "compact"}, Message(value=b"v", timestamp_ms=5), id="no-key"),
        pytest.param({"message.timestamp.before.max.ms": "1000"}, record(0), id="too-old"),
    ],
)
def test_records_that_the_target_topic_refuses(scenario: Scenario, settings: dict[str, str], message: Message) -> None:
    """A record that the target's settings forbid stops the run by the topic's name; nothing of its chunk is there."""
    scenario.create_target(settings=settings)
    scenario.produce(record(1, ms(MIDNIGHT)) if message.key is None else message, message, message)
    error = scenario.fails(RecordRefused)
    assert scenario.target().topic in error.target_topic
    assert not error.retriable
    assert scenario.mirrored() == []


def to(cluster: LocalCluster, make_scenario: MakeScenario) -> Scenario:
    """A flow from the session's source to another target, with three records."""
    source = make_scenario(partitions=0).addresses["source"]
    scenario = make_scenario(addresses={"source": source, "target": cluster.client_settings})
    scenario.produce(*records(3))
    return scenario


@pytest.mark.slow
def test_a_target_that_cannot_make_transactions(
    make_cluster: MakeCluster, make_scenario: MakeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target whose transaction topic wants three brokers and has one ends at the time limit, with the way out.

    The flow then runs with ``at_least_once``: records, ledger, progress and groups, without one transaction.
    """
    monkeypatch.setattr(transaction, "FENCE_LIMIT_S", 3.0)
    scenario = to(make_cluster(properties={"transaction.state.log.replication.factor": "3"}), make_scenario)
    error = scenario.fails(TransactionsUnsupported)
    assert "transaction.state.log.replication.factor" in str(error)
    assert "delivery: at_least_once" in str(error)
    assert not error.retriable
    assert partitions_of(scenario.addresses["target"], scenario.target().topic) is None
    without: dict[str, Any] = {"delivery": "at_least_once", "sync_group_offsets": True}
    scenario.lab.commit_offsets(Side.SOURCE, f"app-{scenario.flow}", {scenario.source(): 2})
    summary = scenario.run(groups=[f"app-{scenario.flow}"], **without)
    assert copied(summary) == 3
    scenario.produce(*records(4, first=3))
    assert copied(scenario.run(**without)) == 4
    assert scenario.numbers() == list(range(7))
    assert scenario.progress() == 7
    (position,) = (found for each in summary.groups.positions.values() for found in each)
    assert position.position == Translated(offset=2)
    assert partitions_of(scenario.addresses["target"], "__transaction_state") is None


def test_a_target_that_ends_transactions_sooner(odd_cluster: LocalCluster, make_scenario: MakeScenario) -> None:
    """transaction.max.timeout.ms below the flow's transaction_timeout_s is told with both; lowered it works."""
    scenario = to(odd_cluster, make_scenario)
    error = scenario.fails(TransactionsUnsupported)
    assert "transaction.max.timeout.ms" in str(error)
    assert "transaction_timeout_s" in str(error)
    assert scenario.progress() is None
    assert copied(scenario.run(transaction_timeout_s=15)) == 3
