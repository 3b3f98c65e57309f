"""What is wrong with a seed's argument can mostly be told before any cluster is asked."""

from __future__ import annotations

import re
from pathlib import Path

import pendulum

from airflow_provider_mm2.mirror.errors import SeedUnreadable
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.offsets.seed import Seed, SeedKind, read_file

LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999."""

_MILLISECONDS = re.compile(r"[0-9]+")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*(Z|[+-][0-9]{2}(:?[0-9]{2})?)")
_FORM = "write it as 2024-01-31T00:00:00Z or 2024-01-31T00:00:00+01:00, or as milliseconds since 1970"


def check_seed(seed: Seed) -> None:
    """Refuse an argument that cannot be read.

    :raises SeedUnreadable: says what is wrong with it.
    """
    if seed.kind is SeedKind.TIMESTAMP:
        moment_of(seed)
    elif seed.kind is SeedKind.OFFSETS:
        read_file(Path(seed.argument))


def moment_of(seed: Seed) -> int:
    """The time of a ``timestamp:`` seed in milliseconds.

    :raises SeedUnreadable: it is no moment with a zone between 1970 and 9999.
    """
    text = seed.argument
    if _MILLISECONDS.fullmatch(text):
        moment_ms = int(text) if len(text) <= len(str(LATEST_MS)) else LATEST_MS + 1
    elif _MOMENT.fullmatch(text):
        moment_ms = _parsed(seed)
    else:
        problem = f"{text!r} is not a date with a time of day and a zone; {_FORM}"
        raise SeedUnreadable(seed=str(seed), problem=problem, cause="a date alone, a time without a zone, or words")
    if not 0 <= moment_ms <= LATEST_MS:
        problem = f"{text!r} lies outside {show(0)} to {show(LATEST_MS)}; {_FORM}"
        cause = "a misspelt year, or microseconds or nanoseconds in place of milliseconds"
        raise SeedUnreadable(seed=str(seed), problem=problem, cause=cause)
    return moment_ms


def _parsed(seed: Seed) -> int:
    try:
        moment = pendulum.parse(seed.argument, tz=None)
    except (ValueError, OverflowError) as error:
        problem = f"there is no such time as {seed.argument!r}; {_FORM}"
        raise SeedUnreadable(seed=str(seed), problem=problem, cause="a misspelt date or time of day") from error
    if not isinstance(moment, pendulum.DateTime) or moment.tzinfo is None:
        problem = f"{seed.argument!r} is not one moment with a zone; {_FORM}"
        raise SeedUnreadable(seed=str(seed), problem=problem, cause="a span of time, or a time without a zone")
    return moment.int_timestamp * 1000 + moment.microsecond // 1000
