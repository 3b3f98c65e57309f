"""Up to which time a run mirrors: what the task was told, else what Airflow knows of the run. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow_provider_mm2.mirror.errors import BoundRefused, IntervalMissing

if TYPE_CHECKING:
    from airflow.sdk import Context

Given = str | datetime | None
"""A bound as an operator takes it: empty text, as templates of missing values give, counts as not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes:
    """What Airflow knows of a run's times; a run started by hand has no data interval."""

    interval_start: datetime | None
    interval_end: datetime | None
    run_after: datetime
    timetable: str

    @property
    def has_width(self) -> bool:
        """Whether the data interval is more than a moment; Airflow's trigger timetables give moments."""
        start, end = self.interval_start, self.interval_end
        return start is not None and end is not None and start < end

    def __str__(self) -> str:
        """The interval and the timetable it comes from."""
        if self.interval_start is None or self.interval_end is None:
            return f"no data interval, timetable {self.timetable}"
        return f"{show(self.interval_start)} to {show(self.interval_end)}, timetable {self.timetable}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInterval:
    """The end of a run, its start where one is known, and why it is this end; ``given`` is False if Airflow chose."""

    until: datetime
    since: datetime | None
    why: str
    given: bool


def run_times(context: Context) -> RunTimes:
    """The times in a task's context.

    :raises BoundRefused: the task does not belong to a run.
    """
    run: Any = context.get("dag_run")
    if run is None:
        raise BoundRefused(bound="until", problem="there is no DAG run to take it from, and no until= was given")
    start, end = context.get("data_interval_start"), context.get("data_interval_end")
    return RunTimes(
        interval_start=None if start is None else plain(start),
        interval_end=None if end is None else plain(end),
        run_after=plain(run.run_after),
        timetable=type(context["dag"].timetable).__name__,
    )


def resolve_interval(*, until: Given, since: Given, times: RunTimes, strict: bool) -> RunInterval:
    """Choose a run's end: the operator's argument, else the end of a data interval with a width, else ``run_after``.

    :param until: operator argument.
    :param since: operator argument; only a strict flow looks at a start.
    :raises BoundRefused: an argument is not a time with a zone, or before 1970.
    :raises IntervalMissing: the flow is strict and the run has no interval of any width.
    """
    start = parse_bound("since", since)
    end = parse_bound("until", until)
    if end is not None:
        chosen = RunInterval(until=end, since=start, why="the operator's until=", given=True)
    elif times.has_width and times.interval_end is not None:
        chosen = RunInterval(
            until=times.interval_end,
            since=times.interval_start if start is None else start,
            why=f"the end of the run's data interval ({times})",
            given=False,
        )
    else:
        chosen = RunInterval(
            until=times.run_after,
            since=start,
            why=f"the run's trigger time, since it has no data interval of any width ({times})",
            given=False,
        )
    if strict and (chosen.since is None or chosen.since == chosen.until):
        raise IntervalMissing(interval=str(times))
    return chosen


def parse_bound(name: str, given: Given) -> datetime | None:
    """A bound as an aware time, None where none was given.

    :param name: what the bound is called in messages.
    :raises BoundRefused: it is not a time, has no zone, or is before 1970.
    """
    moment = given
    if not isinstance(moment, datetime):
        text = "" if moment is None else str(moment).strip()
        if not text:
            return None
        try:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            raise BoundRefused(bound=f"{name} {text[:40]!r}", problem="it is not a time") from None
    if moment.tzinfo is None:
        raise BoundRefused(bound=f"{name} {moment.isoformat()}", problem="it has no time zone")
    if moment < datetime(1970, 1, 1, tzinfo=timezone.utc):
        raise BoundRefused(bound=f"{name} {moment.isoformat()}", problem="it is before 1970")
    return plain(moment)


def plain(moment: datetime) -> datetime:
    """The same moment as Python's own kind, in UTC; Airflow's context holds pendulum's, which subtract differently."""
    utc = moment.astimezone(timezone.utc)
    parts = (utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond)
    return datetime(*parts, tzinfo=timezone.utc)


def show(moment: datetime) -> str:
    """A time as logs and messages show it: UTC."""
    return moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
