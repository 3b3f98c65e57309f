"""K10, K11, K19, K20 and foreign writes with every policy, on real Kafka."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import (
    ForeignWrites,
    SourceGap,
    SourceTopicRecreated,
    TargetTopicGone,
    TargetTopicRecreated,
)
from airflow_provider_mm2.mirror.status import flow_status
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, at, copied, records
from tests.contract.lab import Side

pytestmark = pytest.mark.broker

KEPT = {"retention.ms": "-1"}


@pytest.fixture
def mirrored(make_scenario: MakeScenario) -> Scenario:
    """Give a flow that has mirrored ten records."""
    scenario = make_scenario(settings=KEPT)
    scenario.produce(*records(10))
    scenario.run()
    return scenario


def status(scenario: Scenario, **options: Any) -> dict[str, Any]:
    """What ``mm2 status --json`` says."""
    flow = scenario.mirror_flow(**options)
    pair = connect(flow)
    try:
        return flow_status(flow, pair, tick=lambda: None).to_json()
    finally:
        pair.close()


def incidents(scenario: Scenario) -> list[tuple[str, int, int]]:
    """What is on record."""
    return [(each["kind"], each["start"], each["end"]) for each in status(scenario)["incidents"]]


def test_a_gap_stops_or_is_accepted(mirrored: Scenario) -> None:
    """K10: progress 10, retention up to 15: the range is named and nothing copied; accepted, the run goes on at 15."""
    mirrored.produce(*records(10, first=10))
    mirrored.retain_from(15)
    error = mirrored.refuses(SourceGap)
    assert (error.topic, error.partition, error.start, error.end) == (mirrored.topic, 0, 10, 15)
    assert status(mirrored)["problems"][0]["kind"] == "SourceGap"
    assert "the next run accepts this" in status(mirrored, on_gap="accept")["warnings"][-1]
    assert copied(mirrored.run(on_gap="accept")) == 5
    assert mirrored.numbers() == [*range(10), *range(15, 20)]
    assert incidents(mirrored) == [("gap", 10, 15)]
    mirrored.produce(*records(2, first=20))
    assert copied(mirrored.run()) == 2
    assert incidents(mirrored) == [("gap", 10, 15)]


@pytest.mark.parametrize("on_gap", ["stop", "accept"])
def test_skipped_intervals_are_no_gap(make_scenario: MakeScenario, on_gap: str) -> None:
    """K11: three hours that no run covered are copied by the next one, 60 records each, whatever the policy says."""
    scenario = make_scenario(settings=KEPT, on_gap=on_gap)
    scenario.run(at("00:00"))
    scenario.produce(*records(180, step_s=60))
    assert copied(scenario.run(at("03:00"), since=at("02:00"))) == 180
    assert incidents(scenario) == []


@pytest.mark.parametrize("count", [5, 15])
def test_a_source_topic_made_anew(mirrored: Scenario, count: int) -> None:
    """K20: shorter or longer than what was copied, it stops the run; restarted, all of it comes behind the old copy."""
    mirrored.lab.delete_topic(Side.SOURCE, mirrored.topic)
    mirrored.create(settings=KEPT)
    mirrored.produce(*records(count, first=100))
    mirrored.refuses(SourceTopicRecreated, on_gap="accept", on_foreign_writes="accept")
    assert copied(mirrored.run(on_recreated="restart")) == count
    assert mirrored.numbers() == [*range(10), *range(100, 100 + count)]
    assert incidents(mirrored) == [("source topic recreated", 0, 10)]
    assert copied(mirrored.run(on_recreated="restart")) == 0


@pytest.mark.parametrize("is_there", [True, False])
def test_a_target_topic_lost(mirrored: Scenario, is_there: bool) -> None:
    """K19: deleted, and made anew or not, with nothing new on the source: a stop, or all ten records again."""
    mirrored.lab.delete_topic(Side.TARGET, mirrored.target().topic)
    if is_there:
        mirrored.create_target(settings=KEPT)
    mirrored.fails(TargetTopicRecreated if is_there else TargetTopicGone)
    assert copied(mirrored.run(on_recreated="restart")) == 10
    assert mirrored.numbers() == list(range(10))
    assert incidents(mirrored) == [("target topic recreated", 0, 10)]


def test_foreign_writes(mirrored: Scenario) -> None:
    """Strangers' records are counted: the run stops, or goes on behind them and warns, or only keeps the count."""
    mirrored.lab.produce(Side.TARGET, mirrored.target(), *records(3, first=500))
    mirrored.produce(*records(5, first=10))
    assert mirrored.refuses(ForeignWrites).records == 3
    (warning,) = mirrored.run(on_foreign_writes="warn").warnings
    assert "3 record(s)" in warning
    mirrored.lab.produce(Side.TARGET, mirrored.target(), *records(2, first=600))
    mirrored.produce(*records(5, first=15))
    assert mirrored.run(on_foreign_writes="accept").warnings == ()
    assert mirrored.numbers() == [*range(10), 500, 501, 502, *range(10, 15), 600, 601, *range(15, 20)]
    (incident,) = status(mirrored)["incidents"]
    assert (incident["records"], incident["times"]) == (5, 2)
