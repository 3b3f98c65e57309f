"""``mm2 verify`` on real Kafka, as a shell sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.model import Segment, TopicPartition
from airflow_provider_mm2.mirror.state.ledger import encode_key, encode_value, read_ledger
from airflow_provider_mm2.mirror.state_model import PartitionLedger
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, record, records
from tests.contract.lab import BASE_MS, COMPACTED, Side
from tests.contract.real_lab import LIMIT_S
from tests.fakes.log import Message, Outcome

pytestmark = pytest.mark.broker

KEPT = {"retention.ms": "-1"}
MILLION = 1_000_000

Shell = Callable[..., tuple[int, Any]]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Give ``mm2 verify``, or another command, with a scenario's flow file: exit code and JSON document."""

    def run(scenario: Scenario, *arguments: str, command: str = "verify") -> tuple[int, Any]:
        path = tmp_path / f"{scenario.flow}.yaml"
        path.write_text(json.dumps(scenario.mirror_flow().model_dump(mode="json", exclude_unset=True)))
        told = CliRunner().invoke(app, [command, str(path), *arguments, "--json"])
        return told.exit_code, json.loads(told.stdout)

    return run


def short(document: Any) -> list[tuple[str, int | None, int | None, int]]:
    """Mismatches of a document in short."""
    return [(row["kind"], row["source_offset"], row["target_offset"], row["records"]) for row in document["mismatches"]]


def test_a_mirror_that_goes_on(scenario: Scenario, shell: Shell) -> None:
    """Two runs, aborted data between them, and records that are not mirrored yet: nothing is wrong."""
    scenario.produce(*records(300))
    scenario.transaction(*records(5, first=900), outcome=Outcome.ABORTED)
    scenario.run()
    scenario.transaction(*records(50, first=300))
    scenario.run()
    scenario.produce(*records(5, first=350))
    code, document = shell(scenario)
    (row,) = document["partitions"]
    assert (code, document["records"], row["target_records"], short(document)) == (0, 350, 350, [])
    assert row["digest"] == row["target_digest"]
    assert shell(scenario, "--by-order")[1]["mismatches"][0]["kind"] == "tail missing"


def test_aborted_data_of_another_tool(make_scenario: MakeScenario, shell: Shell) -> None:
    """K93: 50 aborted records in a mirror are named as such, with ranges; taking over copies nothing twice."""
    scenario = make_scenario(settings=KEPT)
    scenario.produce(*records(500))
    scenario.transaction(*records(50, first=5000), outcome=Outcome.ABORTED)
    scenario.produce(*records(500, first=500))
    scenario.create_target(settings=KEPT)
    copies = [*records(500), *records(50, first=5000), *records(500, first=500)]
    scenario.lab.produce(Side.TARGET, scenario.target(), *copies)
    code, document = shell(scenario, "--by-order")
    (found,) = document["mismatches"]
    assert (code, found["kind"], found["records"]) == (1, "aborted at the source", 50)
    assert [found[end] for end in ("source_offset", "source_end", "target_offset", "target_end")] == [
        500,
        550,
        500,
        550,
    ]
    assert (document["records"], document["partitions"][0]["target_records"]) == (1000, 1050)
    assert shell(scenario, "--from", "match", "--apply", command="seed")[0] == 0
    scenario.produce(*records(10, first=1000))
    scenario.run()
    code, after = shell(scenario, "--by-order")
    assert (short(after), after["records"]) == (short(document), 1010)
    assert shell(scenario)[1]["records"] == 10


def test_compaction_and_retention(make_scenario: MakeScenario, shell: Shell) -> None:
    """What the cleaner and retention took is told apart from loss, on either side."""
    # Not so on the target: a marker of today rolls its segment, and another test may have made its cleaner quick.
    scenario = make_scenario(settings=COMPACTED, sync_topics={"configs": False})
    rows = [Message(key=b"k%d" % (n % 5), value=b"v%d" % n, timestamp_ms=BASE_MS + n) for n in range(40)]
    scenario.produce(*rows)
    scenario.run()
    scenario.lab.compact(Side.SOURCE, scenario.source())
    code, document = shell(scenario)
    (row,) = document["partitions"]
    assert (code, row["compacted_source"], row["compacted_target"], row["records"]) == (0, 35, 0, 5)

    kept = make_scenario(settings=KEPT)
    kept.produce(*records(100, start="00:00"))
    kept.run()
    kept.retain_from(30)
    kept.lab.delete_records(Side.TARGET, kept.target(), 60)
    code, document = shell(kept)
    (row,) = document["partitions"]
    assert (code, row["expired_source"], row["expired_target"], row["records"]) == (0, 0, 30, 40)


def test_bad_input(scenario: Scenario, shell: Shell) -> None:
    """What cannot be compared ends with the exit code of its kind."""
    scenario.produce(*records(10))
    assert shell(scenario)[0] == 4  # it never ran
    scenario.run()
    answers = {
        "an unknown topic": ("--topic", "nonesuch"),
        "a range that is not mirrored": ("--from", "10"),
        "no time": ("--from", "yesterday"),
        "no zone": ("--to", "2024-01-01T00:00:00"),
    }
    kinds = {what: shell(scenario, *arguments) for what, arguments in answers.items()}
    assert {what: code for what, (code, _) in kinds.items()} == dict.fromkeys(answers, 2)
    assert kinds["a range that is not mirrored"][1]["error"]["kind"] == "RangeNotMirrored"
    scenario.addresses = {**scenario.addresses, "source": {"bootstrap.servers": "127.0.0.1:1"}}
    assert shell(scenario)[0] == 3


def number(place: int, **fields: Any) -> Message:
    """One of a million records: small, some with headers, one without a value."""
    headers = (("a", b"1"), ("b", b"2")) if place % 1000 == 0 else ()
    value = None if place == 300_000 else b"v%d" % place
    given: dict[str, Any] = {"key": b"k%d" % place, "value": value, "headers": headers, "timestamp_ms": BASE_MS + place}
    return Message(**{**given, **fields})


def with_faults() -> Iterator[Message]:
    """The same records with every fault, far apart, and without the last ten."""
    changed: dict[int, tuple[Message, ...]] = {
        100_000: (number(100_000, value=b"v10000x"),),
        200_000: (number(200_000, headers=(("b", b"2"), ("a", b"1"))),),
        300_000: (number(300_000, value=b""),),
        400_000: (number(400_000, timestamp_ms=BASE_MS + 400_001),),
        500_000: (),
        600_000: (number(600_000), number(600_000)),
        700_000: (number(700_001), number(700_000)),
        700_001: (),
    }
    for place in range(MILLION - 10):
        yield from changed.get(place, (number(place),))


def test_a_million_records_with_every_fault(make_scenario: MakeScenario, shell: Shell) -> None:
    """Each fault in a million records is found and named where it is, with a map and without, and nothing else is."""
    scenario = make_scenario(settings=KEPT)
    scenario.create_target(settings=KEPT)
    write(scenario, Side.SOURCE, map(number, range(MILLION)))
    write(scenario, Side.TARGET, with_faults())
    forge_map(scenario, MILLION)
    common = [
        *(("changed", place, place, 1) for place in (100_000, 200_000, 300_000, 400_000)),
        ("missing", 500_000, None, 1),
    ]
    code, document = shell(scenario)
    print([row["detail"] for row in document["mismatches"]], document["seconds"])  # noqa: T201
    assert (code, short(document), document["records"]) == (
        1,
        [
            *common,
            ("duplicate", 600_000, 600_000, 1),
            ("reordered", 700_000, 700_001, 1),
            ("reordered", 700_001, 700_000, 1),
            ("missing", MILLION - 10, MILLION - 10, 10),
        ],
        MILLION,
    )
    code, document = shell(scenario, "--by-order")
    assert (code, short(document), document["records"]) == (
        1,
        [
            *common,
            ("duplicate", 600_000, 600_000, 1),
            ("reordered", 700_001, 700_000, 1),
            ("tail missing", MILLION - 10, None, 10),
        ],
        MILLION,
    )


def write(scenario: Scenario, side: Side, messages: Iterator[Message]) -> None:
    """Write very many records with a client tuned for it."""
    part = scenario.source() if side is Side.SOURCE else scenario.target()
    producer = Producer(
        {
            **scenario.addresses[side.value],
            "enable.idempotence": True,
            "linger.ms": 20,
            "queue.buffering.max.messages": 0,
            "batch.num.messages": 10_000,
        }
    )
    for message in messages:
        producer.produce(
            part.topic,
            message.value,
            message.key,
            part.partition,
            timestamp=message.timestamp_ms,
            headers=list(message.headers) or None,
        )
    assert producer.flush(LIMIT_S) == 0


def forge_map(scenario: Scenario, count: int) -> None:
    """Let the flow have recorded that it mirrored so many records, offset by offset.

    A run is made on a topic of its own, and what it recorded is told of this one.
    """
    scenario.lab.create_topic(Side.SOURCE, f"{scenario.topic}-run", settings=KEPT)
    scenario.lab.produce(Side.SOURCE, TopicPartition(f"{scenario.topic}-run", 0), record(0))
    scenario.run(topics=(f"{scenario.topic}-run",), shards=1)
    pair = scenario.lab.pair
    ledger: PartitionLedger
    (ledger,) = read_ledger(pair.target, scenario.flow, 0, no_tick).values()
    here = pair.source.describe_topics([scenario.topic])[scenario.topic]
    there = pair.target.describe_topics([scenario.target().topic])[scenario.target().topic]
    entry = replace(
        ledger.latest,
        topic=scenario.topic,
        source_topic_id=here.topic_id,
        target_topic=there.name,
        target_topic_id=there.topic_id,
        segments=(Segment(source_start=0, target_start=0, count=count),),
        next_offset=count,
        target_end=count,
        records=count,
    )
    place = TopicPartition(naming.ledger_topic(scenario.flow), 0)
    old = Message(key=encode_key(ledger.latest), value=None)
    scenario.lab.produce(Side.TARGET, place, old, Message(key=encode_key(entry), value=encode_value(entry)))
