"""Our mirror goes on where a real MirrorMaker 2 was ended, from the offsets that it left."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import ProgressUnknown
from airflow_provider_mm2.mirror.offsets.seed import Seed
from airflow_provider_mm2.mirror.run import seed_progress
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, copied, records
from tests.contract.lab import Side
from tests.contract.real_eyes import end_of
from tests.fakes.log import Outcome
from tests.java.mirror_maker import await_peer, dedicated_settings, mirror_maker

pytestmark = pytest.mark.broker

PARTITIONS = 2
ROUND = 50


class Writer:
    """An application that writes for as long as it is let: plain records, transactions, aborted ones among them."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._stop = Event()
        self.written: list[list[int]] = [[] for _ in range(PARTITIONS)]
        self._next = 0

    def rounds(self, count: int | None = None) -> None:
        """Write so many rounds, or until it is stopped."""
        while not self._stop.is_set() and count != 0:
            count = None if count is None else count - 1
            for partition in range(PARTITIONS):
                self._round(partition)

    def _round(self, partition: int) -> None:
        scenario, part = self._scenario, self._scenario.source(partition)
        for outcome in (None, Outcome.ABORTED, Outcome.COMMITTED):
            messages = records(ROUND, first=self._next)
            if outcome is None:
                scenario.lab.produce(Side.SOURCE, part, *messages)
            else:
                scenario.lab.transaction(Side.SOURCE, part, *messages, outcome=outcome)
            if outcome is not Outcome.ABORTED:
                self.written[partition] += range(self._next, self._next + ROUND)
            self._next += ROUND

    def end(self) -> None:
        """Let the round that is being written be the last."""
        self._stop.set()


@pytest.mark.slow
def test_mirror_maker_is_taken_over(make_scenario: MakeScenario, pair: LocalPair, kafka_folder: Path) -> None:
    """Ended while it copies exactly once and records come in: after a seed each record is there once, in order.

    One flow is seeded by what MirrorMaker 2 left in Connect's offsets, the other by the records themselves.
    """
    scenarios = [make_scenario(partitions=PARTITIONS, settings={"retention.ms": "-1"}) for _ in range(2)]
    alias = f"us-{scenarios[0].flow}"
    writers = [Writer(scenario) for scenario in scenarios]
    for scenario, writer in zip(scenarios, writers, strict=True):
        scenario.alias = alias
        writer.rounds(2)
    target = AdminClient({**scenarios[0].addresses["target"]})
    settings = {
        **dedicated_settings(pair, alias, ",".join(scenario.topic for scenario in scenarios)),
        "emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
        "offset-syncs.topic.location": "target",
    }
    copies = [scenario.target() for scenario in scenarios]
    with mirror_maker(kafka_folder / "mm2", settings) as peer:
        await_peer(peer, lambda: {copy.topic for copy in copies} <= set(target.list_topics(timeout=10).topics))
        threads = [Thread(target=writer.rounds) for writer in writers]
        for thread in threads:
            thread.start()
        try:
            await_peer(peer, lambda: all(end_of(target, copy) > 5 * ROUND for copy in copies))
            peer.terminate()  # killed, it leaves a transaction open, which a run would wait for to end
            peer.wait(60)
        finally:
            for writer, thread in zip(writers, threads, strict=True):
                writer.end()
                thread.join()
    for scenario, writer, text in zip(
        scenarios, writers, (f"connect:mm2-offsets.{alias}.internal", "match"), strict=True
    ):
        take_over(scenario, writer, Seed.parse(text))


def take_over(scenario: Scenario, writer: Writer, seed: Seed) -> None:
    """Refused without a seed; with it, nothing is missing and nothing is there twice, also of what comes later."""
    scenario.fails(ProgressUnknown)
    both = connect(scenario.mirror_flow())
    try:
        shown = seed_progress(scenario.mirror_flow(), both, seed)
        assert not shown.refused, shown.to_json()
        seed_progress(scenario.mirror_flow(), both, seed, apply=True)
    finally:
        both.close()
    scenario.run()
    again = Writer(scenario)
    again._next = writer._next
    again.rounds(1)
    assert copied(scenario.run()) == 2 * PARTITIONS * ROUND
    for partition in range(PARTITIONS):
        assert scenario.numbers(partition) == writer.written[partition] + again.written[partition]
