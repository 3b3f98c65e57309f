"""Comparing along the offset map: each record of a segment with the one that the map pairs it with.

What the map's invariants promise is what is proved: every visible record of the source lies in a segment (B), and at
the paired offset of the target lies its copy (A). A record on one side alone is judged by ``absent.py``; one outside
all segments was not mirrored, or somebody else wrote it, unless an incident on record stands for it.

Where a segment's records differ, they are first looked for beside their place: if one is missing or doubled and the
rest has moved on, that is one mismatch, and the rest of the segment is compared at its moved place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.verify.apart import NOT_AT_SOURCE, NOT_THERE, Compared, Ends, Window, find_end, tell
from airflow_provider_mm2.mirror.verify.cursor import Cursor
from airflow_provider_mm2.mirror.verify.findings import Kind, Side, first_difference
from airflow_provider_mm2.mirror.verify.strangers import Strangers

NOT_MIRRORED = "no segment of the offset map covers it"
STRANGER = "no segment of the offset map covers it: nobody knows where it comes from"


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


def _covered(ranges: Sequence[tuple[int, int, str]], offset: int) -> tuple[str | None, int | None]:
    """The incident that covers an offset, and where it ends; or None and where the next one begins."""
    for start, end, kind in ranges:
        if start <= offset < end:
            return kind, end
        if offset < start:
            return None, start
    return None, None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an offset lies in the map: in a segment, paired with ``other`` up to ``end``; or in none up to ``end``."""

    other: int | None
    end: int | None


class MapWalk:
    """Goes along both sides of one partition.

    :param repeats: the ledger was written at least once, so copies beside the map may be repeats.
    """

    def __init__(
        self,
        compared: Compared,
        strangers: Strangers,
        offset_map: OffsetMap,
        on_record: OnRecord,
        *,
        repeats: bool = False,
    ) -> None:
        self._compared = compared
        self._strangers = strangers
        self._map = offset_map
        self._on_record = on_record
        self._repeats = repeats
        self._shift = 0
        self._shifted_to = 0

    def run(self, source: Cursor, target: Cursor) -> None:
        """Compare until both sides are at their ends."""
        while source.count or target.count:
            if self._compared.digests.is_at_block_end and not self._shift:
                self._compared.checkpoint(source.offset, target.offset)
            self._step(source, target)

    def _step(self, source: Cursor, target: Cursor) -> None:
        here = None if source.offset is None else self._target_of(source.offset)
        there = None if target.offset is None else self._source_of(target.offset)
        if here is not None and here.other is None:
            self._not_mirrored(source, here.end)
        elif there is not None and there.other is None:
            self._foreign(target, there.end)
        elif here is None or (there is not None and target.offset is not None and target.offset < (here.other or 0)):
            self._missing_at_source(source, target, there)
        elif target.offset is None or target.offset > (here.other or 0):
            self._missing(source, target, here)
        else:
            self._pairs(source, target, here)

    def _target_of(self, offset: int) -> _Place:
        place = _placed(offset, self._map.source_starts, self._map.target_starts, self._map.counts)
        if place.other is not None and offset < self._shifted_to:
            return _Place(place.other + self._shift, place.end)
        self._shift = 0
        return place

    def _source_of(self, offset: int) -> _Place:
        return _placed(offset - self._shift, self._map.target_starts, self._map.source_starts, self._map.counts)

    def _pairs(self, source: Cursor, target: Cursor, here: _Place) -> None:
        count = self._fitting(source, here.end)
        count = min(count, target.count)
        ours, theirs = source.peek(count), target.peek(count)
        equal = count if ours.says_the_same(theirs) else first_difference(ours, theirs)
        if equal:
            self._compared.same(ours.slice(0, equal), theirs.slice(0, equal))
            source.skip(equal)
            target.skip(equal)
        if equal < count:
            self._resolve(source, target, here)

    def _fitting(self, source: Cursor, end: int | None) -> int:
        """How many records of the source can be taken in one go: no further than a segment's or a block's end."""
        count = min(source.count, self._compared.digests.room)
        return count if end is None else min(count, end - (source.offset or 0))

    def _resolve(self, source: Cursor, target: Cursor, here: _Place) -> None:
        """Get over a place at which a segment's records differ."""
        end, at = here.end or 0, source.offset or 0
        target_end = (target.offset or 0) + end - at
        ours, theirs, found = find_end(source, target, Ends(source=end, target=target_end))
        if found is None or ours.has_holes or theirs.has_holes:
            count = min(ours.unbroken, theirs.unbroken)
            found = count, count
        before = [*source.take(found[0])], [*target.take(found[1])]
        self._compared.different(*before)
        here_window, there_window = Window(before[0], True), Window(before[1], True)
        is_in_place = found[0] == found[1]
        span = at, source.offset

        def unknown(window: Window, places: list[int]) -> None:
            self._strangers.judge(window, places, span)

        tell(self._compared, here_window, there_window, by_place=is_in_place, unknown=unknown)
        if not is_in_place:
            self._shift += found[1] - found[0]
            self._shifted_to = end

    def _not_mirrored(self, source: Cursor, end: int | None) -> None:
        kind, until = _covered(self._on_record.source, source.offset or 0)
        count = self._fitting(source, end if until is None else min(until, end or until))
        columns = source.peek(count)
        source.skip(count)
        self._compared.source_alone(columns)
        if kind is not None:
            self._compared.tally.on_record[kind] += count
        else:
            absences = self._compared.absences
            absences.missing(Side.TARGET, columns, None, Kind.NOT_MIRRORED, NOT_MIRRORED)

    def _foreign(self, target: Cursor, end: int | None) -> None:
        at = target.offset or 0
        kind, until = _covered(self._on_record.target, at)
        ends = [each - at for each in (None if end is None else end + self._shift, until) if each is not None]
        count = max(1, min([target.count, *ends]))
        columns = target.peek(count)
        target.skip(count)
        self._compared.target_alone(columns)
        if kind is not None:
            self._compared.tally.on_record[kind] += count
        else:
            wrong = Kind.REPEAT_OR_FOREIGN if self._repeats else Kind.FOREIGN
            self._compared.findings.add(wrong, target=at, records=count, detail=STRANGER)

    def _missing(self, source: Cursor, target: Cursor, here: _Place) -> None:
        count, there = self._fitting(source, here.end), here.other or 0
        if target.offset is not None:
            count = min(count, target.offset - there)
        gone = self._compared.absences.expired(Side.TARGET, there, count)
        columns = source.peek(count).slice(gone, count)
        source.skip(count)
        if gone < count:
            self._compared.source_alone(columns)
            self._compared.absences.missing(Side.TARGET, columns, there + gone, Kind.MISSING, NOT_THERE)

    def _missing_at_source(self, source: Cursor, target: Cursor, there: _Place | None) -> None:
        at, count = (there.other or 0) if there is not None else 0, target.count
        if there is not None and there.end is not None:
            count = min(count, there.end + self._shift - (target.offset or 0))
        if source.offset is not None:
            count = min(count, source.offset - at)
        gone = self._compared.absences.expired(Side.SOURCE, at, count)
        columns = target.peek(count).slice(gone, count)
        target.skip(count)
        if gone < count:
            self._compared.target_alone(columns)
            self._compared.absences.missing(Side.SOURCE, columns, at + gone, Kind.MISSING_AT_SOURCE, NOT_AT_SOURCE)


def _placed(offset: int, starts: Sequence[int], others: Sequence[int], counts: Sequence[int]) -> _Place:
    index = bisect_right(starts, offset) - 1
    if index >= 0 and offset < starts[index] + counts[index]:
        return _Place(others[index] + offset - starts[index], starts[index] + counts[index])
    return _Place(None, starts[index + 1] if index + 1 < len(starts) else None)
