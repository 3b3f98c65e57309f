"""Comparing along the offset map: each record of a segment with the one that the map pairs it with.

What the map's invariants promise is what is proved: every visible record of the source lies in a segment (B), and at
the paired offset of the target lies its copy (A). A record on one side alone is judged by ``absent.py``; one outside
all segments was not mirrored, or somebody else wrote it, unless an incident on record stands for it.

Where both sides differ, the nearest place is looked for from which they are alike again. If it lies further on one
side, as behind a record that was dropped or doubled, what follows has moved: it is paired by order, beyond the segment
too, until the copies lie at their places again. Copies that come to lie further
from there without a finding are one themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_mm2.mirror.model import Columns
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.verify.apart import WINDOW_BYTES, WINDOWS, Compared, Window, find_end
from airflow_provider_mm2.mirror.verify.cursor import Cursor
from airflow_provider_mm2.mirror.verify.findings import Kind, Side, first_difference
from airflow_provider_mm2.mirror.verify.map_judge import MapJudge
from airflow_provider_mm2.mirror.verify.map_places import OnRecord, Place, first_unmapped, source_of, target_of
from airflow_provider_mm2.mirror.verify.strangers import Strangers


@dataclass(slots=True)
class MapStand:
    """How the target lies to the map where the comparison stands.

    :param is_moved: copies do not lie at their places and are paired by order.
    :param shift: by how many offsets they are from their places; None: what was found has moved them, nobody has looked
        how far.
    :param is_lost: the way was lost since: what lies at a place need not be its record's copy.
    """

    is_moved: bool = False
    shift: int | None = 0
    is_lost: bool = False


class MapWalk:
    """Goes along both sides of one partition.

    :param ends: of source and target; what the cursors have behind them is only looked at.
    :param is_cut: more was mirrored behind the ends.
    :param repeats: the ledger was written at least once, so copies beside the map may be repeats.
    :param stand: where it goes on from.
    """

    def __init__(
        self,
        compared: Compared,
        strangers: Strangers,
        offset_map: OffsetMap,
        on_record: OnRecord,
        *,
        ends: tuple[int, int],
        is_cut: bool = False,
        repeats: bool = False,
        stand: MapStand | None = None,
    ) -> None:
        self._compared = compared
        self._map = offset_map
        kind = Kind.REPEAT_OR_FOREIGN if repeats else Kind.FOREIGN
        self._judge = MapJudge(compared, strangers, offset_map, on_record, kind, ends[0])
        self._end, self._target_end = ends
        self._is_cut = is_cut
        self.stand = stand or MapStand()
        self._unlike_until = 0

    def run(self, source: Cursor, target: Cursor) -> None:
        """Compare until both sides are at their ends."""
        while not self._is_over(source, target):
            if self._compared.digests.is_at_block_end:
                self._compared.checkpoint(source.offset, target.offset)
            self._step(source, target)

    def _is_over(self, source: Cursor, target: Cursor) -> bool:
        if self._source_at(source) is not None:
            return False
        if self.stand.is_moved and self._is_cut:
            return True  # what comes on the target are copies of what lies behind the range
        return target.offset is None or target.offset >= self._target_end

    def _source_at(self, source: Cursor) -> int | None:
        return None if source.offset is None or source.offset >= self._end else source.offset

    def _step(self, source: Cursor, target: Cursor) -> None:
        at, there = self._source_at(source), target.offset
        self._compared.strays.at = self._end if at is None else at
        here = None if at is None else target_of(self._map, at)
        if here is not None and here.other is None:
            self._judge.not_mirrored(source, self._fitting(source, here.end))
            return
        if self.stand.is_moved and here is not None and there == here.other:
            self.stand = MapStand()
        if (
            not self.stand.is_moved
            and (here is None or there != here.other)
            and not self._has_moved(source, target, here)
        ):
            self._by_place(source, target, here)
        elif here is None:
            self._surplus(target, min(target.count, self._target_end - (there or 0)))
        elif there is None:
            self._lose(source, self._fitting(source, None), None)
        else:
            self._pairs(source, target, here)

    def _pairs(self, source: Cursor, target: Cursor, here: Place) -> None:
        count = min(self._fitting(source, here.end), target.count)
        ours, theirs = source.peek(count), target.peek(count)
        equal = count if ours.says_the_same(theirs) else first_difference(ours, theirs)
        if equal:
            if self.stand.is_moved:
                self._hold_against_shift(ours, theirs, here)
            else:
                self.stand = MapStand()
            self._compared.same(ours.slice(0, equal), theirs.slice(0, equal))
            source.skip(equal)
            target.skip(equal)
        if equal < count:
            self._resolve(source, target, target_of(self._map, source.offset or 0))

    def _hold_against_shift(self, ours: Columns, theirs: Columns, here: Place) -> None:
        """Tell where copies come to lie further from their places, or nearer, and nothing was found that moves them."""
        shift = theirs.start - (here.other or 0)
        if self.stand.shift not in (None, shift) and not any(map(self._compared.absences.is_compacted, Side)):
            detail = f"it and what follows lie {shift:+,} offset(s) from their places, and nothing moved them"
            self._compared.strays.add(Kind.DISPLACED, source=ours.start, target=theirs.start, detail=detail)
        self.stand.shift = shift

    def _fitting(self, source: Cursor, end: int | None) -> int:
        """How many records of the source can be taken in one go: no further than a segment's or a block's end."""
        count = min(source.count, self._compared.digests.room, self._end - (source.offset or 0))
        return count if end is None else min(count, end - (source.offset or 0))

    def _has_moved(self, source: Cursor, target: Cursor, here: Place | None) -> bool:
        """Whether the records that come next are copies that do not lie at their places, and get over it if so.

        They lie there if the further one of both places holds what belongs to it.
        """
        at, there = self._source_at(source), target.offset
        if here is None or at is None or here.other is None or there is None or at < self._unlike_until:
            return False
        if any(map(self._compared.absences.is_compacted, Side)):
            return False
        ours: Columns | None
        theirs: Columns | None
        if there < here.other:
            ours, theirs = source.peek(1), _at(target, here.other)
        else:
            other = source_of(self._map, there).other
            ours, theirs = None if other is None else _at(source, other), target.peek(1)
        if ours is not None and theirs is not None and ours.says_the_same(theirs):
            return False
        if source.peek(1).says_the_same(target.peek(1)):
            self.stand.is_moved = True
            return True
        found = self._alike(source, target, here)[2]
        if found is None or min(found) > 0:
            return False
        before = self._taken(source, target, found)
        self._judge.tell(*before, (at, source.offset), by_place=False)
        self.stand.is_moved = True
        return True

    def _alike(self, source: Cursor, target: Cursor, here: Place) -> tuple[Window, Window, tuple[int, int] | None]:
        """Where both are alike again: beyond the segment too, but not beyond what was not mirrored."""
        at, there = source.offset or 0, target.offset or 0
        if at >= self._unlike_until:
            ends = (lambda columns: first_unmapped(self._map, columns)), (lambda columns: None)
            found = find_end(source, target, ends=ends)
            if found[2] is None and found[0].offsets:
                self._unlike_until = found[0].offsets[-1] + 1
            return found
        end = here.end or 0
        return find_end(source, target, ends=(lambda columns: end, lambda columns: there + end - at), near=True)

    def _resolve(self, source: Cursor, target: Cursor, here: Place) -> None:
        """Get over a place at which records differ that should be a pair."""
        at = source.offset or 0
        ours, theirs, found = self._alike(source, target, here)
        is_in_place = target.offset == here.other
        if found is None and not is_in_place:
            self.stand = MapStand(shift=None, is_lost=True)
            self._by_place(source, target, here)
            return
        if found is None or (is_in_place and self._has_holes(ours, theirs, found)):
            count = min(ours.unbroken, theirs.unbroken, (here.end or 0) - at)
            found = count, count
        beyond = max(0, found[0] - self._left(ours))
        found = found[0] - beyond, max(0, found[1] - beyond)
        before = self._taken(source, target, found)
        self._judge.tell(*before, (at, source.offset), by_place=found[0] == found[1])
        if found[0] != found[1]:
            self.stand.is_moved = True

    def _left(self, ours: Window) -> int:
        """How many records of a window lie in the range."""
        return sum(offset < self._end for offset in ours.offsets)

    def _has_holes(self, ours: Window, theirs: Window, found: tuple[int, int]) -> bool:
        """Whether records are without a counterpart at their places, and those behind them are at theirs."""
        if found[0] < len(ours.offsets) and found[1] < len(theirs.offsets):
            place = target_of(self._map, ours.offsets[found[0]]).other
            if place != theirs.offsets[found[1]]:
                return False
        wanted = [target_of(self._map, offset).other for offset in ours.offsets[: found[0]]]
        return wanted != theirs.offsets[: found[1]]

    def _taken(self, source: Cursor, target: Cursor, found: tuple[int, int]) -> tuple[Window, Window]:
        """Go past records that are judged by themselves."""
        before = [*source.take(found[0])], [*target.take(found[1])]
        self._compared.different(*before)
        self.stand.shift = None
        return Window(before[0], True), Window(before[1], True)

    def _surplus(self, target: Cursor, count: int) -> None:
        """Judge records of the target for which the map has no place any more."""
        theirs = [*target.take(count)]
        self._compared.different([], theirs)
        self.stand.shift = None
        self._judge.tell(Window([], True), Window(theirs, True), (self._compared.strays.at,) * 2, by_place=False)

    def _by_place(self, source: Cursor, target: Cursor, here: Place | None) -> None:
        """Judge the next record of either side by its place: its counterpart does not lie there."""
        there = None if target.offset is None else source_of(self._map, target.offset)
        is_ahead = target.offset is None or target.offset >= self._target_end
        if there is not None and there.other is None and not (is_ahead and here is not None):
            self._judge.foreign(target, there.end)
            self.stand.shift = None
        elif here is None or (target.offset is not None and target.offset < (here.other or 0)):
            if self.stand.is_lost:
                room = target.count if here is None else (here.other or 0) - (target.offset or 0)
                self._surplus(target, min(target.count, room))
            else:
                self._missing_at_source(source, target, there)
        else:
            self._missing(source, target, here)

    def _missing(self, source: Cursor, target: Cursor, here: Place) -> None:
        count, there = self._fitting(source, here.end), here.other or 0
        if target.offset is not None:
            count = min(count, target.offset - there)
        self._lose(source, count, there)

    def _lose(self, source: Cursor, count: int, there: int | None) -> None:
        self._judge.lose(source, count, there)
        self.stand.shift = None

    def _missing_at_source(self, source: Cursor, target: Cursor, there: Place | None) -> None:
        at, count = (there.other or 0) if there is not None else 0, target.count
        if there is not None and there.end is not None:
            count = min(count, there.end - (target.offset or 0))
        if source.offset is not None:
            count = min(count, max(1, source.offset - at))
        self._judge.missing_at_source(target, count, at)
        self.stand.shift = None


def _at(cursor: Cursor, offset: int) -> Columns | None:
    """One record further on, if it is near enough to be looked at."""
    ahead = offset - (cursor.offset or 0)
    if 0 <= ahead < cursor.count:
        return cursor.peek(ahead + 1).slice(ahead, ahead + 1)
    if not 0 <= ahead < WINDOWS[0]:
        return None
    for columns in cursor.window(ahead + 1, WINDOW_BYTES)[0]:
        if columns.start <= offset < columns.end:
            return columns.slice(offset - columns.start, offset - columns.start + 1)
    return None
