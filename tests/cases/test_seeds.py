"""Seeding on real Kafka, as a shell sees it: where another tool or a person left off, each record once afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.mirror.errors import ProgressUnknown
from tests.cases.by_hand import delete_group, set_group
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, copied, records
from tests.contract.lab import Side
from tests.fakes.log import Message, Outcome

pytestmark = pytest.mark.broker

KEPT = {"retention.ms": "-1"}


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., tuple[int, Any]]:
    """Give ``mm2`` with a scenario's flow file: exit code and JSON document."""

    def run(scenario: Scenario, *arguments: str, **options: Any) -> tuple[int, Any]:
        path = tmp_path / f"{scenario.flow}.yaml"
        flow = scenario.mirror_flow(**options)
        document = flow.model_dump(mode="json", exclude_unset=True)
        path.write_text(json.dumps(document))
        command, *rest = arguments
        told = CliRunner().invoke(app, [command, str(path), *rest, "--json"])
        return told.exit_code, json.loads(told.stdout)

    return run


def places(document: dict[str, Any]) -> list[tuple[int | None, int | None]]:
    """Old and new of every partition."""
    return [(row["old"], row["new"]) for row in document["partitions"]]


def copies(scenario: Scenario, count: int, *, partition: int = 0) -> None:
    """Let another tool have mirrored the first records: the target topic is there, and nothing of ours."""
    if partition == 0:
        scenario.create_target(partitions=2, settings=KEPT)
    scenario.lab.produce(Side.TARGET, scenario.target(partition), *records(count))


@pytest.fixture
def half_copied(make_scenario: MakeScenario) -> Scenario:
    """Give a topic of two partitions, ten records each, of which another tool has copied seven and ten."""
    scenario = make_scenario(partitions=2, settings=KEPT)
    for partition, count in enumerate((7, 10)):
        scenario.produce(*records(10), partition=partition)
        copies(scenario, count, partition=partition)
    scenario.fails(ProgressUnknown)
    return scenario


def is_whole(scenario: Scenario) -> bool:
    """Whether each record is on the target once, in order, after a run."""
    scenario.run()
    return all(scenario.numbers(partition) == list(range(10)) for partition in range(2))


def test_from_mirror_maker_2_s_offsets(half_copied: Scenario, shell: Callable[..., tuple[int, Any]]) -> None:
    """Connect's offsets, spread over the partitions of their topic, newest of each key: the run goes on behind them."""
    scenario = half_copied
    name = f"mm2-offsets-{scenario.flow}"
    scenario.lab.create_topic(Side.TARGET, name, partitions=3)
    for place, partition, offset in ((2, 0, 3), (2, 0, 6), (1, 1, 9)):
        key = ["MirrorSourceConnector", {"cluster": "us", "partition": partition, "topic": scenario.topic}]
        record = Message(key=json.dumps(key).encode(), value=b'{"offset":%d}' % offset)
        scenario.lab.produce(Side.TARGET, scenario.target()._replace(topic=name, partition=place), record)
    code, shown = shell(scenario, "seed", "--from", f"connect:{name}")
    assert (code, shown["applied"], places(shown)) == (0, False, [(None, 7), (None, 10)])
    scenario.fails(ProgressUnknown)
    code, written = shell(scenario, "seed", "--from", f"connect:{name}", "--apply")
    assert (code, written["applied"], written["changes"]) == (0, True, 2)
    assert is_whole(scenario)


def test_from_a_group_of_the_source(half_copied: Scenario, shell: Callable[..., tuple[int, Any]]) -> None:
    """KIP-656: the group of the tool that copied says how far it came; once seeded, a lower value is refused."""
    scenario, group = half_copied, f"connect-{half_copied.flow}"
    scenario.lab.commit_offsets(Side.SOURCE, group, {scenario.source(0): 7, scenario.source(1): 10})
    code, written = shell(scenario, "seed", "--from", f"source-group:{group}", "--apply")
    assert (code, places(written)) == (0, [(None, 7), (None, 10)])
    assert is_whole(scenario)
    code, refused = shell(scenario, "seed", "--from", f"source-group:{group}")
    assert (code, refused["refused"]) == (
        1,
        [f"{scenario.source(0)}: it stands at 10; going back to 7 copies 3 record(s) once more"],
    )
    code, error = shell(scenario, "seed", "--from", f"source-group:{group}", "--apply")
    assert (code, error["error"]["kind"]) == (4, "SeedRefused")


def test_from_what_lies_on_the_target(half_copied: Scenario, shell: Callable[..., tuple[int, Any]]) -> None:
    """``match`` finds the last copies on the source; again it changes nothing."""
    assert shell(half_copied, "seed", "--from", "match", "--apply")[0] == 0
    assert is_whole(half_copied)
    code, again = shell(half_copied, "seed", "--from", "match", "--apply")
    assert (code, again["changes"]) == (0, 0)


def test_match_after_a_mirror_that_copied_aborted_records(make_scenario: MakeScenario, shell: Any) -> None:
    """K93: a ``read_uncommitted`` mirror has aborted records, too; nothing is copied twice behind it."""
    scenario = make_scenario(settings=KEPT)
    scenario.produce(*records(5))
    scenario.transaction(*records(3, first=900), outcome=Outcome.ABORTED)
    scenario.produce(*records(5, first=5))
    scenario.create_target(settings=KEPT)
    scenario.lab.produce(Side.TARGET, scenario.target(), *records(5), *records(3, first=900), *records(2, first=5))
    code, written = shell(scenario, "seed", "--from", "match", "--apply")
    assert code == 0, written
    scenario.run()
    assert scenario.numbers() == [0, 1, 2, 3, 4, 900, 901, 902, 5, 6, 7, 8, 9]


def test_a_time_the_end_and_a_file(make_scenario: MakeScenario, shell: Any, tmp_path: Path) -> None:
    """Where nothing was copied yet, a time, the end or a file of offsets choose where to begin."""
    file = tmp_path / "offsets.csv"
    for kind, first in (("timestamp:2024-01-01T00:00:04Z", 4), ("latest", 10), (f"offsets:{file}", 6), ("earliest", 0)):
        scenario = make_scenario(settings=KEPT)
        scenario.produce(*records(10))
        file.write_text(f"{scenario.topic},0,6\n")
        assert shell(scenario, "seed", "--from", kind, "--apply")[0] == 0
        scenario.run()
        assert scenario.numbers() == list(range(first, 10)), kind


def test_a_progress_group_set_by_hand(make_scenario: MakeScenario, shell: Any) -> None:
    """The group set on purpose is adopted, as the error says; deleted, the ledger decides again."""
    scenario = make_scenario(settings=KEPT)
    scenario.produce(*records(10))
    scenario.run()
    set_group(scenario.addresses["target"], scenario.progress_group, {scenario.target(): 4})
    code, shown = shell(scenario, "seed", "--from", "progress-group")
    assert (code, places(shown)) == (1, [(10, 4)])
    assert "copies 6 record(s) once more" in shown["refused"][0]
    code, written = shell(scenario, "seed", "--from", "progress-group", "--force", "--apply")
    assert (code, places(written)) == (0, [(10, 4)])
    delete_group(scenario.addresses["target"], scenario.progress_group)
    scenario.run()
    assert scenario.numbers() == [*range(10), *range(4, 10)]
    _, status = shell(scenario, "status")
    (incident,) = status["incidents"]
    assert (incident["kind"], incident["start"], incident["end"], incident["records"]) == ("seeded", 10, 4, 6)


def test_a_seed_ends_a_run_that_is_at_work(make_scenario: MakeScenario, shell: Any) -> None:
    """A seed waits for the lease of a run and gives up with its name; after the run it is done."""
    scenario = make_scenario(settings=KEPT)
    scenario.produce(*records(10))
    scenario.run()
    flow = scenario.mirror_flow()
    from airflow_provider_mm2.mirror.clusters.confluent.client import connect

    pair = connect(flow)
    try:
        membership = pair.target.membership(f"mm2.{flow.name}.0.lease", f"mm2-flow.{flow.name}.internal", "a run", 6)
        while not membership.held:
            membership.poll(0.2)
        code, error = shell(scenario, "seed", "--from", "earliest", "--force", "--apply", lease_wait_s=1)
        assert (code, error["error"]["kind"]) == (3, "LeaseHeld")
        membership.leave()
    finally:
        pair.close()
    assert shell(scenario, "seed", "--from", "earliest", "--force", "--apply")[0] == 0
    assert copied(scenario.run()) == 10


def test_forgetting(make_scenario: MakeScenario, shell: Any) -> None:
    """A topic that left the source is forgotten; then the whole flow, and its records stay."""
    scenario = make_scenario(settings=KEPT)
    other = f"{scenario.topic}-more"
    scenario.topics = (scenario.topic, other)
    scenario.create(topic=other, settings=KEPT)
    scenario.produce(*records(5))
    scenario.produce(*records(3), topic=other)
    scenario.run()
    scenario.lab.delete_topic(Side.SOURCE, other)
    assert any("not on the source any more" in text for text in scenario.run().warnings)
    code, shown = shell(scenario, "forget", "--topic", other)
    assert (code, shown["applied"], len(shown["partitions"])) == (0, False, 1)
    assert shell(scenario, "forget", "--topic", other, "--apply")[0] == 0
    scenario.topics = (scenario.topic,)
    scenario.produce(*records(2, first=5))
    assert scenario.run().warnings == ()
    assert scenario.numbers() == list(range(7))
    code, told = shell(scenario, "forget", "--apply")
    assert (code, len(told["topics_deleted"])) == (0, 3)
    assert scenario.numbers() == list(range(7))
    assert len(scenario.mirrored(topic=other)) == 3
    code, error = shell(scenario, "forget")
    assert (code, error["error"]["kind"]) == (2, "NothingRecorded")
    scenario.fails(ProgressUnknown)
