"""The times of a run."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.errors import BoundRefused, IntervalMissing, IntervalOutOfOrder, IntervalOverlaps
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import from_ms, show, to_ms

PART = TopicPartition("orders", 0)
NOW = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


def bounds(until: datetime | None = NOW, since: datetime | None = None) -> RunBounds:
    """Bounds of a run asked for now."""
    return RunBounds(until=until, since=since, started=NOW)


@given(st.integers(min_value=0, max_value=4_102_444_800_000))
def test_milliseconds_round_trip(milliseconds: int) -> None:
    """A time in milliseconds comes back as it was, to the millisecond."""
    assert to_ms(from_ms(milliseconds)) == milliseconds


def test_now_is_not_the_future() -> None:
    """An interval that ends at the very moment the run was asked for is taken."""
    bounds(until=NOW).check()


@pytest.mark.parametrize(
    ("until", "since", "problem"),
    [
        (NOW + timedelta(milliseconds=1), None, "in the future"),
        (datetime(1969, 12, 31, 23, 59, tzinfo=timezone.utc), None, "before 1970"),
        (datetime(2026, 1, 1), None, "no time zone"),  # noqa: DTZ001 - a naive time is what is refused
        (NOW, NOW + timedelta(seconds=1), "in the future"),
        (NOW - HOUR, NOW, "before since"),
    ],
)
def test_bounds_that_cannot_be_meant(until: datetime, since: datetime | None, problem: str) -> None:
    """A naive, future, pre-1970 or reversed bound is refused before any broker is asked."""
    with pytest.raises(BoundRefused, match=problem):
        bounds(until=until, since=since).check()


@pytest.mark.parametrize("since", [None, NOW])
def test_strict_wants_an_interval(since: datetime | None) -> None:
    """A strict run without an interval of any width is refused, and told of the timetable and of Airflow's option."""
    with pytest.raises(IntervalMissing, match=r"timetable[\s\S]*create_cron_data_intervals"):
        bounds(since=since).check_strict(PART, None, None)


def test_strict_accepts_the_next_interval() -> None:
    """A strict run goes on where the last interval ended."""
    bounds(since=NOW - HOUR).check_strict(PART, to_ms(NOW - HOUR), None)


def test_strict_accepts_a_finished_interval() -> None:
    """A strict run of an interval that is mirrored already has nothing to do and is no error."""
    bounds(since=NOW - HOUR).check_strict(PART, to_ms(NOW), None)


def test_strict_refuses_a_hole() -> None:
    """A strict run names the time that is missing before its interval, and may be tried again."""
    with pytest.raises(IntervalOutOfOrder) as caught:
        bounds(since=NOW - HOUR).check_strict(PART, to_ms(NOW - 2 * HOUR), None)
    assert caught.value.retriable
    assert caught.value.through == "2026-01-31T10:00:00Z"
    assert caught.value.since == "2026-01-31T11:00:00Z"


def test_strict_refuses_an_overlap() -> None:
    """A strict run whose interval is mirrored in part is refused."""
    with pytest.raises(IntervalOverlaps, match="11:30:00Z"):
        bounds(since=NOW - HOUR).check_strict(PART, to_ms(NOW - HOUR / 2), None)


def test_strict_first_run_with_older_records() -> None:
    """A strict first run is refused while records from before its interval lie unmirrored."""
    with pytest.raises(IntervalOutOfOrder, match="09:00:00Z"):
        bounds(since=NOW - HOUR).check_strict(PART, None, to_ms(NOW - 3 * HOUR))


@pytest.mark.parametrize("first_ms", [None, -1, to_ms(NOW - HOUR), to_ms(NOW)])
def test_strict_first_run(first_ms: int | None) -> None:
    """A strict first run is fine when nothing lies before its interval; a missing timestamp says nothing."""
    bounds(since=NOW - HOUR).check_strict(PART, None, first_ms)


def test_through_after_a_cut() -> None:
    """A cut seen at or after the interval's end claims the end."""
    assert bounds().through(ended_by_cut=True, stable_taken_ms=0, before=None) == to_ms(NOW)


def test_through_after_the_bound() -> None:
    """The last stable offset, taken after the interval's end and reached, claims the end."""
    assert bounds().through(ended_by_cut=False, stable_taken_ms=to_ms(NOW), before=None) == to_ms(NOW)


def test_through_claims_nothing_unread() -> None:
    """A last stable offset taken before the interval's end claims nothing new."""
    assert bounds().through(ended_by_cut=False, stable_taken_ms=to_ms(NOW) - 1, before=7) == 7


def test_through_without_an_end() -> None:
    """A run to the end of the log claims the moment at which that end was taken."""
    assert bounds(until=None).through(ended_by_cut=False, stable_taken_ms=5_000, before=4_000) == 5_000


@given(
    st.booleans(),
    st.integers(min_value=0, max_value=to_ms(NOW)),
    st.one_of(st.none(), st.integers(min_value=0, max_value=to_ms(NOW))),
    st.one_of(st.none(), st.integers(min_value=0, max_value=to_ms(NOW))),
)
def test_through_never_goes_back(cut: bool, taken: int, before: int | None, until: int | None) -> None:
    """Whatever a run is asked for, the time a partition is mirrored through never becomes earlier."""
    run = bounds(until=None if until is None else from_ms(until))
    after = run.through(ended_by_cut=cut, stable_taken_ms=taken, before=before)
    assert before is None or (after is not None and after >= before)


def test_times_are_shown_in_utc() -> None:
    """Messages show times in UTC with a Z, and a missing one in words."""
    assert show(to_ms(NOW)) == "2026-01-31T12:00:00Z"
    assert show(None) == "no time yet"
