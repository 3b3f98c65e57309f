"""Shapes of the source's log: retention, transactions, compaction, emptiness."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from airflow_provider_mm2.mirror.errors import SourceGap
from airflow_provider_mm2.mirror.model import RangeEnd
from tests.cases.by_hand import empty_transaction, partitions_of
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, at, copied, ms, part, record, records
from tests.contract.lab import BASE_MS, COMPACTED, Side
from tests.fakes.log import Message, Outcome

pytestmark = pytest.mark.broker


def test_retention_overtakes_the_mirror(scenario: Scenario) -> None:
    """K10: progress 500, log start 800: the run stops before copying, and names the 300 offsets that are gone."""
    scenario.produce(*records(900))
    assert copied(scenario.run(at("00:00") + timedelta(seconds=500))) == 500
    scenario.retain_from(800)
    error = scenario.refuses(SourceGap)
    assert (error.topic, error.partition, error.start, error.end) == (scenario.topic, 0, 500, 800)
    assert not error.retriable
    assert scenario.numbers() == list(range(500))


def test_auto_offset_reset_in_a_connection_changes_nothing(scenario: Scenario) -> None:
    """K10: auto.offset.reset of the connection neither jumps over a gap nor starts at the end."""
    settings = {**scenario.addresses["source"], "auto.offset.reset": "latest"}
    source = {"alias": "us", "settings": settings}
    scenario.produce(*records(9))
    assert copied(scenario.run(at("00:00") + timedelta(seconds=5), source=source)) == 5
    scenario.retain_from(8)
    assert (scenario.refuses(SourceGap, source=source).start, scenario.progress()) == (5, 5)


@pytest.mark.parametrize("start", [0, 250, 499, 500])
def test_retention_up_to_the_progress_loses_nothing(scenario: Scenario, start: int) -> None:
    """K10, neighbour: a log start at or below the progress is no gap."""
    scenario.produce(*records(900))
    scenario.run(at("00:00") + timedelta(seconds=500))
    scenario.retain_from(start)
    assert copied(scenario.run()) == 400
    assert scenario.numbers() == list(range(900))


def test_retention_of_all_that_was_not_mirrored(scenario: Scenario) -> None:
    """K10, neighbour: an empty source that has moved on is a gap too, not "nothing to do"."""
    scenario.produce(*records(9))
    scenario.run(at("00:00") + timedelta(seconds=5))
    scenario.retain_from(9)
    error = scenario.refuses(SourceGap)
    assert (error.start, error.end) == (5, 9)


def test_a_first_run_begins_at_the_log_start(scenario: Scenario) -> None:
    """K10, neighbour: before any progress, what retention took is no gap."""
    scenario.produce(*records(9))
    scenario.retain_from(4)
    summary = scenario.run()
    assert (part(summary).start, part(summary).records) == (4, 5)


def test_a_gap_in_one_partition_stops_before_any_is_copied(make_scenario: MakeScenario) -> None:
    """K10, neighbour: nothing of the other partitions is copied in the run that finds the gap."""
    scenario = make_scenario(partitions=3)
    for partition in range(3):
        scenario.produce(*records(4), partition=partition)
    scenario.run(at("00:00") + timedelta(seconds=2))
    scenario.retain_from(3, partition=1)
    error = scenario.refuses(SourceGap)
    assert (error.partition, error.start, error.end) == (1, 2, 3)


def test_a_marker_at_the_tail(scenario: Scenario) -> None:
    """K24: one transaction of 0..2 with its marker at 3: 3 copied, progress 4, the second run has nothing to do."""
    scenario.transaction(*records(3))
    summary = scenario.run()
    assert (part(summary).records, part(summary).end, scenario.progress()) == (3, 4, 4)
    again = scenario.run()
    assert (copied(again), part(again).start, part(again).end) == (0, 4, 4)
    assert again.warnings == ()


def test_an_aborted_tail(scenario: Scenario) -> None:
    """K24, variant: nothing visible up to the end: 0 copied, progress 4, and the next record is copied alone."""
    scenario.transaction(*records(3), outcome=Outcome.ABORTED)
    summary = scenario.run()
    assert (part(summary).records, part(summary).end, scenario.progress()) == (0, 4, 4)
    assert copied(scenario.run()) == 0
    scenario.produce(record(7))
    assert copied(scenario.run()) == 1
    assert scenario.numbers() == [7]


def test_a_run_that_could_copy_nothing_says_so(scenario: Scenario) -> None:
    """K24, neighbour: offsets to look at and no record among them is worth a word, with counts."""
    scenario.transaction(*records(3), outcome=Outcome.ABORTED)
    assert any("4 offset(s) to look at and no record" in warning for warning in scenario.run().warnings)


def test_a_cut_between_a_record_and_its_marker(scenario: Scenario) -> None:
    """K24, neighbour: an interval that ends inside a committed transaction goes on there, once each."""
    scenario.transaction(*[record(number, at(f"00:0{number}")) for number in range(6)])
    assert copied(scenario.run(at("00:03"))) == 3
    assert scenario.progress() == 3
    assert copied(scenario.run(at("00:06"))) == 3
    assert scenario.progress() == 7
    assert scenario.numbers() == list(range(6))


def test_progress_at_an_open_transaction_that_aborts(scenario: Scenario) -> None:
    """K24, neighbour: the bound is an open transaction's first offset; it aborts; nothing is lost or repeated."""
    scenario.produce(*records(5))
    opened = scenario.open_transaction(*records(3, first=90))
    assert (copied(scenario.run()), scenario.progress()) == (5, 5)
    scenario.produce(*records(2, first=5))
    assert (copied(scenario.run()), scenario.progress()) == (0, 5)
    opened.end(Outcome.ABORTED)
    assert (copied(scenario.run()), scenario.progress()) == (2, 11)
    assert scenario.numbers() == list(range(7))


def test_empty_transactions(scenario: Scenario) -> None:
    """K24, neighbour: a transaction without a record, and one that only aborts, leave nothing to wait for."""
    empty_transaction(scenario.addresses["source"])
    assert (copied(scenario.run()), scenario.progress()) == (0, 0)
    scenario.transaction(record(0), outcome=Outcome.ABORTED)
    empty_transaction(scenario.addresses["source"])
    scenario.transaction(record(1))
    assert (copied(scenario.run()), scenario.progress()) == (1, 4)


def test_interleaved_transactions(scenario: Scenario) -> None:
    """K26, neighbour: transactions that overlap, one aborted, with plain records between, arrive in log order."""
    first = scenario.open_transaction(*records(2))
    second = scenario.open_transaction(*records(2, first=50))
    scenario.produce(record(2))
    third = scenario.open_transaction(*records(2, first=3))
    second.end(Outcome.ABORTED)
    third.end(Outcome.COMMITTED)
    assert copied(scenario.run()) == 0
    first.end(Outcome.COMMITTED)
    assert copied(scenario.run()) == 5
    assert scenario.numbers() == [0, 1, 2, 3, 4]
    assert scenario.progress() == 10


def test_compaction_holes_are_no_loss(make_scenario: MakeScenario) -> None:
    """K25: a compacted source holds 0, 3, 7 and 20 of 21 offsets: 4 copied, no gap, progress 21."""
    scenario = make_scenario(settings=COMPACTED)
    keys = [b"a"] + [b"b"] * 3 + [b"c"] * 4 + [b"d"] * 13
    scenario.produce(*(Message(key=key, value=b"%d" % offset, timestamp_ms=BASE_MS) for offset, key in enumerate(keys)))
    scenario.lab.compact(Side.SOURCE, scenario.source())
    before_filler = datetime.fromtimestamp(BASE_MS / 1000 + 60, tz=timezone.utc)
    summary = scenario.run(before_filler)
    assert (part(summary).records, part(summary).end, scenario.progress()) == (4, 21, 21)
    assert [message.value for message in scenario.mirrored()] == [b"0", b"3", b"7", b"20"]
    assert copied(scenario.run()) == 1


def test_a_compacted_log_of_transactions(make_scenario: MakeScenario) -> None:
    """K25, neighbour: compaction, aborted data and markers together: what is visible arrives, in order."""
    scenario = make_scenario(settings=COMPACTED)
    for number in range(8):
        messages = [Message(key=b"k%d" % (number % 3), value=b"%d" % number, timestamp_ms=BASE_MS)]
        aborted = Outcome.ABORTED if number % 4 == 1 else Outcome.COMMITTED
        scenario.transaction(*messages, outcome=aborted)
    # Markers carry today's time, so only a record stamped later still begins a new segment for the cleaner.
    later = ms(datetime.now(timezone.utc) + timedelta(minutes=10))
    scenario.produce(Message(key=b"roll", value=b"", timestamp_ms=later))
    scenario.lab.compact(Side.SOURCE, scenario.source())
    visible = [message for _, message in scenario.lab.visible(Side.SOURCE, scenario.source())]
    assert len(visible) == 3 + 2
    assert copied(scenario.run()) == len(visible)
    assert scenario.mirrored() == visible
    assert copied(scenario.run()) == 0


@pytest.mark.parametrize("isolation", [None, "read_uncommitted"])
def test_only_committed_records_are_copied(scenario: Scenario, isolation: str | None) -> None:
    """K26: 5 committed, 5 aborted, 12 offsets: 5 copied, whatever isolation.level the connection asks for."""
    settings = dict(scenario.addresses["source"])
    if isolation:
        settings["isolation.level"] = isolation
    scenario.transaction(*records(5))
    scenario.transaction(*records(5, first=50), outcome=Outcome.ABORTED)
    summary = scenario.run(source={"alias": "us", "settings": settings})
    assert (part(summary).records, part(summary).start, part(summary).end) == (5, 0, 12)
    assert (scenario.progress(), scenario.numbers()) == (12, [0, 1, 2, 3, 4])


def test_empty_topics_and_partitions(make_scenario: MakeScenario) -> None:
    """K85: only p1 of one topic has records, the other topic has none: both exist on the target, 5 copied, at once."""
    scenario = make_scenario(partitions=3, topics=("placeholder",))
    empty = f"empty-{scenario.topic}"
    scenario.topics = (scenario.topic, empty)
    scenario.create(topic=empty, partitions=2)
    scenario.produce(*records(5), partition=1)
    summary = scenario.run()
    assert copied(summary) == 5
    assert {each.ended for each in summary.partitions} == {RangeEnd.BOUND}
    target = scenario.addresses["target"]
    assert partitions_of(target, scenario.target().topic) == 3
    assert partitions_of(target, scenario.target(topic=empty).topic) == 2
    assert [len(scenario.mirrored(index)) for index in range(3)] == [0, 5, 0]
    assert scenario.progress(0) == 0
    assert copied(scenario.run()) == 0


def event_time(month: int, number: int) -> int:
    """A time in a month of 2013."""
    return ms(datetime(2013, month, 2 + number, tzinfo=timezone.utc))


@pytest.mark.parametrize("future", [False, True])
def test_old_event_times_on_a_transactional_topic(make_scenario: MakeScenario, future: bool) -> None:
    """K101: a transaction a month with times of 2013: 10 records each month, also with one stamped a year ahead."""
    scenario = make_scenario(settings={"message.timestamp.after.max.ms": str(2**63 - 1)})
    ahead = ms(datetime.now(timezone.utc) + timedelta(days=365))
    for month in range(1, 7):
        stamps = [event_time(month, number) for number in range(10)]
        if future and month == 3:
            stamps[5] = ahead
        scenario.transaction(*(record(month * 10 + number, stamp) for number, stamp in enumerate(stamps)))
    summaries = [scenario.run(datetime(2013, month + 1, 1, tzinfo=timezone.utc)) for month in range(1, 7)]
    assert [copied(summary) for summary in summaries] == [10] * 6
    warned = [any("offset 27 " in warning for warning in summary.warnings) for summary in summaries]
    assert warned == [False, False, future, False, False, False]
    assert scenario.numbers() == list(range(10, 70))


@pytest.mark.parametrize(("ahead_s", "first"), [(240, 1), (360, 3)])
def test_timestamps_a_little_ahead(scenario: Scenario, ahead_s: int, first: int) -> None:
    """K101, neighbour: up to five minutes ahead a record ends the interval, later ones pass it and are told."""
    now = datetime.now(timezone.utc)
    scenario.produce(record(0), record(1, ms(now) + ahead_s * 1000), record(2))
    summary = scenario.run(now)
    assert copied(summary) == first
    assert bool(summary.warnings) == (first == 3)
