"""Where a run ends: interval ends, run ends without an interval, and timestamps that lie."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from airflow_provider_mm2.mirror.errors import BoundRefused, IntervalMissing, IntervalOutOfOrder, IntervalOverlaps
from airflow_provider_mm2.mirror.model import RangeEnd
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, at, copied, ms, part, record, records
from tests.fakes.log import Message

pytestmark = pytest.mark.broker


def test_a_run_without_an_interval_copies_up_to_its_trigger_time(scenario: Scenario) -> None:
    """K01: a bare cron schedule gives [01:00, 01:00); the run copies the 60 records, the next what is new."""
    scenario.produce(*records(60, step_s=60))
    first = scenario.run(at("01:00"), since=at("01:00"))
    assert copied(first) == 60
    scenario.produce(*records(60, first=60, start="01:00", step_s=60))
    second = scenario.run(at("02:00"), since=at("02:00"))
    assert copied(second) == 60
    assert scenario.numbers() == list(range(120))


def test_a_strict_flow_refuses_a_zero_width_interval(make_scenario: MakeScenario) -> None:
    """K01: under strict an interval without width is an error that names the timetable; nothing is made."""
    scenario = make_scenario(strict=True)
    scenario.produce(*records(60, step_s=60))
    error = scenario.refuses(IntervalMissing, at("01:00"), since=at("01:00"))
    assert "timetable" in str(error)
    assert "create_cron_data_intervals" in str(error)
    assert error.exit_code == 2


@pytest.mark.parametrize("strict", [False, True])
def test_a_data_interval_copies_its_own_records(make_scenario: MakeScenario, strict: bool) -> None:
    """K01: with data intervals each run copies exactly its 60 records, strict or not."""
    scenario = make_scenario(strict=strict)
    scenario.produce(*records(180, step_s=60))
    counts = [copied(scenario.run(at(f"0{hour + 1}:00"), since=at(f"0{hour}:00"))) for hour in range(3)]
    assert counts == [60, 60, 60]
    assert scenario.numbers() == list(range(180))


def test_a_run_by_hand_copies_up_to_its_trigger_time(scenario: Scenario) -> None:
    """K02: a run with no interval at all copies from stored progress up to the time it was triggered."""
    scenario.produce(*records(10), record(10, at("12:00")))
    assert copied(scenario.run(at("12:00"))) == 10
    assert copied(scenario.run(datetime.now(timezone.utc))) == 1
    assert scenario.numbers() == list(range(11))


def test_a_strict_flow_refuses_a_run_by_hand(make_scenario: MakeScenario) -> None:
    """K02: under strict a run without an interval is told how to pass an end."""
    scenario = make_scenario(strict=True)
    scenario.produce(*records(10))
    error = scenario.refuses(IntervalMissing, at("12:00"))
    assert "--until" in str(error)
    scenario.refuses(IntervalMissing)


@pytest.mark.parametrize(
    ("until", "problem"),
    [
        pytest.param(datetime(2024, 1, 1), "no time zone", id="naive"),  # noqa: DTZ001 - the fault itself
        pytest.param(datetime(1969, 12, 31, 23, 59, 59, tzinfo=timezone.utc), "before 1970", id="minus-one"),
        pytest.param(datetime(1, 1, 1, tzinfo=timezone.utc), "before 1970", id="year-one"),
        pytest.param(datetime.now(timezone.utc) + timedelta(hours=1), "in the future", id="future"),
        pytest.param(datetime.max.replace(tzinfo=timezone.utc), "in the future", id="year-9999"),
    ],
)
def test_an_end_that_cannot_be_meant_is_refused(scenario: Scenario, until: datetime, problem: str) -> None:
    """K02: naive, negative and future ends are refused before any broker is asked; none becomes "all" or "nothing"."""
    scenario.produce(*records(3))
    nowhere = {"alias": "us", "settings": {"bootstrap.servers": "127.0.0.1:1"}}
    error = scenario.refuses(BoundRefused, until, source=nowhere)
    assert problem in str(error)
    assert error.exit_code == 2


def test_an_end_before_its_start_is_refused(scenario: Scenario) -> None:
    """K02: an interval turned round is refused."""
    scenario.produce(*records(3))
    scenario.refuses(BoundRefused, at("01:00"), since=at("02:00"))


def test_an_end_later_than_the_newest_record(make_scenario: MakeScenario) -> None:
    """K17: no look-up decides; all 10 records are copied, and an empty partition is done at once."""
    scenario = make_scenario(partitions=2)
    scenario.produce(*records(10, step_s=60))
    summary = scenario.run(at("01:00"), since=at("00:00"))
    assert (part(summary, 0).records, part(summary, 0).ended) == (10, RangeEnd.BOUND)
    assert (part(summary, 1).records, part(summary, 1).end) == (0, 0)
    assert summary.seconds < 30
    assert scenario.numbers() == list(range(10))


def test_skipped_intervals_are_covered_by_the_next_run(scenario: Scenario) -> None:
    """K11: paused from 00:00 to 03:00, the one run of the newest interval copies all 180 records."""
    scenario.produce(*records(180, step_s=60))
    assert copied(scenario.run(at("03:00"), since=at("02:00"))) == 180


def test_a_strict_flow_names_the_hole_of_skipped_intervals(make_scenario: MakeScenario) -> None:
    """K11: under strict the hole is an error with its two times, and the interval is mirrored after its elders."""
    scenario = make_scenario(strict=True)
    scenario.produce(*records(180, step_s=60))
    assert copied(scenario.run(at("01:00"), since=at("00:00"))) == 60
    error = scenario.fails(IntervalOutOfOrder, at("03:00"), since=at("02:00"))
    assert (error.through, error.since) == ("2024-01-01T01:00:00Z", "2024-01-01T02:00:00Z")
    assert scenario.numbers() == list(range(60))
    assert copied(scenario.run(at("02:00"), since=at("01:00"))) == 60
    assert copied(scenario.run(at("03:00"), since=at("02:00"))) == 60


def test_intervals_out_of_order_end_in_source_order(scenario: Scenario) -> None:
    """K13: run as H3, H1, H2, the first copies [0, 300) and the others find it complete."""
    scenario.produce(*records(300, step_s=36))
    ends = [(at("03:00"), at("02:00")), (at("01:00"), at("00:00")), (at("02:00"), at("01:00"))]
    summaries = [scenario.run(until, since=since) for until, since in ends]
    assert [copied(summary) for summary in summaries] == [300, 0, 0]
    assert [summary.to_json()["already_complete"] for summary in summaries] == [False, True, True]
    assert scenario.numbers() == list(range(300))


def test_a_strict_flow_refuses_intervals_out_of_order(make_scenario: MakeScenario) -> None:
    """K13: under strict H3 is refused, worth a retry; after H1 and H2 it copies its own."""
    scenario = make_scenario(strict=True)
    scenario.produce(*records(300, step_s=36))
    error = scenario.fails(IntervalOutOfOrder, at("03:00"), since=at("02:00"))
    assert error.retriable
    assert error.since == "2024-01-01T02:00:00Z"
    assert scenario.mirrored() == []
    for hour in range(3):
        assert copied(scenario.run(at(f"0{hour + 1}:00"), since=at(f"0{hour}:00"))) == 100
    assert copied(scenario.run(at("02:00"), since=at("01:00"))) == 0
    assert scenario.numbers() == list(range(300))


def test_a_strict_flow_refuses_an_interval_that_is_mirrored_in_part(make_scenario: MakeScenario) -> None:
    """K13, neighbour: an interval that begins in what is mirrored and ends beyond it is refused by both times."""
    scenario = make_scenario(strict=True)
    scenario.produce(*records(180, step_s=60))
    scenario.run(at("01:30"), since=at("00:00"))
    error = scenario.fails(IntervalOverlaps, at("02:00"), since=at("01:00"))
    assert error.through == "2024-01-01T01:30:00Z"
    assert copied(scenario.run(at("02:00"), since=at("01:30"))) == 30


def stamped(*clocks: str) -> list[Message]:
    """Records stamped by these clocks, in this order."""
    return [record(number, at(clock)) for number, clock in enumerate(clocks)]


@pytest.mark.parametrize(
    ("clocks", "first", "second"),
    [
        pytest.param(("00:10", "01:05", "00:50", "01:10"), [0], [1, 2, 3], id="as-reported"),
        pytest.param(("01:05", "00:10", "00:50", "01:10"), [], [0, 1, 2, 3], id="late-first"),
        pytest.param(("00:50", "00:10", "01:10", "01:05"), [0, 1], [2, 3], id="disorder-inside"),
        pytest.param(("00:50", "00:40", "00:30", "00:20"), [0, 1, 2, 3], [], id="falling"),
        pytest.param(("01:10", "01:05", "00:50", "00:10"), [], [0, 1, 2, 3], id="falling-over-the-end"),
        pytest.param(("00:59.999", "01:00", "00:59.999"), [0], [1, 2], id="exactly-at-the-end"),
    ],
)
def test_disordered_timestamps_leave_neither_hole_nor_overlap(
    scenario: Scenario, clocks: tuple[str, ...], first: list[int], second: list[int]
) -> None:
    """K34: intervals are contiguous offset ranges for any order of timestamps; the union is all, once."""
    scenario.produce(*stamped(*clocks))
    scenario.run(at("01:00"), since=at("00:00"))
    assert scenario.numbers() == first
    scenario.run(at("02:00"), since=at("01:00"))
    assert scenario.numbers() == first + second


def test_an_end_on_the_timestamp_of_many_records(scenario: Scenario) -> None:
    """K34, neighbour: an interval's end is not part of it, to the millisecond, also among equal timestamps."""
    end = ms(at("01:00"))
    scenario.produce(record(0, end - 1), record(1, end - 1), record(2, end), record(3, end), record(4, end + 1))
    assert copied(scenario.run(at("01:00"))) == 2
    assert copied(scenario.run(at("01:00"))) == 0
    assert copied(scenario.run(at("01:00") + timedelta(milliseconds=1))) == 2
    assert copied(scenario.run(at("02:00"))) == 1
    assert scenario.numbers() == [0, 1, 2, 3, 4]


def test_an_end_finer_than_a_millisecond(scenario: Scenario) -> None:
    """K34, neighbour: an end with microseconds copies no record twice and leaves none out."""
    end = ms(at("01:00"))
    scenario.produce(*[record(index, end + index - 2) for index in range(5)])
    scenario.run(at("01:00") + timedelta(microseconds=999))
    assert scenario.numbers() == [0, 1]
    scenario.run(at("02:00"))
    assert scenario.numbers() == [0, 1, 2, 3, 4]


def test_partitions_end_each_at_their_own_cut(make_scenario: MakeScenario) -> None:
    """K34, neighbour: one partition's late record does not end the others'."""
    scenario = make_scenario(partitions=3)
    scenario.produce(*stamped("00:10", "01:05", "00:50"), partition=0)
    scenario.produce(*stamped("00:10", "00:20", "00:30"), partition=1)
    scenario.produce(*stamped("01:10", "00:20"), partition=2)
    summary = scenario.run(at("01:00"))
    assert [part(summary, index).records for index in range(3)] == [1, 3, 0]
    assert [part(summary, index).ended for index in range(3)] == [RangeEnd.CUT, RangeEnd.BOUND, RangeEnd.CUT]
    assert copied(scenario.run(at("02:00"))) == 4


def test_cut_end_copies_all_there_is(make_scenario: MakeScenario) -> None:
    """K34, neighbour: with cut: end a run goes to the end of the log whatever the timestamps say."""
    scenario = make_scenario(cut="end")
    scenario.produce(*stamped("00:10", "01:05", "00:50", "23:10"))
    assert copied(scenario.run(at("01:00"))) == 4
