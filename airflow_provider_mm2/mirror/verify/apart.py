"""What both walks share: counting, digests, and getting over a place at which the two sides differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from airflow_provider_mm2.mirror.model import Columns, Row
from airflow_provider_mm2.mirror.verify.absent import Absences
from airflow_provider_mm2.mirror.verify.cursor import Cursor
from airflow_provider_mm2.mirror.verify.digest import Digests
from airflow_provider_mm2.mirror.verify.findings import Findings, Kind, Side, Tally, changed_detail
from airflow_provider_mm2.mirror.verify.resync import RUN, Difference, Stretch, find_alike, tell_apart

WINDOWS = (1_000, 10_000, 100_000)
"""Records of each side that are looked at for a place from which both are alike again."""

WINDOW_BYTES = 64 * 1024 * 1024

NOT_THERE = "it is not on the target"
NOT_AT_SOURCE = "it is not at the source"
ELSEWHERE = "it lies at another place among the records beside it"


@dataclass(slots=True, kw_only=True)
class Compared:
    """One partition, as far as it was compared.

    :param checkpoint: called where a comparison can be gone on with, with the offsets that come next.
    """

    tally: Tally
    findings: Findings
    digests: Digests
    absences: Absences
    starts: Mapping[Side, int]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Offsets that a look ahead must not pass, None for no such."""

    source: int | None = None
    target: int | None = None


def find_end(
    source: Cursor, target: Cursor, ends: Ends, run: int = RUN
) -> tuple[Window, Window, tuple[int, int] | None]:
    """Look further and further ahead for the place from which both sides are alike again."""
    for records in WINDOWS:
        here = _cut(*source.window(records, WINDOW_BYTES), ends.source)
        there = _cut(*target.window(records, WINDOW_BYTES), ends.target)
        found = find_alike(here.stretch(), there.stretch(), run)
        if found is not None or (here.whole and there.whole):
            break
    return here, there, found


def _cut(columns: list[Columns], whole: bool, end: int | None) -> Window:
    if end is None or not columns or columns[-1].end < end:
        return Window(columns, whole)
    inside = [each.slice(0, max(0, end - each.start)) for each in columns if each.start < end]
    return Window(inside, True)


Unknown = Callable[[Window, list[int]], None]
"""Judges records that are on the target alone, given by their places."""


def tell(compared: Compared, here: Window, there: Window, *, by_place: bool, unknown: Unknown) -> None:
    """Name what became of the records of two windows."""
    lost: list[int] = []
    extra: list[int] = []
    for found in tell_apart(here.rows, there.rows, by_place=by_place):
        if found.here is not None and found.there is not None:
            source, target = here.offsets[found.here], there.offsets[found.there]
            is_changed = found.difference is Difference.CHANGED
            detail = changed_detail(here.rows[found.here], there.rows[found.there]) if is_changed else ELSEWHERE
            kind = Kind.CHANGED if is_changed else Kind.REORDERED
            compared.findings.add(kind, source=source, target=target, detail=detail)
        elif found.here is not None:
            lost.append(found.here)
        elif found.there is not None:
            extra.append(found.there)
    if lost:
        _lose(compared, here, lost)
    if extra:
        unknown(there, extra)


def _lose(compared: Compared, here: Window, places: Sequence[int]) -> None:
    """Name records that are not on the target, or wait for what explains them."""
    if compared.absences.is_compacted(Side.TARGET):
        for place in places:
            compared.absences.missing(Side.TARGET, here.one(place), None, Kind.MISSING, NOT_THERE)
        return
    for place, count in runs_of(places):
        span = here.offsets[place], here.offsets[place + count - 1] + 1
        compared.findings.add(Kind.MISSING, source=span, records=count, detail=NOT_THERE)


def runs_of(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Rising places as (place, count) of those that follow one another."""
    start = before = places[0]
    for place in places[1:]:
        if place != before + 1:
            yield start, before + 1 - start
            start = place
        before = place
    yield start, before + 1 - start
