"""Up to which time a run mirrors: the operator's word, else what Airflow knows of the run."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pendulum
import pytest

from airflow_provider_mm2.mirror.errors import BoundRefused, IntervalMissing
from airflow_provider_mm2.run_interval import Given, RunTimes, parse_bound, resolve_interval

MIDNIGHT = datetime(2026, 1, 1, tzinfo=timezone.utc)
ONE = MIDNIGHT + timedelta(hours=1)
TWO = MIDNIGHT + timedelta(hours=2)


def times(start: datetime | None, end: datetime | None, run_after: datetime = TWO) -> RunTimes:
    """Make what Airflow knows of a run."""
    return RunTimes(interval_start=start, interval_end=end, run_after=run_after, timetable="CronTriggerTimetable")


WIDE = times(MIDNIGHT, ONE)
MOMENT = times(ONE, ONE, run_after=ONE)
BY_HAND = times(None, None)


def test_the_operators_word_comes_first() -> None:
    """``until=`` wins over the run's own times, and its start is then the operator's too."""
    chosen = resolve_interval(until="2026-01-01T00:30:00Z", since=None, times=WIDE, strict=False)
    assert chosen.until == MIDNIGHT + timedelta(minutes=30)
    assert (chosen.since, chosen.given, chosen.why) == (None, True, "the operator's until=")


def test_a_data_interval_with_a_width_gives_both_ends() -> None:
    """K01, data-interval timetable: the run for 00:00 to 01:00 mirrors up to 01:00, whenever it is run."""
    chosen = resolve_interval(until=None, since="", times=WIDE, strict=True)
    assert (chosen.since, chosen.until) == (MIDNIGHT, ONE)
    assert chosen.why.startswith("the end of the run's data interval (2026-01-01T00:00:00Z to 2026-01-01T01:00:00Z")


def test_a_data_interval_without_width_counts_for_nothing() -> None:
    """K01, Airflow 3's default: the trigger time is the end, and the reason names interval and timetable."""
    chosen = resolve_interval(until=None, since=None, times=MOMENT, strict=False)
    assert (chosen.since, chosen.until) == (None, ONE)
    assert "no data interval of any width (2026-01-01T01:00:00Z to 2026-01-01T01:00:00Z, timetable Cron" in chosen.why


def test_a_run_by_hand_ends_at_its_trigger_time() -> None:
    """K02: without a logical date there is no interval at all, and the run works."""
    chosen = resolve_interval(until=None, since=None, times=BY_HAND, strict=False)
    assert (chosen.since, chosen.until) == (None, TWO)
    assert "(no data interval, timetable CronTriggerTimetable)" in chosen.why


@pytest.mark.parametrize(("run", "until"), [(MOMENT, None), (BY_HAND, None), (WIDE, "2026-01-01T00:30:00Z")])
def test_a_strict_flow_wants_an_interval(run: RunTimes, until: Given) -> None:
    """K01, K02: strict names the timetable, Airflow's option and the arguments that help."""
    with pytest.raises(IntervalMissing) as caught:
        resolve_interval(until=until, since=None, times=run, strict=True)
    for part in ("CronTriggerTimetable", "create_cron_data_intervals", "until=", "since="):
        assert part in str(caught.value)


def test_a_strict_flow_takes_the_operators_interval() -> None:
    """With both arguments a strict run by hand is possible."""
    chosen = resolve_interval(until=TWO, since=ONE, times=BY_HAND, strict=True)
    assert (chosen.since, chosen.until) == (ONE, TWO)


@pytest.mark.parametrize("given", ["-1", "0", "1767225600000", "None", "tomorrow", "2026-01-01", "2026-01-01T00:00"])
def test_what_is_no_time_with_a_zone_is_refused(given: str) -> None:
    """K02: sentinels, dates and local times are not adjusted into something that copies nothing or everything."""
    with pytest.raises(BoundRefused, match="the bound until "):
        parse_bound("until", given)


@pytest.mark.parametrize("given", ["1969-12-31T23:59:59Z", "0001-01-01T00:00:00+00:00"])
def test_a_time_before_1970_is_refused(given: str) -> None:
    """K02: such a bound would reach Kafka as a negative number, which has a meaning of its own there."""
    with pytest.raises(BoundRefused, match="it is before 1970"):
        parse_bound("since", given)


@pytest.mark.parametrize("given", [None, "", "  "])
def test_nothing_is_nothing(given: Given) -> None:
    """A template of a missing value renders to nothing."""
    assert parse_bound("until", given) is None


@pytest.mark.parametrize(
    "given", ["2026-01-01T00:00:00Z", "2026-01-01 01:00:00+01:00", MIDNIGHT, pendulum.datetime(2026, 1, 1, tz="UTC")]
)
def test_a_time_with_any_zone_is_taken(given: Given) -> None:
    """Zones are what makes a time one moment; Airflow's own kind of time becomes Python's."""
    parsed = parse_bound("until", given)
    assert parsed == MIDNIGHT
    assert type(parsed) is datetime
