"""Topics that grow or go while the mirror is between plan and copy, or at work."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import MirrorError, SourceTopicRecreated, TargetTopicGone, TopicDeleted
from airflow_provider_mm2.mirror.model import Progress, ShardResult
from airflow_provider_mm2.mirror.run import mirror_shard, prepare
from tests.cases.by_hand import grow, partitions_of
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, assert_three_parts, bounds, copied, part, records
from tests.contract.lab import Side
from tests.fakes.log import Message

pytestmark = pytest.mark.broker

QUICK: dict[str, Any] = {"chunk": {"bytes": 1_000_000}, "silence_limit_s": 5, "transaction_timeout_s": 6}
"""Small chunks, and limits that end soon: a client only waits for a topic that was deleted."""


def test_growth_between_runs(make_scenario: MakeScenario) -> None:
    """K51: 3 partitions become 6 with 10 records in p5: the target has 6 before copying, and the 10 are in its p5."""
    scenario = make_scenario(partitions=3)
    scenario.produce(*records(2), partition=1)
    scenario.run()
    grow(scenario.addresses["source"], scenario.topic, 6)
    scenario.produce(*records(10), partition=5)
    summary = scenario.run()
    assert partitions_of(scenario.addresses["target"], scenario.target().topic) == 6
    assert (part(summary, 5).start, part(summary, 5).records) == (0, 10)
    assert [len(scenario.mirrored(index)) for index in range(6)] == [0, 2, 0, 0, 0, 10]
    assert [scenario.progress(index) for index in range(6)] == [0, 2, 0, 0, 0, 10]


def test_growth_over_shards(make_scenario: MakeScenario) -> None:
    """K51, neighbour: new partitions fall to any shard; each is mirrored once."""
    scenario = make_scenario(partitions=2, shards=3)
    scenario.run()
    grow(scenario.addresses["source"], scenario.topic, 9)
    for partition in range(9):
        scenario.produce(*records(2, first=partition), partition=partition)
    assert copied(scenario.run()) == 18
    assert [scenario.numbers(index) for index in range(9)] == [[index, index + 1] for index in range(9)]


def planned_then(scenario: Scenario, change: object) -> ShardResult:
    """Step 0, then a change that nobody told of, then the copy as it was planned."""
    flow = scenario.mirror_flow()
    pair = connect(flow)
    try:
        prepared = prepare(flow, pair, bounds=bounds(None))
        assert callable(change)
        change()
        return mirror_shard(flow, pair, 0, bounds=bounds(None), prepared=prepared)
    finally:
        pair.close()


def test_growth_between_plan_and_copy(scenario: Scenario) -> None:
    """K51, neighbour: partitions that come up after the plan, with records, wait for the next run, which is told."""

    def grow_and_fill() -> None:
        grow(scenario.addresses["source"], scenario.topic, 3)
        scenario.produce(*records(4), partition=2)

    scenario.produce(*records(2))
    result = planned_then(scenario, grow_and_fill)
    assert [(each.source.partition, each.records) for each in result.partitions] == [(0, 2)]
    assert sum("waits for the next run" in warning for warning in result.warnings) == 2
    assert copied(scenario.run()) == 4
    assert scenario.numbers(2) == [0, 1, 2, 3]


def test_growth_seen_by_a_client_that_knew_the_topic(scenario: Scenario) -> None:
    """K51, neighbour: a client that has listed the topics before answers for partitions that came up since."""
    source = scenario.lab.pair.source
    source.list_topics()
    grow(scenario.addresses["source"], scenario.topic, 3)
    scenario.produce(*records(2), partition=2)
    new = scenario.source(2)
    assert source.log_offsets([new])[new].end == 2


def test_a_source_topic_that_goes_between_plan_and_copy(scenario: Scenario) -> None:
    """K91, neighbour: a topic that was planned and is gone at the copy stops the run; it is not passed over."""
    scenario.produce(*records(2))
    with pytest.raises(TopicDeleted) as caught:
        planned_then(scenario, lambda: scenario.lab.delete_topic(Side.SOURCE, scenario.topic))
    assert_three_parts(caught.value)
    assert caught.value.topic == scenario.topic
    assert scenario.mirrored() == []


def test_a_target_topic_that_goes_between_plan_and_copy(scenario: Scenario) -> None:
    """K98, neighbour: a target topic that was mirrored to and goes after the plan stops the run, and is not remade."""
    scenario.produce(*records(2))
    scenario.run()
    scenario.produce(*records(2, first=2))
    with pytest.raises(TargetTopicGone) as caught:
        planned_then(scenario, lambda: scenario.lab.delete_topic(Side.TARGET, scenario.target().topic))
    assert_three_parts(caught.value)
    assert partitions_of(scenario.addresses["target"], scenario.target().topic) is None


def fill(scenario: Scenario) -> None:
    """More than a client fetches ahead: 48 MB in two partitions."""
    for partition in range(2):
        scenario.produce(*(Message(value=b"x" * 400_000, timestamp_ms=1) for _ in range(60)), partition=partition)


def fails_when_deleted(scenario: Scenario, side: Side, topic: str) -> MirrorError:
    """Run, and delete a topic as soon as the first chunk is mirrored."""

    def delete(_: Progress) -> None:
        if partitions_of(scenario.addresses[side.value], topic) is not None:
            scenario.lab.delete_topic(side, topic)

    return scenario.fails(MirrorError, report=delete)


def test_a_deleted_source_topic_stays_deleted(odd_cluster: LocalCluster, make_scenario: MakeScenario) -> None:
    """K91: deleted while a run reads it, on a cluster that creates topics when asked for: it stays deleted."""
    shared = make_scenario(partitions=0).addresses["target"]
    scenario = make_scenario(addresses={"source": odd_cluster.client_settings, "target": shared}, partitions=2, **QUICK)
    fill(scenario)
    error = fails_when_deleted(scenario, Side.SOURCE, scenario.topic)
    assert isinstance(error, TopicDeleted), error
    assert error.topic == scenario.topic
    kept = [len(scenario.mirrored(partition)) for partition in range(2)]
    assert 0 < sum(kept) < 120
    assert [scenario.progress(partition) for partition in range(2)] == kept
    assert scenario.refuses(TopicDeleted).topic == scenario.topic
    assert partitions_of(scenario.addresses["source"], scenario.topic) is None


def test_a_deleted_target_topic_stays_deleted(odd_cluster: LocalCluster, make_scenario: MakeScenario) -> None:
    """K91, neighbour: no request of ours makes a topic on the target either, when it is deleted under a run."""
    shared = make_scenario(partitions=0).addresses["source"]
    scenario = make_scenario(addresses={"source": shared, "target": odd_cluster.client_settings}, partitions=2, **QUICK)
    fill(scenario)
    error = fails_when_deleted(scenario, Side.TARGET, scenario.target().topic)
    assert isinstance(error, TopicDeleted), error
    assert error.topic == scenario.target().topic
    scenario.refuses(TargetTopicGone)
    assert partitions_of(scenario.addresses["target"], scenario.target().topic) is None


def test_a_source_topic_made_anew_while_a_run_copies(scenario: Scenario) -> None:
    """K20, neighbour: nothing of the new topic is joined to the copy of the old one, whose offsets it has reached."""
    filled = [Message(key=b"k", value=b"v%d-" % number + b"x" * 9000) for number in range(3000)]
    scenario.produce(*filled)
    reports: list[Progress] = []

    def make_anew(progress: Progress) -> None:
        reports.append(progress)
        if len(reports) == 1:
            scenario.lab.delete_topic(Side.SOURCE, scenario.topic)
            scenario.create()
            scenario.produce(*(Message(key=b"k", value=b"new-" + b"y" * 9000) for _ in range(3500)))

    error = scenario.fails(MirrorError, report=make_anew, **QUICK)
    assert isinstance(error, (SourceTopicRecreated, TopicDeleted)), error
    values = [message.value or b"" for message in scenario.mirrored()]
    assert [value.split(b"-")[0] for value in values] == [b"v%d" % number for number in range(len(values))]
    assert len(values) < 3000
    scenario.refuses(SourceTopicRecreated)
