"""Attempts that end half way, and runs that come again."""

from __future__ import annotations

from threading import Event

import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import Fenced, Stopped
from airflow_provider_mm2.mirror.model import ChunkLimits, CopierSettings, CopyRange
from airflow_provider_mm2.mirror.run import prepare
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, at, bounds, copied, part, record, records
from tests.contract.lab import Side
from tests.contract.real_lab import until

pytestmark = pytest.mark.broker


def copy_and_leave(scenario: Scenario, *, end: int, abort: bool) -> None:
    """A first attempt: copies ``[0, end)`` in a transaction of the flow's own id and is gone before the commit."""
    flow = scenario.mirror_flow()
    pair = connect(flow)
    try:
        prepare(flow, pair, bounds=bounds(None))
        copier = pair.copier(
            CopierSettings(
                flow=flow.name,
                transactional_id=f"mm2.{flow.name}.0",
                progress_group=scenario.progress_group,
                transaction_timeout_s=60,
                max_record_bytes=1_048_588,
                silence_limit_s=30,
            )
        )
        copier.fence(nothing)
        whole = CopyRange(
            source=scenario.source(), target=scenario.target(), start=0, end=end, cut_ms=None, leader_epoch=None
        )
        copier.assign([whole], 0)
        copier.begin()
        copier.copy(ChunkLimits(seconds=60, bytes=1 << 30), nothing)
        assert sum(result.records for result in copier.flush(nothing)) == end
        if abort:
            copier.abort()
    finally:
        pair.close()


def nothing() -> None:
    """A tick."""


def uncommitted_count(scenario: Scenario) -> int:
    """Records that a ``read_uncommitted`` reader of the target is given."""
    consumer = Consumer(
        {
            **scenario.addresses["target"],
            "group.id": "uncommitted",
            "isolation.level": "read_uncommitted",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([KafkaPartition(*scenario.target(), 0)])
    seen: list[object] = []

    def at_end() -> bool:
        message = consumer.poll(0.1)
        if message is None:
            return False
        error = message.error()
        if error is None:
            seen.append(message)
        return error is not None and error.code() == KafkaError._PARTITION_EOF

    until(at_end, "the end of the target")
    consumer.close()
    return len(seen)


@pytest.mark.parametrize("abort", [pytest.param(True, id="aborted"), pytest.param(False, id="left-open")])
def test_a_retry_after_an_attempt_that_died(scenario: Scenario, abort: bool) -> None:
    """K03: 60 of 100 were produced and never committed: the retry makes it exactly 100, in source order."""
    scenario.produce(*records(100))
    copy_and_leave(scenario, end=60, abort=abort)
    assert scenario.mirrored() == []
    assert copied(scenario.run()) == 100
    assert scenario.numbers() == list(range(100))
    assert uncommitted_count(scenario) == 160
    assert copied(scenario.run()) == 0


def test_an_attempt_that_is_stopped(make_scenario: MakeScenario) -> None:
    """K03, neighbour: a stop request after the first chunk keeps that chunk, and the next run goes on behind it."""
    scenario = make_scenario(chunk={"bytes": 1024})
    scenario.produce(*records(3000))
    stop = Event()
    scenario.fails(Stopped, stop=stop, report=lambda _: stop.set())
    kept = len(scenario.mirrored())
    assert 0 < kept < 3000
    assert scenario.progress() == kept
    assert copied(scenario.run()) == 3000 - kept
    assert scenario.numbers() == list(range(3000))


def test_a_stop_before_the_first_chunk(scenario: Scenario) -> None:
    """K03, neighbour: a run that is asked to stop at once copies nothing."""
    scenario.produce(*records(3))
    stop = Event()
    stop.set()
    assert scenario.fails(Stopped, stop=stop).retriable
    assert copied(scenario.run()) == 3


def test_an_interval_that_succeeded_runs_again(scenario: Scenario) -> None:
    """K04: a cleared run finds its interval complete: 0 copied, success, and says so."""
    scenario.produce(*records(100))
    assert copied(scenario.run(at("01:00"), since=at("00:00"))) == 100
    before = scenario.snapshot()["source"]
    for _ in range(2):
        document = scenario.run(at("01:00"), since=at("00:00")).to_json()
        assert (document["records"], document["already_complete"]) == (0, True)
    assert scenario.numbers() == list(range(100))
    assert scenario.snapshot()["source"] == before


def test_an_older_interval_runs_again_after_newer_ones(scenario: Scenario) -> None:
    """K04, neighbour: clearing an interval of last week copies nothing and does not move progress back."""
    scenario.produce(*records(60, step_s=60), *records(60, first=60, start="01:00", step_s=60))
    scenario.run(at("01:00"))
    newest = scenario.run(at("02:00"))
    summary = scenario.run(at("01:00"))
    assert (copied(summary), scenario.progress()) == (0, 120)
    assert part(summary).through_ms == part(newest).through_ms
    scenario.produce(record(120, at("02:30")))
    assert copied(scenario.run(at("03:00"))) == 1


class Stall(Event):
    """A stop request that never comes; it lets the run stand still once, until its transaction has expired."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        self._scenario = scenario
        self.stalled = False

    def is_set(self) -> bool:
        """Called in every wait of a run; stands still at the first one with an open transaction on the target."""
        if not self.stalled and self._is_open():
            self.stalled = True
            until(lambda: not self._is_open(), "the end of the transaction")
        return False

    def _is_open(self) -> bool:
        target = self._scenario.target()
        if target.topic not in self._scenario.lab.pair.target.list_topics():
            return False
        log = self._scenario.lab.pair.target.log_offsets([target])[target]
        return log.stable < log.end


def test_a_transaction_that_expires_while_copying(make_scenario: MakeScenario) -> None:
    """K31: a chunk that takes longer than the transaction's time ends the attempt once, with advice; a retry works."""
    scenario = make_scenario(transaction_timeout_s=5)
    scenario.produce(*records(100))
    stall = Stall(scenario)
    error = scenario.fails(Fenced, stop=stall)
    assert stall.stalled
    assert error.retriable
    assert "timed out" in error.why
    assert "chunk.seconds" in str(error)
    assert scenario.mirrored() == []
    assert copied(scenario.run()) == 100
    assert scenario.numbers() == list(range(100))


def test_many_chunks_are_one_mirror(make_scenario: MakeScenario) -> None:
    """K31, neighbour: an interval of many transactions arrives whole and in order, and the marks do not count."""
    scenario = make_scenario(partitions=2, chunk={"bytes": 1024})
    for partition in range(2):
        scenario.produce(*records(2500), partition=partition)
    summary = scenario.run()
    assert copied(summary) == 5000
    assert summary.to_json()["transactions"] > 1
    assert [scenario.numbers(partition) for partition in range(2)] == [list(range(2500))] * 2
    target = scenario.lab.visible(Side.TARGET, scenario.target())
    assert part(summary, 0).target_end == target[-1][0] + 1
    assert copied(scenario.run()) == 0
