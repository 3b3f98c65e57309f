"""Records that are on one side alone, kept until both sides were read: one may turn up at another place. Pure.

Each is remembered by a digest of all that it says. What is missing here and strange there and says the same has moved,
whichever of both came first; the rest is told as it was named when it was met.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from airflow_provider_mm2.mirror.model import Row
from airflow_provider_mm2.mirror.verify.findings import Findings, Kind, Span

KEPT = 100_000
"""Records that are remembered; once there are more, those are told, and what comes later is not held against them."""

NOT_THERE = "it is not on the target"
ELSEWHERE = "it lies at another place among the records beside it"
IN_PLACE_OF = "it lies at the place of a record that lies elsewhere"


def row_digest(row: Row) -> str:
    """What a record is remembered by."""
    return blake2b(repr(row).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Stray:
    """Something to be told.

    :param at: where the comparison stood on the source: what is told is told in this order.
    :param lost: digest of a record of the source that may turn up on the target; None: it may not.
    :param extra: digest of a record of the target that may be one that is missed; None: it may not.
    :param follows: whether it comes right behind the one before it, whatever lies between their offsets.
    """

    at: int
    kind: Kind
    source: Span | None
    target: Span | None
    records: int
    detail: str
    lost: str | None = None
    extra: str | None = None
    follows: bool = False

    def to_json(self) -> list[Any]:
        """Plain values."""
        spans = [None if each is None else list(each) for each in (self.source, self.target)]
        return [self.at, self.kind.value, *spans, self.records, self.detail, self.lost, self.extra, self.follows]

    @classmethod
    def from_json(cls, row: Sequence[Any]) -> Stray:
        """What ``to_json`` gave."""
        at, kind, source, target, *rest = row
        here, there = (None if each is None else (each[0], each[1]) for each in (source, target))
        return cls(at, Kind(kind), here, there, *rest)


class Strays:
    """What is to be told of one partition, in the order of its source.

    ``at`` is where the comparison stands.
    """

    def __init__(self, findings: Findings, kept: Sequence[Stray] = ()) -> None:
        self._findings = findings
        self._kept = list(kept)
        self.at = 0

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    @property
    def has_extra(self) -> bool:
        """Whether the target has records that may be missed elsewhere."""
        return any(each.extra is not None for each in self._kept)

    def add(
        self,
        kind: Kind,
        *,
        source: int | Span | None = None,
        target: int | Span | None = None,
        records: int = 1,
        detail: str,
    ) -> None:
        """Take what is certain; see :meth:`Findings.add`."""
        here, there = ((at, at + records) if isinstance(at, int) else at for at in (source, target))
        self._keep(Stray(self.at if here is None else here[0], kind, here, there, records, detail))

    def lose(
        self,
        row: Row,
        source: int,
        target: int | None = None,
        *,
        kind: Kind = Kind.MISSING,
        detail: str = NOT_THERE,
        follows: bool = False,
    ) -> None:
        """Take a record of the source that is not at its place.

        :param target: where it should be; None: nobody knows.
        :param kind: what it is where it does not turn up.
        """
        here, there = (source, source + 1), None if target is None else (target, target + 1)
        self._keep(Stray(source, kind, here, there, 1, detail, lost=row_digest(row), follows=follows))

    def meet(
        self, row: Row, target: int, kind: Kind, source: int | None, detail: str, *, follows: bool = False
    ) -> None:
        """Take a record of the target that is not where it belongs.

        :param kind: what it is where no record is missed that says the same.
        """
        here, there = None if source is None else (source, source + 1), (target, target + 1)
        self._keep(Stray(self.at, kind, here, there, 1, detail, extra=row_digest(row), follows=follows))

    def change(self, ours: Row, theirs: Row, source: int, target: int, detail: str) -> None:
        """Take a record and what lies at its place."""
        here, there = (source, source + 1), (target, target + 1)
        digests = row_digest(ours), row_digest(theirs)
        self._keep(Stray(source, Kind.CHANGED, here, there, 1, detail, *digests))

    def _keep(self, stray: Stray) -> None:
        self._kept.append(stray)
        if len(self._kept) > KEPT:
            self.settle()

    def settle(self) -> None:
        """Tell all that is kept."""
        told = sorted(_resolved(self._kept), key=lambda each: each.at)
        self._kept = []
        for each in _joined(told):
            spans = {"source": each.source, "target": each.target}
            self._findings.add(each.kind, **spans, records=each.records, detail=each.detail)

    def to_json(self) -> list[list[Any]]:
        """What is not told yet."""
        return [each.to_json() for each in self._kept]


def _resolved(kept: Sequence[Stray]) -> list[Stray]:
    """Each with what it is: moved where both sides have it."""
    missed: dict[str, deque[int]] = {}
    for number, each in enumerate(kept):
        if each.lost is not None:
            missed.setdefault(each.lost, deque()).append(number)
    moved: list[Stray] = []
    found: set[int] = set()
    placed: set[int] = set()
    for number, each in enumerate(kept):
        numbers = None if each.extra is None else missed.get(each.extra)
        if numbers:
            other = numbers.popleft()
            found.add(other)
            placed.add(number)
            source = kept[other].source
            follows = each.follows and kept[other].follows
            at = kept[other].at
            moved.append(Stray(at, Kind.REORDERED, source, each.target, 1, ELSEWHERE, follows=follows))
    left = (_left(each, number in found, number in placed) for number, each in enumerate(kept))
    return [each for each in left if each is not None] + moved


def _left(stray: Stray, is_found: bool, is_placed: bool) -> Stray | None:
    """What is left to tell of one, once its record was found elsewhere, or what lay at its place belongs elsewhere."""
    if not is_found and not is_placed:
        return stray
    if stray.kind is not Kind.CHANGED or (is_found and is_placed):
        return None
    if is_placed:
        return replace(stray, kind=Kind.MISSING, target=None, detail=NOT_THERE)
    return replace(stray, kind=Kind.FOREIGN, source=None, detail=IN_PLACE_OF)


def _joined(told: Sequence[Stray]) -> list[Stray]:
    """Those that come side by side and are one thing as one."""
    joined: list[Stray] = []
    for each in told:
        before = joined[-1] if joined else None
        if before is not None and _is_one(before, each):
            spans = (_both(before.source, each.source), _both(before.target, each.target))
            joined[-1] = replace(before, source=spans[0], target=spans[1], records=before.records + each.records)
        else:
            joined.append(each)
    return joined


def _is_one(before: Stray, after: Stray) -> bool:
    if (before.kind, before.detail) != (after.kind, after.detail):
        return False
    return _is_behind(before.source, after.source, after) and _is_behind(before.target, after.target, after)


def _is_behind(before: Span | None, after: Span | None, stray: Stray) -> bool:
    if before is None or after is None:
        return before is after
    return before[1] == after[0] or (stray.follows and before[1] < after[0])


def _both(before: Span | None, after: Span | None) -> Span | None:
    return None if before is None or after is None else (before[0], after[1])
