"""Topics that are not what they were, and clusters that are not two."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import (
    FlowChanged,
    SameCluster,
    SourceTopicRecreated,
    SourceTruncated,
    TargetLostData,
    TargetTopicGone,
    TargetTopicRecreated,
    TopicDeleted,
)
from airflow_provider_mm2.mirror.state.ledger import read_ledger, to_record
from airflow_provider_mm2.mirror.state_model import LedgerEntry
from tests.cases.by_hand import partitions_of, produce_state, set_group
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, copied, record, records
from tests.contract.lab import Side

pytestmark = pytest.mark.broker


def topic_id(scenario: Scenario, side: Side) -> str:
    """Id of the scenario's topic on one side."""
    cluster, name = (
        (scenario.lab.pair.source, scenario.topic)
        if side is Side.SOURCE
        else (scenario.lab.pair.target, scenario.target().topic)
    )
    return cluster.describe_topics([name])[name].topic_id


def test_a_target_topic_that_was_recreated(scenario: Scenario) -> None:
    """K19 and K98: deleted and made again, empty, with 0 new source records: stops, and tells both ids."""
    scenario.produce(*records(100))
    scenario.run()
    mirrored_to = topic_id(scenario, Side.TARGET)
    scenario.lab.delete_topic(Side.TARGET, scenario.target().topic)
    scenario.create_target()
    assert scenario.progress() is None
    error = scenario.refuses(TargetTopicRecreated)
    assert (error.recorded_id, error.found_id) == (mirrored_to, topic_id(scenario, Side.TARGET))
    assert error.records == 100
    assert "target topic was recreated" in str(error)
    assert not error.retriable


def test_a_target_topic_that_was_recreated_and_filled(scenario: Scenario) -> None:
    """K98, neighbour: a recreated topic with as many records as before is still another topic."""
    scenario.produce(*records(10))
    scenario.run()
    scenario.lab.delete_topic(Side.TARGET, scenario.target().topic)
    scenario.create_target()
    scenario.lab.produce(Side.TARGET, scenario.target(), *records(11))
    scenario.produce(record(10))
    scenario.refuses(TargetTopicRecreated)


def test_a_target_topic_that_is_gone(scenario: Scenario) -> None:
    """K19, neighbour: a topic that was mirrored to is not made anew behind the operator's back."""
    scenario.produce(*records(100))
    scenario.run()
    scenario.lab.delete_topic(Side.TARGET, scenario.target().topic)
    error = scenario.refuses(TargetTopicGone)
    assert error.records == 100
    assert partitions_of(scenario.addresses["target"], scenario.target().topic) is None


def latest(scenario: Scenario, partition: int = 0) -> LedgerEntry:
    """The newest ledger entry of a partition."""
    pair = connect(scenario.mirror_flow())
    try:
        return read_ledger(pair.target, scenario.flow, 0, lambda: None)[scenario.source(partition)].latest
    finally:
        pair.close()


def test_a_target_that_ends_below_what_was_recorded(scenario: Scenario) -> None:
    """K19: the same topic id and an end below the recorded one: target lost data (the record is raised by hand)."""
    scenario.produce(*records(100))
    scenario.run()
    entry = latest(scenario)
    assert entry.target_end == 101
    produce_state(scenario.addresses["target"], to_record(scenario.flow, 0, replace(entry, target_end=111)))
    error = scenario.refuses(TargetLostData)
    assert (error.recorded_end, error.end) == (111, 101)
    assert "target lost data" in str(error)


def test_a_source_that_ends_below_what_was_mirrored(scenario: Scenario) -> None:
    """K20, neighbour: the same topic id and an end below progress: the source was truncated; nothing is guessed."""
    scenario.produce(*records(10))
    scenario.run()
    entry = latest(scenario)
    further = replace(entry, next_offset=15)
    produce_state(scenario.addresses["target"], to_record(scenario.flow, 0, further))
    set_group(scenario.addresses["target"], scenario.progress_group, {scenario.target(): 15})
    error = scenario.refuses(SourceTruncated)
    assert (error.progress, error.end) == (15, 10)


@pytest.mark.parametrize("present", [0, 50, 1000, 1500])
def test_a_source_topic_that_was_recreated(scenario: Scenario, present: int) -> None:
    """K20 (a) and (b): recreated with fewer, as many or more records than were mirrored: stops, with both ids."""
    scenario.produce(*records(1000))
    scenario.run()
    mirrored = topic_id(scenario, Side.SOURCE)
    scenario.lab.delete_topic(Side.SOURCE, scenario.topic)
    scenario.create()
    if present:
        scenario.produce(*records(present, first=5000))
    error = scenario.refuses(SourceTopicRecreated)
    assert (error.recorded_id, error.found_id) == (mirrored, topic_id(scenario, Side.SOURCE))
    assert error.progress == 1000
    assert not error.retriable
    assert scenario.numbers() == list(range(1000))


def test_one_recreated_topic_stops_before_any_other_is_copied(make_scenario: MakeScenario) -> None:
    """K20, neighbour: with two topics nothing is copied in the run that finds one recreated."""
    scenario = make_scenario()
    other = f"other-{scenario.topic}"
    scenario.topics = (scenario.topic, other)
    scenario.create(topic=other)
    scenario.produce(*records(3), topic=other)
    scenario.run()
    scenario.produce(*records(3, first=3), topic=other)
    scenario.lab.delete_topic(Side.SOURCE, scenario.topic)
    scenario.create()
    assert scenario.refuses(SourceTopicRecreated).topic == scenario.topic


def test_a_source_topic_that_is_gone(scenario: Scenario) -> None:
    """K91, neighbour: the flow's only topic was deleted: the run says so, and its progress stays."""
    scenario.produce(*records(3))
    scenario.run()
    scenario.lab.delete_topic(Side.SOURCE, scenario.topic)
    error = scenario.refuses(TopicDeleted)
    assert error.topic == scenario.topic
    assert scenario.progress() == 3
    assert partitions_of(scenario.addresses["source"], scenario.topic) is None


def test_one_of_two_source_topics_is_gone(make_scenario: MakeScenario) -> None:
    """K91, neighbour: the other topics go on, and the run warns of the one that is gone."""
    scenario = make_scenario()
    other = f"other-{scenario.topic}"
    scenario.topics = (scenario.topic, other)
    scenario.create(topic=other)
    scenario.run()
    scenario.lab.delete_topic(Side.SOURCE, other)
    scenario.produce(*records(3))
    summary = scenario.run()
    assert copied(summary) == 3
    assert any(other in warning for warning in summary.warnings)


@pytest.mark.parametrize("policy", ["identity", "default"])
def test_one_cluster_through_two_addresses(make_scenario: MakeScenario, policy: str) -> None:
    """K89: two host names of one cluster are refused by the cluster's id, before anything is made."""
    scenario = make_scenario(replication_policy=policy)
    scenario.produce(*records(3))
    here = scenario.addresses["source"]["bootstrap.servers"]
    scenario.addresses = {
        "source": {"bootstrap.servers": here},
        "target": {"bootstrap.servers": here.replace("127.0.0.1", "localhost")},
    }
    error = scenario.refuses(SameCluster)
    assert error.cluster_id
    assert not error.retriable


def test_another_cluster_under_the_recorded_alias(scenario: Scenario) -> None:
    """K89, neighbour: a source address that leads to another cluster than recorded is refused, although it answers."""
    scenario.produce(*records(3))
    scenario.run()
    swapped = {"alias": "us", "settings": dict(scenario.addresses["target"])}
    scenario.refuses(SameCluster, source=swapped)


def test_a_restored_source_cluster_is_another_one(odd_cluster: LocalCluster, make_scenario: MakeScenario) -> None:
    """K20, neighbour: the same topic on a rebuilt cluster behind the same alias stops by the cluster's id."""
    scenario = make_scenario()
    scenario.produce(*records(3))
    scenario.run()
    before = scenario.snapshot()["target"]
    source = {"alias": "us", "settings": odd_cluster.client_settings}
    assert scenario.fails(FlowChanged, source=source).setting == "source cluster id"
    assert scenario.snapshot()["target"] == before
