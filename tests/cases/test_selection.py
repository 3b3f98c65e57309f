"""Topics that a flow names, and the partitions it spreads over its shards."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.errors import NothingSelected, TargetTopicClaimed, TopicMissing
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, copied, records

WIDE = [TopicPartition(f"orders-{topic}", index) for topic in range(40) for index in range(30)]
"""1200 partitions."""

PINNED = [46, 47, 48, 49, 50, 51, 52, 53]
"""Shards of orders-0 to orders-7 among 64: a flow's ledger lies by them, so they never change."""


@pytest.mark.parametrize("shards", [1, 2, 7, 64])
def test_1200_partitions_in_so_many_shards(shards: int) -> None:
    """K61: every one of 1200 partitions is in exactly one of at most N shards, and none is left idle by chance."""
    layout = [naming.shard_of(part, shards) for part in WIDE]
    assert set(layout) == set(range(shards))
    assert max(layout.count(shard) for shard in range(shards)) <= 2 * len(WIDE) / shards


def test_the_layout_does_not_change_between_runs_or_versions() -> None:
    """K61: a retry maps alike: the hash is fixed, and does not depend on order, process or what else there is."""
    assert [naming.shard_of(TopicPartition("orders", index), 64) for index in range(8)] == PINNED
    assert [naming.shard_of(part, 64) for part in reversed(WIDE)] == [naming.shard_of(part, 64) for part in WIDE][::-1]


@pytest.mark.broker
def test_many_partitions_over_four_shards(make_scenario: MakeScenario) -> None:
    """K61: a topic of 60 partitions over 4 shards arrives once, and a second run finds it complete."""
    scenario = make_scenario(partitions=60, shards=4)
    for partition in range(0, 60, 7):
        scenario.produce(*records(3, first=partition * 10), partition=partition)
    summary = scenario.run()
    assert sorted(each.source.partition for each in summary.partitions) == list(range(60))
    assert (len(summary.shards), copied(summary)) == (4, 27)
    for partition in range(0, 60, 7):
        assert scenario.numbers(partition) == [partition * 10, partition * 10 + 1, partition * 10 + 2]
    assert copied(scenario.run()) == 0


@pytest.mark.broker
@pytest.mark.parametrize("missing", ["no-such-topic", "no.such.topic"])
def test_a_literal_topic_that_is_missing(make_scenario: MakeScenario, missing: str) -> None:
    """A topic that the flow names literally and that is not there is an error, also beside others that are."""
    scenario = make_scenario()
    scenario.topics = (scenario.topic, f"{missing}-{scenario.topic}")
    scenario.produce(*records(3))
    error = scenario.refuses(TopicMissing)
    assert error.topics == (f"{missing}-{scenario.topic}",)


@pytest.mark.broker
def test_nothing_is_selected(scenario: Scenario) -> None:
    """A pattern that selects no topic is an error, not a green run; patterns match whole names."""
    scenario.produce(*records(3))
    prefix = scenario.topic[:-3]
    scenario.topics = (f"{prefix}.?",)
    error = scenario.refuses(NothingSelected)
    assert error.patterns == (f"{prefix}.?",)
    assert "whole names" in str(error)


@pytest.mark.broker
def test_all_that_is_selected_is_excluded(scenario: Scenario) -> None:
    """A pattern whose topics are all excluded is an error that gives the rule."""
    scenario.produce(*records(3))
    exclude = f"{scenario.topic[:-3]}.*"
    scenario.topics = (f"{scenario.topic}.?",)
    error = scenario.refuses(NothingSelected, topics_exclude=(exclude,))
    assert f"topics_exclude: {exclude}" in error.rules


@pytest.mark.broker
def test_two_flows_into_one_target_topic(scenario: Scenario) -> None:
    """A second flow that would write to a topic that another flow mirrors into is refused, with its name."""
    scenario.produce(*records(3))
    scenario.run()
    scenario.produce(*records(3, first=3))
    error = scenario.refuses(TargetTopicClaimed, name=f"second-{scenario.flow}")
    assert error.group == scenario.progress_group
    assert scenario.numbers() == [0, 1, 2]


@pytest.mark.broker
def test_two_flows_on_an_empty_topic(scenario: Scenario) -> None:
    """The claim holds also while nothing was mirrored yet."""
    scenario.run()
    scenario.refuses(TargetTopicClaimed, name=f"second-{scenario.flow}")


@pytest.mark.broker
def test_a_topic_that_is_left_out_for_a_while(make_scenario: MakeScenario) -> None:
    """K11, neighbour: a topic taken out of the flow and put back goes on where it was, without a word of loss."""
    scenario = make_scenario()
    other = f"other-{scenario.topic}"
    scenario.create(topic=other)
    scenario.topics = (scenario.topic, other)
    scenario.produce(*records(3), topic=other)
    scenario.run()
    scenario.topics = (scenario.topic,)
    scenario.produce(*records(3, first=3), topic=other)
    summary = scenario.run()
    stays = f"topic {other!r} was mirrored and is left out now (not in topics); its progress stays until mm2 forget"
    assert (copied(summary), summary.warnings) == (0, (stays,))
    scenario.topics = (scenario.topic, other)
    assert copied(scenario.run()) == 3
    assert [message.value for message in scenario.mirrored(topic=other)] == [b"v%d" % number for number in range(6)]
