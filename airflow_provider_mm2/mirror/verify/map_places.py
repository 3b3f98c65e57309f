"""Where offsets lie in an offset map, and what incidents on record stand for. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.model import Columns
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRecord:
    """Ranges of one partition that incidents stand for.

    :param source: (start, end, kind) in source offsets; ``target`` in those of the target.
    """

    source: Sequence[tuple[int, int, str]] = ()
    target: Sequence[tuple[int, int, str]] = ()

    @classmethod
    def of(cls, incidents: Sequence[Incident], turned: Sequence[Incident] = ()) -> OnRecord:
        """What incidents of a partition stand for.

        :param turned: on a way home, those of the flow that went out: what it left stranded lies on our target.
        """
        foreign = IncidentKind.FOREIGN_WRITES
        here = [each for each in incidents if each.kind is not foreign]
        there = [each for each in incidents if each.kind is foreign]
        return cls(
            source=_ranges(here), target=_ranges([*there, *(each for each in turned if each.kind is not foreign)])
        )


def _ranges(incidents: Sequence[Incident]) -> list[tuple[int, int, str]]:
    return sorted((each.start, each.end, each.kind.value) for each in incidents if each.start < each.end)


def covered(ranges: Sequence[tuple[int, int, str]], offset: int) -> tuple[str | None, int | None]:
    """The incident that covers an offset, and where it ends; or None and where the next one begins."""
    for start, end, kind in ranges:
        if start <= offset < end:
            return kind, end
        if offset < start:
            return None, start
    return None, None


@dataclass(frozen=True, slots=True)
class Place:
    """Where an offset lies in the map: in a segment, paired with ``other`` up to ``end``; or in none up to ``end``."""

    other: int | None
    end: int | None


def placed(offset: int, starts: Sequence[int], others: Sequence[int], counts: Sequence[int]) -> Place:
    """Where an offset lies, given the segments of its side and of the other one."""
    index = bisect_right(starts, offset) - 1
    if index >= 0 and offset < starts[index] + counts[index]:
        return Place(others[index] + offset - starts[index], starts[index] + counts[index])
    return Place(None, starts[index + 1] if index + 1 < len(starts) else None)


def target_of(offset_map: OffsetMap, offset: int) -> Place:
    """Where a source offset lies."""
    return placed(offset, offset_map.source_starts, offset_map.target_starts, offset_map.counts)


def source_of(offset_map: OffsetMap, offset: int) -> Place:
    """Where a target offset lies."""
    return placed(offset, offset_map.target_starts, offset_map.source_starts, offset_map.counts)


def first_unmapped(offset_map: OffsetMap, columns: Sequence[Columns]) -> int | None:
    """The first of these source records that no segment covers."""
    for each in columns:
        offset = each.start
        while offset < each.end:
            place = target_of(offset_map, offset)
            if place.other is None:
                return offset
            offset = each.end if place.end is None else place.end
    return None
