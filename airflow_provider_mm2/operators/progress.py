"""The log line that a running shard writes every few seconds. Pure but for the logger it is given."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow_provider_mm2.mirror.model import Progress

EVERY_S = 5.0


class ProgressLog:
    """Takes every report of a shard and logs one of them each ``every_s`` seconds.

    :param log: where the line goes; anything with ``info(text, *arguments)``.
    :param clock: seconds that only grow.
    """

    def __init__(
        self, log: logging.Logger | Any, *, every_s: float = EVERY_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._every_s = every_s
        self._clock = clock
        self._last = clock()
        self._first: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Note a report, and log it when the last line is old enough."""
        if self._first is None or self._first.shard != progress.shard:
            self._first = progress
        now = self._clock()
        if now - self._last < self._every_s:
            return
        self._last = now
        self._log.info("%s", progress_line(self._first, progress, datetime.now(timezone.utc)))


def progress_line(first: Progress, progress: Progress, now: datetime) -> str:
    """How far a shard is, how fast, what remains and when it will be done by that.

    :param first: the shard's first report, from which the speed is taken.
    """
    records, offsets = progress.records - first.records, first.remaining - progress.remaining
    seconds = progress.seconds - first.seconds
    if seconds <= 0:  # this is the first report: what came before it is all there is to go by
        records = offsets = progress.records
        seconds = progress.seconds
    rate, offsets_rate = (amount / seconds if seconds > 0 else 0.0 for amount in (records, offsets))
    end = "end not known yet"
    if offsets_rate > 0:
        left_s = progress.remaining / offsets_rate
        done_at = now + timedelta(seconds=left_s)
        end = f"done in about {left_s:.0f} s ({done_at:%H:%M:%S}Z)"
    return (
        f"shard {progress.shard}: {progress.records:,} records, {progress.bytes / 1e6:,.1f} MB, {rate:,.0f} records/s; "
        f"{progress.remaining:,} offsets remain, {end}"
    )
