"""A sample of a partition's mirrored range, and what it proves of the rest. Pure.

The range is cut into windows of ``WINDOW`` mapped records, which cover all of it. Of ``Y`` windows ``n`` different
ones are drawn at random and compared whole; ``k`` of them differ. If ``X`` of all windows differed, so few would be
seen with the probability

    P(X) = sum over i = 0..k of C(X, i) * C(Y - X, n - i) / C(Y, n)

which is the hypergeometric distribution, without any approximation. The largest X with P(X) > 5 % is the answer: with
95 % confidence at most X of Y windows differ. For several partitions each X is taken at 5 % divided by their number,
so that all of them hold at once with 95 % confidence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from random import Random
from typing import Any

from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.verify.scope import Part

WINDOW = 1_000
DOUBT = Fraction(5, 100)


def most_that_differ(windows: int, looked_at: int, differing: int, doubt: Fraction = DOUBT) -> int:
    """How many of all windows differ at most, but for the doubt.

    :param windows: how many there are; ``looked_at``: how many of them were drawn; ``differing``: of those.
    """
    low, high = differing, windows - looked_at + differing
    while low < high:
        middle = (low + high + 1) // 2
        if _is_likely(windows, looked_at, differing, middle, doubt):
            low = middle
        else:
            high = middle - 1
    return low


def _is_likely(windows: int, looked_at: int, differing: int, wrong: int, doubt: Fraction) -> bool:
    """Whether no more than ``differing`` are seen with a probability above the doubt, if ``wrong`` differ."""
    ways = sum(comb(wrong, seen) * comb(windows - wrong, looked_at - seen) for seen in range(differing + 1))
    return ways * doubt.denominator > comb(windows, looked_at) * doubt.numerator


@dataclass(frozen=True, slots=True)
class Sample:
    """The windows of one partition that are compared, in order, and how many there are."""

    parts: Sequence[Part]
    windows: int
    records: int


def draw(part: Part, offset_map: OffsetMap, count: int, seed: int) -> Sample:
    """Windows at random places of a partition; all of them where no more are there."""
    first, last = (offset_map.records_before(end) for end in (part.target_start, part.target_end))
    windows = -(-(last - first) // WINDOW)
    dice = Random(f"{seed} {part.source}")  # noqa: S311 - a sample, not a secret
    chosen = sorted(dice.sample(range(windows), min(count, windows)))
    cuts = [_cut(part, offset_map, first, number, windows) for number in chosen]
    ends = [_cut(part, offset_map, first, number + 1, windows) for number in chosen]
    parts = [
        replace(part, start=start[0], target_start=start[1], end=end[0], target_end=end[1])
        for start, end in zip(cuts, ends, strict=True)
    ]
    return Sample(parts, windows, last - first)


def _cut(part: Part, offset_map: OffsetMap, first: int, number: int, windows: int) -> tuple[int, int]:
    """Where a window begins, on source and target; the first and the last one reach to the range's ends."""
    if number == 0:
        return part.start, part.target_start
    if number == windows:
        return part.end, part.target_end
    record = first + number * WINDOW
    index = bisect_right(offset_map.before, record) - 1
    beyond = record - offset_map.before[index]
    return offset_map.source_starts[index] + beyond, offset_map.target_starts[index] + beyond


def judged(seed: int, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the samples of all partitions prove together.

    :param rows: of each partition ``topic``, ``partition``, ``windows`` (compared), ``of_windows``, ``records`` (of the
        whole range) and ``differing``.
    """
    unsure = sum(row["windows"] < row["of_windows"] for row in rows)
    told = [{**row, "at_most": _at_most(row, DOUBT / max(1, unsure))} for row in rows]
    windows, at_most = sum(row["of_windows"] for row in told), sum(row["at_most"] for row in told)
    records = sum(row["records"] for row in told)
    most_records = sum(min(row["records"], row["at_most"] * WINDOW) for row in told)
    return {
        "seed": seed,
        "window_records": WINDOW,
        "windows": sum(row["windows"] for row in told),
        "of_windows": windows,
        "differing": sum(row["differing"] for row in told),
        "confidence": float(1 - DOUBT),
        "at_most": at_most,
        "statement": (
            f"with 95 % confidence at most {at_most:,} of {windows:,} windows differ, "
            f"which have {most_records:,} of {records:,} records"
        ),
        "partitions": told,
    }


def _at_most(row: dict[str, Any], doubt: Fraction) -> int:
    return most_that_differ(row["of_windows"], row["windows"], row["differing"], doubt)
