"""Where a copy that somebody else made ends on the source, told by the records themselves. Pure.

A mirror copies in order, so when the copy of one record is on the target, all before it were copied, too, or are gone.
The answer is therefore behind the *furthest* record of the source that is found among the last ones of the target. What
must not mislead:

* **Copies made again** (a mirror that was restarted): the last record is then not the furthest. All of the tail counts.
* **Copies of what a reader does not see**, or has lost since (aborted records, compaction): they are on the target
  alone, and are passed over and counted.
* **Records that are alike** (same key, value, headers and timestamp): one that occurs twice on the source tells no
  place by itself; the record beside it on both sides does.
* **Records whose older twin is gone** from the source (retention, compaction): the one that is left looks like the only
  one. But a copy in order has the record before it on the source right before it on the target, too. Where that is not
  so nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from airflow_provider_mm2.mirror.offsets.refine import Seen

PLACES_LIMIT = 100_000
"""More places of records that are alike than this are not kept: they tell nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyEnd:
    """The next source offset that is not copied; ``found`` of the tail's records are on the source, ``unknown`` not."""

    next_offset: int
    found: int
    unknown: int


class NoCopyEnd(Enum):
    """Why the end of the copy cannot be told."""

    NOT_FOUND = "none of the last records on the target is on the source"
    ALIKE = "the last records on the target are like others on the source and cannot be told apart"
    UNSURE = (
        "the furthest of the last records on the target lies on the source behind records that are not before it on "
        "the target: it may be the copy of an older one like it that is gone"
    )


def find_copy_end(tail: Sequence[Seen], source: Iterable[Seen]) -> CopyEnd | NoCopyEnd:
    """Where the copy ends.

    :param tail: the last records on the target, in order; not empty.
    :param source: the source's records in order, from one on that no record of the tail lies before.
    """
    wanted = {seen.fingerprint for seen in tail}
    places: dict[bytes, list[tuple[int, int]]] = {}
    kept = 0
    for at, seen in enumerate(source):
        if seen.fingerprint in wanted and kept < PLACES_LIMIT:
            kept += 1
            places.setdefault(seen.fingerprint, []).append((at, seen.offset))
    if kept >= PLACES_LIMIT:
        return NoCopyEnd.ALIKE
    known = [seen for seen in tail if seen.fingerprint in places]
    if not known:
        return NoCopyEnd.NOT_FOUND
    numbers = _numbers([seen.fingerprint for seen in known], places)
    furthest = max((number for number in numbers if number is not None), default=None)
    if furthest is None:
        return NoCopyEnd.ALIKE
    for seen, number in zip(known, numbers, strict=True):
        if number is None and places[seen.fingerprint][-1][0] > furthest:
            return NoCopyEnd.ALIKE  # it may be the copy of a record further on
    if not _follows(furthest, numbers):
        return NoCopyEnd.UNSURE
    offsets = {place[0]: place[1] for found in places.values() for place in found}
    return CopyEnd(next_offset=offsets[furthest] + 1, found=len(known), unknown=len(tail) - len(known))


def _follows(furthest: int, numbers: Sequence[int | None]) -> bool:
    """Whether the copy of the record before the furthest one lies before one of that; the source's first has none."""
    if furthest == 0:
        return True
    known = [number for number in numbers if number is not None]
    return any(after == furthest and before == furthest - 1 for before, after in pairwise(known))


def _numbers(known: Sequence[bytes], places: Mapping[bytes, Sequence[tuple[int, int]]]) -> list[int | None]:
    """Which record of the source each one is a copy of: the only one, or the one next to its neighbour's."""
    numbers = [places[told][0][0] if len(places[told]) == 1 else None for told in known]
    told_by_number = {place[0]: told for told, found in places.items() for place in found}
    for step, order in ((1, range(len(known))), (-1, range(len(known) - 1, -1, -1))):
        for at in order:
            beside = numbers[at - step] if 0 <= at - step < len(known) else None
            if numbers[at] is None and beside is not None and told_by_number.get(beside + step) == known[at]:
                numbers[at] = beside + step
    return numbers
