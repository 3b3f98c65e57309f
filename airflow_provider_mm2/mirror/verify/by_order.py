"""Comparing by order alone, for a mirror of which no map says what lies where: another tool's.

Such a mirror keeps the order of each partition, so the n-th record of one side is the n-th of the other, until they
differ. Then the nearest place is looked for from which both are alike again; what lies between is told apart. Where
none is found the partition is *unlike*: what follows is counted and not compared, since every further line would be a
guess.
"""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_mm2.mirror.model import Columns
from airflow_provider_mm2.mirror.verify.apart import WINDOWS, Compared, Window, find_end, tell
from airflow_provider_mm2.mirror.verify.cursor import Cursor
from airflow_provider_mm2.mirror.verify.findings import Kind, Side, first_difference
from airflow_provider_mm2.mirror.verify.resync import RUN
from airflow_provider_mm2.mirror.verify.strangers import Strangers

BEHIND = "the target ends here: it was lost, or is not mirrored yet"
UNLIKE = f"nothing alike was found within {WINDOWS[-1]:,} records of either side; what follows was not compared"

BEHIND_ALL = 2**63
"""What lies behind the source's end is told last."""

OffsetAt = Callable[[Side, int], int | None]
"""The offset on a side of the first record stamped at or after a time."""


class OrderWalk:
    """Goes along both sides of one partition.

    :param matched: the source offset behind the last record that was the same, or the first one.
    :param offset_at: where a head that retention took on the other side ends, about.
    :param due: source offset from which on records may not be copied yet; None: all are due. ``pending`` counts those.
    """

    def __init__(
        self,
        compared: Compared,
        strangers: Strangers,
        matched: int,
        offset_at: OffsetAt,
        due: int | None = None,
    ) -> None:
        self._compared = compared
        self._strangers = strangers
        self.matched = matched
        self._offset_at = offset_at
        self._due = due
        self.pending = 0
        self._is_begun = compared.tally.records > 0
        self._is_over = False

    def run(self, source: Cursor, target: Cursor) -> None:
        """Compare until both sides are at their ends."""
        is_emptied = not self._is_begun and not target.count and self._compared.starts[Side.TARGET] > 0
        while source.count and target.count and not self._is_over:
            if self._compared.digests.is_at_block_end:
                self._compared.checkpoint(source.offset, target.offset)
            self._pairs(source, target)
        if not self._is_over:
            if is_emptied:
                self._all_expired(source)
            self._tail_missing(source)
            self._beyond(target)
        for cursor, count in ((source, self._compared.source_alone), (target, self._compared.target_alone)):
            while cursor.count:
                for columns in cursor.take(cursor.count):
                    count(columns)

    def _pairs(self, source: Cursor, target: Cursor) -> None:
        count = min(source.count, target.count, self._compared.digests.room)
        ours, theirs = source.peek(count), target.peek(count)
        equal = count if ours.says_the_same(theirs) else first_difference(ours, theirs)
        if equal:
            self._compared.same(ours.slice(0, equal), theirs.slice(0, equal))
            self.matched, self._is_begun = ours.start + equal, True
            source.skip(equal)
            target.skip(equal)
        if equal < count:
            self._resolve(source, target)

    def _resolve(self, source: Cursor, target: Cursor) -> None:
        """Get over a place at which both sides differ."""
        absences = self._compared.absences
        run = 1 if any(map(absences.is_compacted, Side)) else RUN
        ours, theirs, found = find_end(source, target, run)
        if found is None and not self._is_begun and self._skip_head(source, target):
            return
        if found is None and not ours.whole and not theirs.whole:
            at, there = source.offset, target.offset
            self._compared.strays.add(Kind.UNLIKE, source=at, target=there, detail=UNLIKE)
            self._is_over = True
            return
        here, beyond = found or (min(len(ours.rows), len(theirs.rows)),) * 2
        if not self._is_begun and not (here and beyond):
            here, beyond = self._drop_head(source, target, here, beyond)
        before = [*source.take(here)], [*target.take(beyond)]
        self._compared.strays.at = self.matched + here if source.offset is None else source.offset
        self._compared.different(*before)
        self._judge(Window(before[0], True), Window(before[1], True), source.offset)

    def _judge(self, ours: Window, theirs: Window, after: int | None) -> None:
        """Tell apart what lies between the last record that was the same and the source offset ``after``."""
        span = self.matched, after

        def unknown(there: Window, places: list[int]) -> None:
            self._strangers.judge(there, places, span)

        tell(self._compared, ours, theirs, by_place=False, unknown=unknown)

    def _drop_head(self, source: Cursor, target: Cursor, here: int, beyond: int) -> tuple[int, int]:
        """Count the records of one side's head that retention took from the other; gives what is left to judge."""
        starts, tally = self._compared.starts, self._compared.tally
        for side, cursor, count in ((Side.TARGET, source, here), (Side.SOURCE, target, beyond)):
            if count and starts[side] > 0:
                tally.expired[side] += sum(map(len, cursor.take(count)))
                return 0, 0
        return here, beyond

    def _skip_head(self, source: Cursor, target: Cursor) -> bool:
        """Go past a long head that retention took from the other side, found by time; whether there was one."""
        starts, tally = self._compared.starts, self._compared.tally
        for side, first, other, cursor in (
            (Side.TARGET, target, Side.SOURCE, source),
            (Side.SOURCE, source, Side.TARGET, target),
        ):
            at = self._offset_at(other, first.peek(1).timestamps[0]) if starts[side] > 0 else None
            goal = -1 if at is None else at - WINDOWS[0]
            if cursor.offset is None or goal <= cursor.offset:
                continue
            while cursor.offset is not None and cursor.offset < goal:
                count = min(cursor.count, goal - cursor.offset)
                cursor.skip(count)
                tally.expired[side] += count
            return True
        return False

    def _all_expired(self, source: Cursor) -> None:
        """Retention has left nothing on the target: of what the source still has nobody can say that it never came."""
        while source.count:
            for columns in map(self._that_are_due, source.take(source.count)):
                self._compared.source_alone(columns)
                self._compared.tally.expired[Side.TARGET] += len(columns)

    def _tail_missing(self, source: Cursor) -> None:
        """Count what the source has and the target has not at its end."""
        strays, first, end, records = self._compared.strays, source.offset, source.offset or 0, 0
        may_be_elsewhere = strays.has_extra
        while source.count:
            for columns in map(self._that_are_due, source.take(source.count)):
                self._compared.source_alone(columns)
                for place, row in enumerate(columns.rows() if may_be_elsewhere else ()):
                    follows, offset = records + place > 0, columns.start + place
                    strays.lose(row, offset, kind=Kind.TAIL_MISSING, detail=BEHIND, follows=follows)
                end, records = columns.end, records + len(columns)
        if first is not None and records and not may_be_elsewhere:
            strays.add(Kind.TAIL_MISSING, source=(first, end), records=records, detail=BEHIND)

    def _that_are_due(self, columns: Columns) -> Columns:
        """Those of some records that have to be on the target; the others are counted."""
        count = len(columns) if self._due is None else min(len(columns), max(0, self._due - columns.start))
        self.pending += len(columns) - count
        return columns.slice(0, count)

    def _beyond(self, target: Cursor) -> None:
        """Judge what the target has behind the source's end, window by window."""
        while target.count:
            columns, _ = target.window(WINDOWS[1], 1 << 26)
            window = Window([*target.take(sum(map(len, columns)))], True)
            self._compared.strays.at = BEHIND_ALL
            self._compared.different([], window.columns)
            self._strangers.judge(window, list(range(len(window.rows))), (self.matched, None))
