"""The progress line: now and then, with records, speed, what remains and when it will be done."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from airflow_provider_mm2.mirror.model import Progress
from airflow_provider_mm2.operators.progress import ProgressLog, progress_line

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def progress(records: int, remaining: int, seconds: float, shard: int = 0) -> Progress:
    """Make a report of 10 bytes a record."""
    return Progress(shard=shard, records=records, bytes=records * 10, remaining=remaining, seconds=seconds)


def test_the_line_tells_speed_and_end() -> None:
    """100,000 records in 10 s and 50,000 offsets to go are 5 s more."""
    line = progress_line(progress(0, 150_000, 0), progress(100_000, 50_000, 10), NOW)
    assert line == (
        "shard 0: 100,000 records, 1.0 MB, 10,000 records/s; 50,000 offsets remain, done in about 5 s (00:00:05Z)"
    )


def test_the_first_report_goes_by_itself() -> None:
    """A first chunk that took long tells a speed too."""
    first = progress(20_000, 40_000, 4)
    assert progress_line(first, first, NOW).endswith(
        "5,000 records/s; 40,000 offsets remain, done in about 8 s (00:00:08Z)"
    )


def test_without_movement_no_end_is_promised() -> None:
    """The first report, and one of a shard that stands still, name no end."""
    first = progress(0, 10, 0)
    assert progress_line(first, first, NOW).endswith("10 offsets remain, end not known yet")
    assert progress_line(first, progress(0, 10, 5), NOW).endswith("10 offsets remain, end not known yet")


def test_a_line_is_written_every_few_seconds() -> None:
    """Reports come with each slice; one of them a period is logged, and a new shard begins anew."""
    lines: list[Any] = []

    class Log:
        def info(self, text: str, *arguments: object) -> None:
            lines.append(text % arguments)

    now = [0.0]
    report = ProgressLog(Log(), every_s=5, clock=lambda: now[0])
    for second in range(12):
        now[0] = float(second)
        report(progress(second * 100, 1200 - second * 100, second))
    assert [line.split(",")[0] for line in lines] == ["shard 0: 500 records", "shard 0: 1"]
    now[0] = 15.0
    report(progress(0, 10, 0, shard=1))
    assert lines[-1].startswith("shard 1: 0 records")
    assert lines[-1].endswith("end not known yet")
