"""A game day on real clusters: real topics, copies of real groups, and what the failover then does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka import TopicPartition as Part
from confluent_kafka.admin import AdminClient, OffsetSpec

from airflow_provider_mm2.local.pair import LocalPair
from tests.conftest import TopicName
from tests.recovery.applications import LIMIT_S, Writer, make_topic, write_flow
from tests.recovery.stage import PARTITIONS, PROTOCOLS, Stage

pytestmark = pytest.mark.broker


@pytest.fixture
def stage(pair: LocalPair, topic_name: TopicName, tmp_path: Path) -> Stage:
    """Give a flow of three partitions, transactions of which some were aborted, and a group of each protocol."""
    source, target = ({**pair.addresses[side]} for side in ("source", "target"))
    topic = topic_name("orders")
    make_topic(source, topic, PARTITIONS)
    made = Stage(source, target, topic, write_flow(tmp_path, topic, source, target))
    made.begin_groups()
    load(made, 300)
    readers = made.readers(source, topic)
    readers["billing"].await_count(60)
    for reader in readers.values():
        reader.end()
    load(made, 150)
    made.mm2("run")
    return made


def load(stage: Stage, count: int) -> int:
    """Write at least so many records in transactions, numbered on; gives how many."""
    writer = Writer(stage.source, stage.topic, PARTITIONS, transactional=True).begin()
    while writer.count < count:
        assert writer._background._thread is not None
        writer._background._thread.join(0.05)
    writer.end()
    return writer.count


def positions(address: Mapping[str, Any], group: str) -> dict[tuple[str, int], int]:
    """What a group has committed."""
    admin = AdminClient({**address})
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    return {(each.topic, each.partition): each.offset for each in future.result(LIMIT_S).topic_partitions}


def ends(address: Mapping[str, Any], topic: str, partitions: int = PARTITIONS) -> dict[int, int]:
    """Where each partition of a topic ends."""
    admin = AdminClient({**address})
    asked = {Part(topic, number): OffsetSpec.latest() for number in range(partitions)}
    return {part.partition: future.result(LIMIT_S).offset for part, future in admin.list_offsets(asked).items()}


def real(stage: Stage) -> dict[str, Any]:
    """All that is real of the flow and that a game day could have touched, on both clusters."""
    names = [f"mm2-{kind}.{stage.topic}.internal" for kind in ("flow", "offset-map", "groups")]
    state = {name: ends(stage.target, name, 1)[0] for name in names}
    found: dict[str, Any] = {"ends": [ends(stage.source, stage.topic), ends(stage.target, stage.remote)], **state}
    for side, address in (("us", stage.source), ("eu", stage.target)):
        admin = AdminClient({**address})
        listed = admin.list_consumer_groups().result(LIMIT_S).valid
        groups = [each.group_id for each in listed if stage.topic in each.group_id]
        found[side] = {group: positions(address, group) for group in sorted(groups)}
        found[f"topics of {side}"] = sorted(
            name for name in admin.list_topics(timeout=LIMIT_S).topics if stage.topic in name
        )
    return found


def test_it_tells_what_the_failover_does(stage: Stage, tmp_path: Path) -> None:
    """Groups of both protocols; what is not mirrored is the loss; the failover puts each group where it said.

    Nothing real is changed, and nothing is left.
    """
    beyond = load(stage, 30)
    before = real(stage)
    junit, page = tmp_path / "game.xml", tmp_path / "game.html"
    told = stage.mm2("drill", "--game-day", "--junit", str(junit), "--html", str(page))
    assert real(stage) == before
    assert (told["mode"], told["passed"], told["left_behind"]) == ("game-day", True, [])
    assert (told["rpo_records"], told["lost"]) == (beyond, beyond)
    assert 0 < told["rto_s"] < 30
    assert {each["group"] for each in told["groups"]} == {f"{name}-{stage.topic}" for name in PROTOCOLS}
    rows = {(group["group"], row["partition"]): row for group in told["groups"] for row in group["positions"]}
    assert len(rows) == 2 * PARTITIONS
    for row in rows.values():
        assert (row["exact"], row["repeated"], row["skipped"], row["reordered"], row["unlike"]) == (True, 0, 0, 0, 0)
        assert row["read"] == row["compared"]
        assert row["digest"] is not None
    assert sum(row["read"] for row in rows.values()) >= 300
    assert not list(ElementTree.parse(junit).iter("failure"))  # noqa: S314 - our own
    assert f"Game day of flow {stage.topic}" in page.read_text("utf-8")
    stage.mm2("failover", "--unplanned", "--apply", "--yes")
    for (group, partition), row in rows.items():
        assert positions(stage.target, group)[stage.remote, partition] == row["target_offset"]


def test_behind_an_open_transaction(stage: Stage) -> None:
    """A hanging transaction on the source hides from readers what was written behind it: it counts, until it ends."""
    hanging = Producer({**stage.source, "transactional.id": f"hanging-{stage.topic}"})
    hanging.init_transactions(LIMIT_S)
    hanging.begin_transaction()
    for _ in range(10):
        hanging.produce(stage.topic, b"open", partition=0)
    assert hanging.flush(LIMIT_S) == 0
    plain = Producer({**stage.source})
    for _ in range(7):
        plain.produce(stage.topic, b"acknowledged", partition=0)
    assert plain.flush(LIMIT_S) == 0
    told = stage.mm2("drill", "--game-day")
    assert (told["rpo_records"], told["lost"]) == (17, 17)
    assert [text for text in told["warnings"] if "open transaction" in text and text.endswith("up to 17 less")]
    hanging.abort_transaction(LIMIT_S)
    assert stage.mm2("drill", "--game-day")["rpo_records"] == 7


def test_a_group_that_reads_on(stage: Stage) -> None:
    """While a member is in the real group: what it reads meanwhile would be read again, and it is not disturbed."""
    load(stage, 300)
    stage.mm2("run")
    readers = stage.readers(stage.source, stage.topic)
    readers["audit"].await_count(90)
    group = f"audit-{stage.topic}"
    told = stage.mm2("drill", "--game-day", "--group", group, "--topic", stage.topic, "--limit-records", "20")
    (found,) = told["groups"]
    assert found["repeated"] >= 90
    assert found["read_after"] <= 20 * PARTITIONS
    assert told["passed"]
    assert [text for text in told["warnings"] if "(--limit-records 20, " in text]
    for reader in readers.values():
        reader.end()
    refused = stage.mm2("drill", "--game-day", "--unplanned", "--load", "5", code=2)
    assert refused["error"]["facts"]["options"] == ["--game-day", "--unplanned", "--load"]
    alone = stage.mm2("drill", "--group", group, code=2)
    assert alone["error"]["facts"]["options"] == ["--group"]
