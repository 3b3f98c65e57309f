"""Where the copies of a range begin, if what was dropped or doubled before it has moved them from their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from airflow_provider_mm2.mirror.model import Columns, Row
from airflow_provider_mm2.mirror.verify.findings import Side
from airflow_provider_mm2.mirror.verify.map_places import target_of
from airflow_provider_mm2.mirror.verify.resync import NEAR, RUN
from airflow_provider_mm2.mirror.verify.scope import Part

AROUND = 1_000
"""Offsets before and behind the place among which the copies are looked for."""

Read = Callable[[Side, int, int | None], Iterator[Columns]]


def find_start(part: Part, read: Read) -> int | None:
    """The target offset at which the copies of a range begin; None: at their place, or nowhere near it."""
    offset_map = part.offset_map
    if offset_map is None or part.compacted or not offset_map.kept_from < part.start < part.end:
        return None
    ours = _rows(read(Side.SOURCE, part.start, part.start + AROUND), NEAR + RUN)
    theirs = _rows(read(Side.TARGET, max(0, part.target_start - AROUND), part.target_start + AROUND), 2 * AROUND)
    rows = [row for _, row in theirs]
    for first in range(min(NEAR, len(ours))):
        run = [row for _, row in ours[first : first + RUN]]
        place = target_of(offset_map, ours[first][0]).other
        if len(run) < min(RUN, len(ours)) or place is None:
            return None
        found = [theirs[at][0] for at in range(len(rows)) if rows[at : at + len(run)] == run]
        if found:
            nearest = min(found, key=lambda at: abs(at - place))
            return None if nearest == place else nearest
    return None


def _rows(read: Iterator[Columns], count: int) -> list[tuple[int, Row]]:
    found: list[tuple[int, Row]] = []
    for columns in read:
        found += zip(range(columns.start, columns.end), columns.rows(), strict=True)
        if len(found) >= count:
            break
    return found[:count]
