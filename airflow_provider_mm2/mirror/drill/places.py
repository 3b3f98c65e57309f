"""One group on one partition in a game day: what its copy has to read, and what came of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from airflow_provider_mm2.mirror.drill.once import Met, span_of
from airflow_provider_mm2.mirror.model import Columns, TopicPartition
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.recovery.record import PartMove
from airflow_provider_mm2.mirror.verify.findings import Kind, Side, Tally
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
    :param source_end: where the source's log ends.
    """

    group: str
    move: PartMove
    now: int | None
    part: Part
    offset_map: OffsetMap
    source_end: int

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

    def _mapped(self, offset: int) -> int:
        return min(max(offset, self.offset_map.kept_from), self.offset_map.source_end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplaced:
    """A group that stands on a partition of the source and would have no position on the target.

    :param now: where it stands by now; None: nowhere any more.
    :param stands: that, or where it was last seen.
    :param part: the partition on both sides; None: it is not mirrored.
    :param seen: where the last run saw it; None: nowhere.
    :param is_planned: whether a failover would look for its place.
    """

    group: str
    source: TopicPartition
    now: int | None
    stands: int
    part: Part | None
    reason: str
    seen: int | None
    is_planned: bool


def lost_until(part: Part) -> int:
    """The source offset from which what was mirrored is still on the target.

    What lies before the map's begin was not mirrored, and what the target's retention took is gone.
    """
    offset_map, start = part.offset_map, part.starts[Side.TARGET]
    if offset_map is None:
        return 0
    kept = offset_map.to_source(min(start, offset_map.target_end))
    return max(offset_map.kept_from, kept) if start else offset_map.kept_from


def place_of(group: str, move: PartMove, now: int | None, mirrored: Part, source_end: int) -> Place | None:
    """A group's place on a mirrored partition; None where a failover would give it none."""
    offset_map = mirrored.offset_map
    if move.offset is None or offset_map is None:
        return None
    start = offset_map.to_source(min(move.offset, offset_map.target_end))
    part = replace(mirrored, start=start, target_start=move.offset)
    return Place(group=group, move=move, now=now, part=part, offset_map=offset_map, source_end=source_end)


def as_far_as_read(place: Place, read: Sequence[Columns], *, is_cut: bool) -> Part:
    """What is compared: up to the mirrored end, or as far as a limit let the copy read."""
    if not is_cut:
        return place.part
    end = read[-1].end if read else place.part.target_start
    return replace(place.part, end=place.offset_map.to_source(end), target_end=end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Records outside the range that was compared that a group has not read and that are not on the target.

    :param expired: they were mirrored and are gone there, or lie before where the mirror began.
    :param beyond: not mirrored yet.
    """

    expired: int = 0
    beyond: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a group would meet on one partition.

    :param now: where it stands on the source by now; None: nowhere.
    :param compared: records of the source that were held against what the copy read.
    :param read: records that the copy read.
    :param outside: what the group has not read and the target has not, outside what was compared; ``gone``: inside it.
    :param repeated: records that it has read on the source and would read again.
    :param skipped: records on the target that it has not read and would never read.
    :param unlike: records that one side has and the other has not, or has otherwise.
    :param digest: of what was read, which both sides have alike; None: they have not, or nothing was read.
    :param is_cut: a limit ended the reading.
    :param reasons: why it has no exact position or none at all, and what could not be compared.
    :param told: what is not as it should be, in words.
    """

    group: str
    source: TopicPartition
    now: int | None
    compared: int = 0
    read: int = 0
    outside: Lost
    gone: Met
    repeated: int = 0
    skipped: int = 0
    reordered: int = 0
    unlike: Met
    digest: str | None = None
    is_cut: bool = False
    reasons: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def lost(self) -> int:
        """Records that the group has not read and that are not on the target."""
        return self.outside.expired + self.outside.beyond + self.gone.records


def judge(
    place: Place, part: Part, read: Sequence[Columns], result: PartResult, *, outside: Lost, is_cut: bool
) -> Outcome:
    """What came of a group's copy on one partition.

    :param part: what was compared.
    """
    findings, digests, met = result.findings, result.digests, _Sorted(result, part, place.stands)
    return Outcome(
        group=place.group,
        source=part.source,
        now=place.now,
        compared=result.tally.records,
        read=sum(map(len, read)),
        outside=outside,
        gone=met.gone(),
        repeated=met.count(AGAIN) + _read_again(place, part, read, is_cut=is_cut),
        skipped=_skipped(place),
        reordered=met.count((Kind.REORDERED,)),
        unlike=met.unlike(),
        digest=digests[0] if digests is not None and digests[0] == digests[1] and any(map(len, read)) else None,
        is_cut=is_cut,
        reasons=tuple(_reasons(place, result.tally)),
        told=tuple(f"group {place.group}: {found.told}" for found in findings.listed[:TOLD]),
    )


def nowhere(unplaced: Unplaced, outside: Lost) -> Outcome:
    """What becomes of a group that has no position on the target: nothing is read for it, and nothing compared."""
    nothing = Met(starts=dict.fromkeys(Side, 0), ends=dict.fromkeys(Side, 0))
    return Outcome(
        group=unplaced.group,
        source=unplaced.source,
        now=unplaced.now,
        outside=outside,
        gone=nothing,
        unlike=nothing,
        reasons=(unplaced.reason,),
    )


def _reasons(place: Place, tally: Tally) -> Iterator[str]:
    if place.move.reason is not None:
        yield place.move.reason
    if place.stands is not None and place.stands > place.source_end:
        yield f"it stands at {place.stands:,}, and the source's log ends at {place.source_end:,}"
    for name, count in (("retention", tally.expired[Side.SOURCE]), ("compaction", tally.compacted[Side.SOURCE])):
        if count:
            yield f"{name} at the source took {count:,} record(s) that are on the target: not compared"


class _Sorted:
    """The mismatches of a partition by what they mean for one group."""

    def __init__(self, result: PartResult, part: Part, stands: int | None) -> None:
        self._listed = result.findings.listed
        self._left = result.findings.left_records
        self._part = part
        self._since = max(part.start, stands or 0)

    def count(self, kinds: Sequence[Kind]) -> int:
        """Records of these kinds."""
        return sum(found.records for found in self._listed if found.kind in kinds) + self._left_of(kinds)

    def gone(self) -> Met:
        """Records that are not on the target and that the group has not read."""
        found = (span_of(each, self._since) for each in self._listed if each.kind in GONE)
        return self._met((each for each in found if each[-1]), self._left_of(GONE), self._since)

    def unlike(self) -> Met:
        """Records that one side has and the other has not, or has otherwise."""
        kinds = [kind for kind in Kind if kind not in (*AGAIN, Kind.REORDERED)]
        found = (span_of(each) for each in self._listed if each.kind in kinds)
        return self._met(found, self._left_of(kinds), self._part.start)

    def _left_of(self, kinds: Sequence[Kind]) -> int:
        return sum(self._left[kind] for kind in kinds)

    def _met(self, spans: Iterable[tuple[Side, int, int, int]], left: int, start: int) -> Met:
        part = self._part
        starts = {Side.SOURCE: start, Side.TARGET: part.target_start}
        ends = {Side.SOURCE: part.end, Side.TARGET: part.target_end}
        return Met(starts=starts, ends=ends, spans=tuple(spans), left=left)


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
