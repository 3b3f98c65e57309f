"""Records on the target alone, in a mirror without a map: what they are told by the source.

* *Aborted at the source*: a ``read_uncommitted`` mirror copies what no ``read_committed`` reader sees. It lies at the
  source between the neighbours of the copy.
* *Duplicate*: the same record stands before that place. A mirror that was restarted copies again what came right
  before, so it is looked for there first, then further and further back, as long as ``BUDGET`` lasts.
* *Foreign*: neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from airflow_provider_mm2.mirror.model import Columns, Row
from airflow_provider_mm2.mirror.verify.apart import ELSEWHERE, NOT_AT_SOURCE, Compared, Window, runs_of
from airflow_provider_mm2.mirror.verify.findings import Kind, Side

ReadSource = Callable[[int, int | None, bool], Iterator[Columns]]
"""Reads the source in a range, to its log's end where the end is None; True: with what was aborted."""

FURTHER = (1, 10, 100)
NEAR = 1_000
BUDGET = 20_000_000
"""Offsets of one partition that are gone back over in all."""

ABORTED = "it was aborted at the source, or is still open there: the mirror reads read_uncommitted"
AGAIN = "it is on the target once more"
FOREIGN = "it is not at the source"


class Strangers:
    """Names records that are on the target alone.

    :param start: the source offset at which the comparison began.
    """

    def __init__(self, compared: Compared, read: ReadSource, start: int) -> None:
        self._compared = compared
        self._read = read
        self._start = start
        self._budget = BUDGET

    def judge(self, there: Window, places: Sequence[int], span: tuple[int, int | None]) -> None:
        """Name the records at these places of a window.

        :param span: source offsets between the neighbours of the window; with end None up to the log's end.
        """
        rows = [there.rows[place] for place in places]
        aborted = self._find(rows, span[0], span[1], aborted=True) if span[1] is None or span[0] < span[1] else {}
        left = [row for row in rows if row not in aborted]
        before = self._look_back(left, span[1])
        named: dict[int, tuple[Kind, int | None]] = {}
        for place, row in zip(places, rows, strict=True):
            if row in aborted:
                named[place] = Kind.ABORTED, aborted[row]
            elif row in before:
                named[place] = Kind.DUPLICATE, before[row]
            else:
                named[place] = Kind.FOREIGN, None
        for kind in (Kind.ABORTED, Kind.DUPLICATE, Kind.FOREIGN):
            of_kind = [place for place in places if named[place][0] is kind]
            for place, count in runs_of(of_kind) if of_kind else ():
                self._tell(kind, there, place, count, [named[each][1] for each in range(place, place + count)])

    def _tell(self, kind: Kind, there: Window, place: int, count: int, here: Sequence[int | None]) -> None:
        target = there.offsets[place], there.offsets[place + count - 1] + 1
        known = [offset for offset in here if offset is not None]
        source = (min(known), max(known) + 1) if known else None
        if kind is Kind.DUPLICATE and source and self._compared.findings.move(source, target, count, ELSEWHERE):
            return
        if kind is not Kind.FOREIGN:
            detail = ABORTED if kind is Kind.ABORTED else AGAIN
            self._compared.findings.add(kind, source=source, target=target, records=count, detail=detail)
        elif self._compared.absences.is_compacted(Side.SOURCE):
            for each in range(place, place + count):
                one = there.one(each)
                self._compared.absences.missing(Side.SOURCE, one, None, Kind.MISSING_AT_SOURCE, NOT_AT_SOURCE)
        else:
            self._compared.findings.add(kind, target=target, records=count, detail=FOREIGN)

    def _look_back(self, rows: Sequence[Row], end: int | None) -> dict[Row, int]:
        """Where on the source, before a place, rows stand, as far back as the budget goes."""
        found: dict[Row, int] = {}
        if end is None:
            found = self._find(rows, self._start, None, aborted=False) if rows else {}
            return found
        for further in FURTHER:
            left = [row for row in rows if row not in found]
            begin = max(self._start, end - further * (NEAR + 2 * len(rows)))
            if not left or (further > 1 and self._budget <= 0):
                break
            self._budget -= end - begin
            found.update(self._find(left, begin, end, aborted=False))
            if begin == self._start:
                break
        return found

    def _find(self, rows: Sequence[Row], start: int, end: int | None, *, aborted: bool) -> dict[Row, int]:
        """The offset of each of these rows in a range of the source, as far as they are there."""
        wanted, found = set(rows), dict[Row, int]()
        for columns in self._read(start, end, aborted):
            if wanted:
                for place, row in enumerate(columns.rows()):
                    if row in wanted:
                        found.setdefault(row, columns.start + place)
        return found
