"""Others at work: writers on the target, transactions on the source that never end, runs side by side."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import (
    ForeignWrites,
    LeaseHeld,
    ProgressUnknown,
    TargetTransactionOpen,
    TransactionHangs,
)
from airflow_provider_mm2.mirror.model import Progress
from airflow_provider_mm2.mirror.run import RunSummary
from airflow_provider_mm2.mirror.state.ledger import read_ledger, to_record
from airflow_provider_mm2.mirror.state_model import LedgerEntry
from tests.cases.by_hand import produce_state
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, at, copied, record, records
from tests.contract.lab import Side
from tests.contract.real_lab import until
from tests.fakes.log import Outcome

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("outcome", [None, Outcome.COMMITTED], ids=["plain", "transactional"])
def test_foreign_records_between_runs(scenario: Scenario, outcome: Outcome | None) -> None:
    """Records on the target that the flow did not write stop the next run before it copies, with their range."""
    scenario.produce(*records(10))
    scenario.run()
    if outcome is None:
        scenario.lab.produce(Side.TARGET, scenario.target(), *records(2, first=90))
    else:
        scenario.lab.transaction(Side.TARGET, scenario.target(), *records(2, first=90), outcome=outcome)
    scenario.produce(*records(5, first=10))
    error = scenario.refuses(ForeignWrites)
    assert (error.target_topic, error.partition, error.records, error.start) == (*scenario.target(), 2, 11)
    assert not error.retriable


def test_foreign_records_stop_also_a_run_with_nothing_to_copy(scenario: Scenario) -> None:
    """Foreign records are told also when the source has nothing new."""
    scenario.produce(*records(10))
    scenario.run()
    scenario.lab.produce(Side.TARGET, scenario.target(), record(90))
    assert scenario.refuses(ForeignWrites).records == 1


def test_foreign_data_that_was_aborted_does_not_stop(scenario: Scenario) -> None:
    """What no reader sees is no foreign record; the mirror goes on behind it, and its map stays exact."""
    scenario.produce(*records(10))
    scenario.run()
    scenario.lab.transaction(Side.TARGET, scenario.target(), *records(2, first=90), outcome=Outcome.ABORTED)
    scenario.produce(*records(5, first=10))
    summary = scenario.run()
    assert (copied(summary), summary.partitions[0].target_start) == (5, 14)
    assert copied(scenario.run()) == 0
    assert scenario.numbers() == list(range(15))


def test_a_foreign_transaction_that_is_open(scenario: Scenario) -> None:
    """A stranger's open transaction on the target is told as such; committed, its records are foreign ones."""
    scenario.produce(*records(10))
    scenario.run()
    opened = scenario.lab.open_transaction(Side.TARGET, scenario.target(), *records(2, first=90))
    scenario.produce(*records(5, first=10))
    assert scenario.refuses(TargetTransactionOpen).stable == 11
    opened.end(Outcome.COMMITTED)
    assert scenario.refuses(ForeignWrites).records == 2


def test_a_foreign_record_between_two_chunks(make_scenario: MakeScenario) -> None:
    """A record written into the target while a run is at work ends the run; the chunk behind it is not visible."""
    scenario = make_scenario(chunk={"bytes": 1024})
    scenario.produce(*records(6000))
    told: list[int] = []

    def intrude(progress: Progress) -> None:
        if not told:
            told.append(progress.records)
            scenario.lab.produce(Side.TARGET, scenario.target(), record(9999))

    error = scenario.fails(ForeignWrites, report=intrude)
    assert error.records == 1
    assert scenario.numbers() == [*range(told[0]), 9999]
    assert scenario.progress() == told[0]
    scenario.refuses(ForeignWrites)


def test_somebody_who_writes_all_the_time(scenario: Scenario) -> None:
    """A writer beside the mirror is told as such, whatever falls between what; no chunk with a stranger stays."""
    scenario.produce(*records(10))
    scenario.run()
    scenario.produce(*records(20_000, first=10))
    with scenario.lab.intruder(scenario.target()):
        for _ in range(3):
            scenario.fails(ForeignWrites)
    values = [message.value for message in scenario.mirrored()]
    assert set(values[10:]) == {b"foreign"}
    assert scenario.progress() == 10


def test_somebody_who_writes_into_a_new_target_all_the_time(scenario: Scenario) -> None:
    """A writer on a target that the flow has not written to yet is told as such, too."""
    scenario.create_target()
    scenario.produce(*records(10))
    scenario.lab.produce(Side.TARGET, scenario.target(), record(90))
    with scenario.lab.intruder(scenario.target()):
        scenario.fails(ProgressUnknown)
    assert scenario.progress() is None


def test_a_busy_source_has_no_hanging_transaction(scenario: Scenario) -> None:
    """Records written while the ends are taken are not taken for an open transaction."""
    scenario.produce(record(0))
    stop = threading.Event()

    def produce() -> None:
        number = 0
        while not stop.is_set():
            scenario.produce(*records(50, first=(number := number + 50)))

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        for _ in range(4):
            scenario.run()
            assert ledger_entry(scenario).pending is None
    finally:
        stop.set()
        thread.join()
    scenario.run()
    assert len(scenario.mirrored()) == scenario.progress()


def test_a_hanging_transaction_on_the_source(make_scenario: MakeScenario) -> None:
    """An open transaction older than lso_stuck_s: all that can be read is copied first, then it is named."""
    scenario = make_scenario(partitions=2)
    scenario.produce(*records(5))
    opened = scenario.open_transaction(*records(3, first=90))
    scenario.produce(*records(4, first=5))
    first = scenario.run()
    assert copied(first) == 5
    seen_long_ago(scenario)
    scenario.produce(*records(7), partition=1)
    error = scenario.fails(TransactionHangs)
    assert (error.topic, error.partition, error.stable, error.end) == (scenario.topic, 0, 5, 12)
    assert error.seconds >= 1200
    assert "find-hanging" in str(error)
    assert scenario.numbers(1) == list(range(7))
    assert [scenario.progress(index) for index in range(2)] == [5, 7]
    opened.end(Outcome.ABORTED)
    assert copied(scenario.run()) == 4
    assert scenario.numbers(0) == list(range(9))
    assert copied(scenario.run()) == 0


def ledger_entry(scenario: Scenario) -> LedgerEntry:
    """The newest ledger entry of the first partition."""
    pair = connect(scenario.mirror_flow())
    try:
        return read_ledger(pair.target, scenario.flow, 0, lambda: None)[scenario.source()].latest
    finally:
        pair.close()


def seen_long_ago(scenario: Scenario) -> None:
    """Let the ledger say that the open transaction was first seen 20 minutes earlier."""
    entry = ledger_entry(scenario)
    assert entry.pending is not None
    stable, seen_ms = entry.pending
    earlier = replace(entry, pending=(stable, seen_ms - 1_200_000), sequence=entry.sequence + 1)
    produce_state(scenario.addresses["target"], to_record(scenario.flow, 0, earlier))


def test_a_transaction_that_moves_on_is_not_hanging(scenario: Scenario) -> None:
    """A source that always has some transaction open is not held up: what counts is that its offset stays."""
    scenario.produce(*records(5))
    first = scenario.open_transaction(*records(1, first=5))
    scenario.run()
    seen_long_ago(scenario)
    first.end(Outcome.COMMITTED)
    second = scenario.open_transaction(*records(1, first=6))
    assert copied(scenario.run()) == 1
    assert copied(scenario.run()) == 0
    second.end(Outcome.ABORTED)


def test_a_lease_that_somebody_holds(scenario: Scenario) -> None:
    """A second run is told who holds the shard, after lease_wait_s, and may be tried again."""
    scenario.produce(*records(3))
    scenario.run()
    pair = connect(scenario.mirror_flow())
    holder = pair.target.membership(
        f"mm2.{scenario.flow}.0.lease", f"mm2-flow.{scenario.flow}.internal", "the-first-run", 6
    )

    def is_held() -> bool:
        holder.poll(0.1)
        return holder.held

    try:
        until(is_held, "the lease")
        scenario.produce(*records(3, first=3))
        error = scenario.refuses(LeaseHeld, lease_wait_s=1)
        assert "the-first-run" in error.holder
        assert error.retriable
    finally:
        holder.leave()
        pair.close()
    assert copied(scenario.run()) == 3


def test_three_intervals_at_once(scenario: Scenario) -> None:
    """K13: H1, H2 and H3 at the same time: they take turns, and 300 records are there once, in source order."""
    scenario.produce(*records(300, step_s=36))
    summaries: list[RunSummary] = []

    def run(hour: int) -> None:
        summaries.append(scenario.run(at("00:00") + timedelta(hours=hour)))

    threads = [threading.Thread(target=run, args=(hour,)) for hour in (3, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(summaries) == 3
    assert sum(copied(summary) for summary in summaries) == 300
    assert scenario.numbers() == list(range(300))
