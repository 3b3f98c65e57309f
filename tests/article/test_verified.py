"""``mm2 verify --by-order`` judges what real MirrorMaker 2 has made: clean, and with what a crash leaves."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.verify.compare import verify_flow
from airflow_provider_mm2.mirror.verify.report import VerifyReport
from airflow_provider_mm2.mirror.verify.scope import VerifyOrder
from tests.article.mirrored import PARTITIONS, MirroredTopics
from tests.bench.offset_topics import BothSides
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario
from tests.contract.lab import BASE_MS, Side
from tests.contract.real_eyes import end_of
from tests.contract.real_lab import LIMIT_S
from tests.java.mirror_maker import await_peer, dedicated_settings, mirror_maker

pytestmark = pytest.mark.broker

NEVER_MS = "600000"
"""How often MirrorMaker 2 notes its progress: never, within a test."""


def verified(scenario: Scenario) -> VerifyReport:
    """Compare by order, with clients of its own."""
    flow = scenario.mirror_flow()
    pair = connect(flow)
    try:
        return verify_flow(flow, pair, VerifyOrder(by_order=True), tick=no_tick)
    finally:
        pair.close()


def test_a_mirror_of_mirror_maker_is_clean(mirrored: MirroredTopics, pair: LocalPair, kafka_folder: Path) -> None:
    """Its exactly-once mode: plain, transactional and compacted topics are proved alike, each record."""
    scenario = mirrored.stage.scenario
    for topic in mirrored.topics:
        scenario.lab.create_topic(Side.TARGET, scenario.target(0, topic).topic, partitions=PARTITIONS)
    settings = dedicated_settings(pair, scenario.alias, ",".join(mirrored.topics))
    with mirror_maker(kafka_folder / "mm2", settings) as peer:
        await_peer(peer, lambda: all(_is_there(mirrored, number) for number in range(len(mirrored.partitions))))
    report = verified(scenario)
    assert [each.to_json() for each in report.mismatches] == []
    assert (len(report.results), report.records > 0) == (len(mirrored.partitions), True)


def _is_there(mirrored: MirroredTopics, number: int) -> bool:
    part, addresses = mirrored.partitions[number], mirrored.stage.scenario.addresses
    return BothSides.of(addresses["source"], addresses["target"], part, mirrored.target(part)).is_whole


def test_duplicates_of_a_killed_mirror_maker(make_scenario: MakeScenario, pair: LocalPair, kafka_folder: Path) -> None:
    """Without exactly once, killed and started anew, it copies again what it had not noted: named as duplicates."""
    scenario = make_scenario(settings={"retention.ms": "-1"})
    scenario.alias = f"us-{scenario.flow}"
    scenario.create_target(settings={"retention.ms": "-1"})
    count = 2000
    write(scenario, count)
    settings = {
        **dedicated_settings(pair, scenario.alias, scenario.topic),
        "target.exactly.once.source.support": "disabled",
        "offset.flush.interval.ms": NEVER_MS,
    }
    with mirror_maker(kafka_folder / "first", settings) as peer:
        await_peer(peer, lambda: copies(scenario, pair) >= count)
        kill(peer)
    with mirror_maker(kafka_folder / "second", settings) as peer:
        await_peer(peer, lambda: copies(scenario, pair) >= 2 * count)
    report = verified(scenario)
    assert {each.kind.value for each in report.mismatches} == {"duplicate"}
    assert sum(each.records for each in report.mismatches) == count
    assert report.records == count


def write(scenario: Scenario, count: int) -> None:
    """Write records to the source."""
    producer = Producer({**scenario.addresses["source"]})
    for number in range(count):
        producer.produce(scenario.topic, b"v%d" % number, b"k%d" % number, 0, timestamp=BASE_MS + number)
    assert producer.flush(LIMIT_S) == 0


def copies(scenario: Scenario, pair: LocalPair) -> int:
    """How far the target's log is."""
    return end_of(AdminClient({**pair.target.client_settings}), scenario.target())


def kill(peer: psutil.Process) -> None:
    """Let a process die, so that it notes nothing."""
    peer.kill()
    deadline = time.monotonic() + LIMIT_S
    while processes.alive(peer):
        assert time.monotonic() < deadline
        time.sleep(0.05)
