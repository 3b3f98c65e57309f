"""What records are told to be that do not lie as the offset map says."""

from __future__ import annotations

from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.verify.apart import NOT_AT_SOURCE, Compared, Window, lose_in_order, tell
from airflow_provider_mm2.mirror.verify.cursor import Cursor
from airflow_provider_mm2.mirror.verify.findings import Kind, Side
from airflow_provider_mm2.mirror.verify.map_places import OnRecord, covered
from airflow_provider_mm2.mirror.verify.strangers import Strangers
from airflow_provider_mm2.mirror.verify.strays import NOT_THERE

NOT_MIRRORED = "no segment of the offset map covers it"
STRANGER = "no segment of the offset map covers it: nobody knows where it comes from"


class MapJudge:
    """Takes such records from the cursors and tells what they are.

    :param unknown_kind: what a record of the target is that nobody knows.
    :param end: the source offset at which the comparison ends.
    """

    def __init__(
        self,
        compared: Compared,
        strangers: Strangers,
        offset_map: OffsetMap,
        on_record: OnRecord,
        unknown_kind: Kind,
        end: int,
    ) -> None:
        self._compared = compared
        self._strangers = strangers
        self._map = offset_map
        self._on_record = on_record
        self._unknown_kind = unknown_kind
        self._end = end

    def tell(self, ours: Window, theirs: Window, span: tuple[int, int | None], *, by_place: bool) -> None:
        """Name records of both sides that differ.

        :param span: source offsets between the records that are alike before and behind them.
        """
        after = self._end if span[1] is None else span[1]

        def unknown(window: Window, places: list[int]) -> None:
            left = [place for place in places if not self._count_on_record(window.offsets[place])]
            if left:
                self._strangers.judge(window, left, (span[0], after), self._unknown_kind)

        def lose(window: Window, places: list[int]) -> None:
            absences = self._compared.absences
            tops = [self._map.to_target(window.offsets[place]) for place in places]
            left = [place for place, top in zip(places, tops, strict=True) if not absences.expired(Side.TARGET, top, 1)]
            lose_in_order(self._compared, window, left)

        tell(self._compared, ours, theirs, by_place=by_place, unknown=unknown, lose=lose)

    def _count_on_record(self, offset: int) -> bool:
        kind, _ = covered(self._on_record.target, offset)
        if kind is not None:
            self._compared.tally.on_record[kind] += 1
        return kind is not None

    def not_mirrored(self, source: Cursor, count: int) -> None:
        """Take records of the source that no segment covers, ``count`` of them at most."""
        kind, until = covered(self._on_record.source, source.offset or 0)
        count = count if until is None else min(count, until - (source.offset or 0))
        columns = source.peek(count)
        source.skip(count)
        self._compared.source_alone(columns)
        if kind is not None:
            self._compared.tally.on_record[kind] += count
        else:
            absences = self._compared.absences
            absences.missing(Side.TARGET, columns, None, Kind.NOT_MIRRORED, NOT_MIRRORED)

    def foreign(self, target: Cursor, end: int | None) -> None:
        """Take records of the target that no segment covers."""
        at = target.offset or 0
        kind, until = covered(self._on_record.target, at)
        ends = [each - at for each in (end, until) if each is not None]
        count = max(1, min([target.count, *ends]))
        columns = target.peek(count)
        target.skip(count)
        self._compared.target_alone(columns)
        if kind is not None:
            self._compared.tally.on_record[kind] += count
            return
        for place, row in enumerate(columns.rows()):
            self._compared.strays.meet(row, at + place, self._unknown_kind, None, STRANGER)

    def lose(self, source: Cursor, count: int, there: int | None) -> None:
        """Take records of the source that are not on the target; ``there``: where the first should be."""
        gone = self._compared.absences.expired(Side.TARGET, there, count)
        columns = source.peek(count).slice(gone, count)
        source.skip(count)
        if gone == count:
            return
        self._compared.source_alone(columns)
        if self._compared.absences.is_compacted(Side.TARGET):
            at = None if there is None else there + gone
            self._compared.absences.missing(Side.TARGET, columns, at, Kind.MISSING, NOT_THERE)
            return
        for place, row in enumerate(columns.rows()):
            at = None if there is None else there + gone + place
            self._compared.strays.lose(row, columns.start + place, at)

    def missing_at_source(self, target: Cursor, count: int, at: int) -> None:
        """Take copies whose records the source has lost; ``at``: where the first should be."""
        gone = self._compared.absences.expired(Side.SOURCE, at, count)
        columns = target.peek(count).slice(gone, count)
        target.skip(count)
        if gone < count:
            self._compared.target_alone(columns)
            self._compared.absences.missing(Side.SOURCE, columns, at + gone, Kind.MISSING_AT_SOURCE, NOT_AT_SOURCE)
