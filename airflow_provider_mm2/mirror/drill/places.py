"""One group on one partition in a game day: what its copy has to read, and what came of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_mm2.mirror.model import Columns
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.recovery.record import PartMove
from airflow_provider_mm2.mirror.verify.findings import Kind, Side
from airflow_provider_mm2.mirror.verify.report import PartResult
from airflow_provider_mm2.mirror.verify.scope import Part

AGAIN = (Kind.DUPLICATE, Kind.REPEAT_OR_FOREIGN)
GONE = (Kind.MISSING, Kind.NOT_MIRRORED)
TOLD = 3
"""Mismatches of one partition that are told in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a group would go on on one partition.

    :param move: as a failover would plan it.
    :param now: where the group stands on the source by now; None: nowhere.
    :param part: the partition on both sides from there on.
    """

    group: str
    move: PartMove
    now: int | None
    part: Part
    offset_map: OffsetMap

    @property
    def stands(self) -> int | None:
        """What comes next for the group on the source: where it stands now, else where it was last seen."""
        return self.move.source_offset if self.now is None else self.now

    @property
    def end(self) -> int:
        """The target offset at which its copy has read enough."""
        return max(self.part.target_start, self.offset_map.mirrored_end)

    @property
    def exact_start(self) -> int | None:
        """Where on the target it would read neither again nor skip anything; None: it stands nowhere."""
        return None if self.stands is None else self.offset_map.to_target(self._mapped(self.stands))

    @property
    def lost_until(self) -> int:
        """The source offset from which what was mirrored is still on the target.

        What lies before the map's begin was not mirrored, and what the target's retention took is gone.
        """
        kept = self.offset_map.to_source(min(self.part.starts[Side.TARGET], self.offset_map.target_end))
        return max(self.offset_map.kept_from, kept) if self.part.starts[Side.TARGET] else self.offset_map.kept_from

    def _mapped(self, offset: int) -> int:
        return min(max(offset, self.offset_map.kept_from), self.offset_map.source_end)


def place_of(group: str, move: PartMove, now: int | None, mirrored: Part) -> Place | None:
    """A group's place on a mirrored partition; None where a failover would give it none."""
    offset_map = mirrored.offset_map
    if move.offset is None or offset_map is None:
        return None
    start = offset_map.to_source(min(move.offset, offset_map.target_end))
    part = replace(mirrored, start=start, target_start=move.offset)
    return Place(group=group, move=move, now=now, part=part, offset_map=offset_map)


def as_far_as_read(place: Place, read: Sequence[Columns], *, is_cut: bool) -> Part:
    """What is compared: up to the mirrored end, or as far as a limit let the copy read."""
    if not is_cut:
        return place.part
    end = read[-1].end if read else place.part.target_start
    return replace(place.part, end=place.offset_map.to_source(end), target_end=end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a group would meet on one partition.

    :param compared: records of the source that were held against what the copy read.
    :param read: records that the copy read.
    :param lost: records that the group has not read and that are not on the target.
    :param repeated: records that it has read on the source and would read again.
    :param skipped: records on the target that it has not read and would never read.
    :param unlike: records that one side has and the other has not, or has otherwise.
    :param digest: of what was read, which both sides have alike; None: they have not, or nothing was read.
    :param is_cut: a limit ended the reading.
    :param told: what is not as it should be, in words.
    """

    place: Place
    compared: int
    read: int
    lost: int
    repeated: int
    skipped: int
    reordered: int
    unlike: int
    digest: str | None
    is_cut: bool
    told: tuple[str, ...] = ()


def judge(place: Place, part: Part, read: Sequence[Columns], result: PartResult, *, lost: int, is_cut: bool) -> Outcome:
    """What came of a group's copy on one partition.

    :param part: what was compared.
    :param lost: records outside the mirrored range that the group has not read.
    """
    listed = result.findings.listed
    again = sum(found.records for found in listed if found.kind in AGAIN)
    reordered = sum(found.records for found in listed if found.kind is Kind.REORDERED)
    gone = sum(found.records for found in listed if found.kind in GONE and not _was_read(found.source, place.stands))
    every = sum(found.records for found in listed) + result.findings.left_out
    digests = result.digests
    return Outcome(
        place=place,
        compared=result.tally.records,
        read=sum(map(len, read)),
        lost=lost + gone,
        repeated=again + _read_again(place, part, read, is_cut=is_cut),
        skipped=_skipped(place),
        reordered=reordered,
        unlike=every - again - reordered,
        digest=digests[0] if digests is not None and digests[0] == digests[1] and any(map(len, read)) else None,
        is_cut=is_cut,
        told=tuple(f"group {place.group}: {found.told}" for found in listed[:TOLD]),
    )


def _was_read(source: tuple[int, int] | None, stands: int | None) -> bool:
    return source is not None and stands is not None and source[1] <= stands


def _read_again(place: Place, part: Part, read: Sequence[Columns], *, is_cut: bool) -> int:
    """Records that the copy read and the group had read; behind a cut as many as the map has."""
    exact = place.exact_start
    if exact is None:
        return 0
    seen = sum(max(0, min(columns.end, exact) - columns.start) for columns in read)
    if not is_cut or part.target_end >= exact:
        return seen
    return seen + place.offset_map.records_before(exact) - place.offset_map.records_before(part.target_end)


def _skipped(place: Place) -> int:
    """Records on the target between where the group should go on and where it would."""
    exact = place.exact_start
    if exact is None:
        return 0
    first, offset_map = max(exact, place.part.starts[Side.TARGET]), place.offset_map
    return max(0, offset_map.records_before(place.part.target_start) - offset_map.records_before(first))
