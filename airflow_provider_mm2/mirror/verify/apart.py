"""What both walks share: counting, digests, and getting over a place at which the two sides differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from airflow_provider_mm2.mirror.model import Columns, Row
from airflow_provider_mm2.mirror.verify.absent import Absences
from airflow_provider_mm2.mirror.verify.cursor import Cursor
from airflow_provider_mm2.mirror.verify.digest import Digests
from airflow_provider_mm2.mirror.verify.findings import Findings, Kind, Side, Tally, changed_detail
from airflow_provider_mm2.mirror.verify.resync import RUN, Difference, Stretch, find_alike, tell_apart
from airflow_provider_mm2.mirror.verify.strays import ELSEWHERE, NOT_THERE, Strays

WINDOWS = (1_000, 10_000, 100_000)
"""Records of each side that are looked at for a place from which both are alike again."""

WINDOW_BYTES = 64 * 1024 * 1024

NOT_AT_SOURCE = "it is not at the source"


@dataclass(slots=True, kw_only=True)
class Compared:
    """One partition, as far as it was compared.

    :param target_seen: the target offset up to which records were paired.
    :param checkpoint: called where a comparison can be gone on with, with the offsets that come next.
    """

    tally: Tally
    findings: Findings
    strays: Strays
    digests: Digests
    absences: Absences
    starts: Mapping[Side, int]
    target_seen: int = 0
    checkpoint: Callable[[int | None, int | None], None] = lambda source, target: None

    def same(self, source: Columns, target: Columns) -> None:
        """Take records that are the same on both sides."""
        self.tally.records += len(source)
        self.tally.target_records += len(target)
        self.digests.add_both(source)
        self._seen(source, target)

    def different(self, source: Sequence[Columns], target: Sequence[Columns]) -> None:
        """Count records of both sides that are judged by themselves."""
        for columns in source:
            self.source_alone(columns)
        for columns in target:
            self.target_alone(columns)

    def source_alone(self, columns: Columns) -> None:
        """Count records of the source."""
        self.tally.records += len(columns)
        self.digests.add_source(columns)
        self.absences.seen(Side.SOURCE, columns)

    def target_alone(self, columns: Columns) -> None:
        """Count records of the target."""
        self.tally.target_records += len(columns)
        self.digests.add_target(columns)
        self.absences.seen(Side.TARGET, columns)

    def _seen(self, source: Columns, target: Columns) -> None:
        self.absences.seen(Side.SOURCE, source)
        self.absences.seen(Side.TARGET, target)


@dataclass(slots=True)
class Window:
    """The next records of one side, with the offset of each."""

    columns: Sequence[Columns]
    whole: bool
    rows: list[Row] = field(init=False)
    offsets: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Lay the records in a row."""
        self.rows = list(chain.from_iterable(each.rows() for each in self.columns))
        self.offsets = list(chain.from_iterable(range(each.start, each.end) for each in self.columns))

    @property
    def unbroken(self) -> int:
        """How many of the records lie side by side from the first one on."""
        count = 0
        for before, after in zip(self.columns, [*self.columns[1:], None], strict=True):
            count += len(before)
            if after is None or after.start != before.end:
                break
        return count

    @property
    def has_holes(self) -> bool:
        """Whether they do not all lie side by side."""
        return self.unbroken < len(self.rows)

    def stretch(self) -> Stretch:
        """As it is searched."""
        return Stretch(rows=self.rows, whole=self.whole)

    def one(self, place: int) -> Columns:
        """One record."""
        for columns in self.columns:
            if place < len(columns):
                return columns.slice(place, place + 1)
            place -= len(columns)
        raise IndexError(place)


Ends = Callable[[Sequence[Columns]], int | None]
"""The offset that a look ahead must not pass, given what lies there; None for no such."""


def no_end(columns: Sequence[Columns]) -> None:
    """A look ahead may go as far as there are records."""


def find_end(
    source: Cursor, target: Cursor, run: int = RUN, *, ends: tuple[Ends, Ends] = (no_end, no_end), near: bool = False
) -> tuple[Window, Window, tuple[int, int] | None]:
    """Look further and further ahead for the place from which both sides are alike again.

    :param ends: of source and target.
    :param near: look no further than the first window.
    """
    for records in WINDOWS[:1] if near else WINDOWS:
        here, there = (
            _cut(*cursor.window(records, WINDOW_BYTES), end) for cursor, end in zip((source, target), ends, strict=True)
        )
        found = find_alike(here.stretch(), there.stretch(), run)
        if found is not None or (here.whole and there.whole):
            break
    return here, there, found


def _cut(columns: list[Columns], whole: bool, ends: Ends) -> Window:
    end = ends(columns)
    if end is None or not columns or columns[-1].end < end:
        return Window(columns, whole)
    inside = [each.slice(0, max(0, end - each.start)) for each in columns if each.start < end]
    return Window(inside, True)


Judge = Callable[[Window, list[int]], None]
"""Judges records of a window that are on its side alone, given by their places."""


def tell(
    compared: Compared, here: Window, there: Window, *, by_place: bool, unknown: Judge, lose: Judge | None = None
) -> None:
    """Name what became of the records of two windows.

    :param unknown: for those that are on the target alone, ``lose`` for those that are on the source alone.
    """
    lost: list[int] = []
    extra: list[int] = []
    for found in tell_apart(here.rows, there.rows, by_place=by_place):
        if found.here is not None and found.there is not None:
            source, target = here.offsets[found.here], there.offsets[found.there]
            ours, theirs = here.rows[found.here], there.rows[found.there]
            if found.difference is Difference.CHANGED:
                _change(compared, ours, theirs, source, target)
            else:
                compared.strays.add(Kind.REORDERED, source=source, target=target, detail=ELSEWHERE)
        elif found.here is not None:
            lost.append(found.here)
        elif found.there is not None:
            extra.append(found.there)
    if lost:
        (lose or partial(lose_in_order, compared))(here, lost)
    if extra:
        unknown(there, extra)


def _change(compared: Compared, ours: Row, theirs: Row, source: int, target: int) -> None:
    """Take a changed copy; where the cleaner takes records too, no other one is held against it."""
    detail = changed_detail(ours, theirs)
    if any(map(compared.absences.is_compacted, Side)):
        compared.strays.add(Kind.CHANGED, source=source, target=target, detail=detail)
    else:
        compared.strays.change(ours, theirs, source, target, detail)


def lose_in_order(compared: Compared, here: Window, places: Sequence[int]) -> None:
    """Take records that are not on the target among those beside them, or wait for what explains them."""
    before = None
    for place in places:
        if compared.absences.is_compacted(Side.TARGET):
            compared.absences.missing(Side.TARGET, here.one(place), None, Kind.MISSING, NOT_THERE)
        else:
            follows = before is not None and before + 1 == place
            compared.strays.lose(here.rows[place], here.offsets[place], follows=follows)
        before = place
