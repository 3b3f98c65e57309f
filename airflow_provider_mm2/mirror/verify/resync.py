"""Where two rows of records go on alike after they differed, and what became of those in between. Pure.

Records are told by all that they say, never by a hash that would have to be trusted. What is alike is looked for by
``RUN`` records in a row: one alone may occur again, as heartbeats do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from itertools import islice

from airflow_provider_mm2.mirror.model import Row

RUN = 8
ALIGNED = 2_000
"""Longest row that is aligned record by record: what that takes grows with the square of records that are alike."""

NEAR = 20
"""Records among which the changed copy of one is looked for."""


class Difference(Enum):
    """What became of a record between two places where both sides are alike."""

    CHANGED = "changed"
    REORDERED = "reordered"
    ONLY_HERE = "only here"
    ONLY_THERE = "only there"


@dataclass(frozen=True, slots=True)
class Found:
    """One difference; ``here`` and ``there`` are places in the two rows, None where the record is not."""

    difference: Difference
    here: int | None = None
    there: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The next records of one side, as far as they are looked at; ``whole``: behind them nothing comes."""

    rows: Sequence[Row]
    whole: bool


def find_alike(here: Stretch, there: Stretch, run: int = RUN) -> tuple[int, int] | None:
    """How many records of each side come before the nearest place from which both are alike again.

    Where both are whole there is always such a place: their end. Where one is, fewer records in a row are believed,
    since it may have no more.
    """
    left, right = _numbered(here.rows, there.rows)
    if here.whole and there.whole:
        ends = range(-1, -1 - run, -1)  # numbers of their own: both end alike
        return _nearest([*left, *ends], [*right, *ends], run)
    runs = [run]
    while (here.whole or there.whole) and runs[-1] > 1:
        runs.append(runs[-1] // 2)
    return next((found for each in runs if (found := _nearest(left, right, each)) is not None), None)


def _numbered(here: Sequence[Row], there: Sequence[Row]) -> tuple[list[int], list[int]]:
    """Equal records as equal numbers."""
    numbers: dict[Row, int] = {}
    left = [numbers.setdefault(row, len(numbers)) for row in here]
    return left, [numbers.setdefault(row, len(numbers)) for row in there]


def _nearest(left: list[int], right: list[int], run: int) -> tuple[int, int] | None:
    first = {tuple(right[place : place + run]): place for place in range(len(right) - run, -1, -1)}
    best: tuple[int, int] | None = None
    for place in range(len(left) - run + 1):
        if best is not None and place >= sum(best):
            break
        other = first.get(tuple(left[place : place + run]))
        if other is not None and (best is None or place + other < sum(best)):
            best = place, other
    return best


def tell_apart(here: Sequence[Row], there: Sequence[Row], *, by_place: bool = False) -> list[Found]:
    """What became of the records of two rows that differ, in the order of the first, then of the second.

    :param by_place: both are as long, and a record belongs to the one at its place, unless that one is elsewhere.
    """
    if by_place:
        left = [place for place, row in enumerate(here) if row != there[place]]
        blocks = [(left, left)]
    else:
        blocks = _blocks(here, there)
    moved = _moved(here, there, blocks)
    found = [Found(Difference.REORDERED, *pair) for pair in moved]
    taken_here, taken_there = {pair[0] for pair in moved}, {pair[1] for pair in moved}
    for ours, theirs in blocks:
        ours = [place for place in ours if place not in taken_here]
        theirs = [place for place in theirs if place not in taken_there]
        found += _changed(here, there, ours, theirs, by_place=by_place)
    return sorted(found, key=lambda each: (each.here is None, each.here if each.here is not None else each.there or 0))


def _blocks(here: Sequence[Row], there: Sequence[Row]) -> list[tuple[list[int], list[int]]]:
    """Places of both sides that lie between records that are alike."""
    if not here or not there or max(len(here), len(there)) > ALIGNED:
        return [(list(range(len(here))), list(range(len(there))))]
    left, right = _numbered(here, there)
    codes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [(list(range(i, j)), list(range(k, m))) for kind, i, j, k, m in codes if kind != "equal"]


def _moved(
    here: Sequence[Row], there: Sequence[Row], blocks: Sequence[tuple[list[int], list[int]]]
) -> list[tuple[int, int]]:
    """Records that are on both sides, at another place among the others."""
    elsewhere: dict[Row, deque[int]] = {}
    for _, theirs in blocks:
        for place in theirs:
            elsewhere.setdefault(there[place], deque()).append(place)
    pairs: list[tuple[int, int]] = []
    for ours, _ in blocks:
        for place in ours:
            places = elsewhere.get(here[place])
            if places:
                pairs.append((place, places.popleft()))
    return pairs


def _changed(
    here: Sequence[Row], there: Sequence[Row], ours: Sequence[int], theirs: Sequence[int], *, by_place: bool
) -> list[Found]:
    """Records of one block in pairs, as far as two can be the same one, and the rest by themselves."""
    if by_place:
        rest = set(theirs)
        pairs = [Found(Difference.CHANGED, place, place) for place in ours if place in rest]
        alone = [Found(Difference.ONLY_HERE, here=place) for place in ours if place not in rest]
        return pairs + alone + [Found(Difference.ONLY_THERE, there=place) for place in rest - set(ours)]
    found: list[Found] = []
    left = deque(theirs)
    for place in ours:
        others = enumerate(islice(left, NEAR))
        number = next((number for number, other in others if _may_be_one(here[place], there[other])), None)
        if number is None and len(ours) == len(theirs) == 1 and here[place][0] == there[left[0]][0] is not None:
            number = 0
        if number is None:
            found.append(Found(Difference.ONLY_HERE, here=place))
            continue
        found += [Found(Difference.ONLY_THERE, there=left.popleft()) for _ in range(number)]
        found.append(Found(Difference.CHANGED, place, left.popleft()))
    return found + [Found(Difference.ONLY_THERE, there=place) for place in left]


def _may_be_one(here: Row, there: Row) -> bool:
    """Whether one record may be the other one, changed: its time or its value is the same."""
    return here[2] == there[2] or (bool(here[1]) and here[1] == there[1])
