"""Records on the target alone, in a mirror without a map: what they are told by the source.

* *Aborted at the source*: a ``read_uncommitted`` mirror copies what no ``read_committed`` reader sees. It lies at the
  source between the neighbours of the copy.
* *Duplicate*: the same record stands before that place. A mirror that was restarted copies again what came right
  before, so it is looked for there first, then further and further back, as long as ``BUDGET`` lasts.
* *Duplicate* as well: it stands behind that place, and on the target at its own.
* *Reordered*: it stands outside the range that is compared, so nobody has looked whether it is at its own place too.
* *Foreign*: none of these.

What is missed elsewhere and says the same has moved, whatever it is named here: see ``strays.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from airflow_provider_mm2.mirror.model import Columns, Row
from airflow_provider_mm2.mirror.verify.apart import NOT_AT_SOURCE, Compared, Window
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
NOT_NEAR = "it is not at the source anywhere near its place"
OUTSIDE = "its place is outside the range that was compared"


class Strangers:
    """Names records that are on the target alone.

    :param compared_range: source offsets that are compared.
    :param mirrored: those that the target may have records of.
    """

    def __init__(
        self, compared: Compared, read: ReadSource, compared_range: tuple[int, int], mirrored: tuple[int, int]
    ) -> None:
        self._compared = compared
        self._read = read
        self._range = compared_range
        self._mirrored = mirrored
        self._budget = BUDGET

    def judge(
        self, there: Window, places: Sequence[int], span: tuple[int, int | None], otherwise: Kind = Kind.FOREIGN
    ) -> None:
        """Name the records at these places of a window.

        :param span: source offsets between the neighbours of the window; with end None up to the log's end.
        :param otherwise: what they are where nothing is known of them.
        """
        rows = [there.rows[place] for place in places]
        aborted = self._find(rows, span[0], span[1], aborted=True) if span[1] is None or span[0] < span[1] else {}
        left = [row for row in rows if row not in aborted]
        known, is_all = self._look_around(left, span[1])
        before = None
        for place, row in zip(places, rows, strict=True):
            follows = before is not None and before + 1 == place
            before = place
            if row in aborted:
                kind, source, detail = Kind.ABORTED, aborted.get(row), ABORTED
            elif row in known:
                source = known[row]
                is_inside = self._range[0] <= source < self._range[1]
                kind, detail = (Kind.DUPLICATE, AGAIN) if is_inside else (Kind.REORDERED, OUTSIDE)
            else:
                kind, source, detail = otherwise, None, FOREIGN if is_all else NOT_NEAR
            self._tell(there, place, kind, source, detail, follows=follows)

    def _tell(self, there: Window, place: int, kind: Kind, source: int | None, detail: str, *, follows: bool) -> None:
        offset = there.offsets[place]
        if kind is Kind.ABORTED:
            here = None if source is None else (source, source + 1)
            self._compared.strays.add(kind, source=here, target=offset, detail=detail)
        elif kind is Kind.FOREIGN and self._compared.absences.is_compacted(Side.SOURCE):
            one = there.one(place)
            self._compared.absences.missing(Side.SOURCE, one, None, Kind.MISSING_AT_SOURCE, NOT_AT_SOURCE)
        else:
            self._compared.strays.meet(there.rows[place], offset, kind, source, detail, follows=follows)

    def _look_around(self, rows: Sequence[Row], end: int | None) -> tuple[dict[Row, int], bool]:
        """Where on the source rows stand, before a place or behind it, and whether it was looked for everywhere."""
        first, last = self._mirrored
        if not rows:
            return {}, True
        if end is None:
            return self._find(rows, first, None, aborted=False), True
        found: dict[Row, int] = {}
        low = high = min(max(end, first), last)
        for further in FURTHER:
            if further > 1 and self._budget <= 0:
                break
            reach = further * (NEAR + 2 * len(rows))
            begin, until = max(first, end - reach), min(last, end + reach)
            for start, stop in ((begin, low), (high, until)):
                left = [row for row in rows if row not in found]
                if left and start < stop:
                    self._budget -= stop - start
                    found.update(self._find(left, start, stop, aborted=False))
            low, high = begin, until
            if len(found) == len(set(rows)) or (low == first and high == last):
                break
        return found, low == first and high == last

    def _find(self, rows: Sequence[Row], start: int, end: int | None, *, aborted: bool) -> dict[Row, int]:
        """The offset of each of these rows in a range of the source, as far as they are there."""
        wanted, found = set(rows), dict[Row, int]()
        for columns in self._read(start, end, aborted):
            if wanted:
                for place, row in enumerate(columns.rows()):
                    if row in wanted:
                        found.setdefault(row, columns.start + place)
        return found
