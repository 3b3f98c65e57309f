"""The oracle finds what is planted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from airflow_provider_mm2.mirror.model import TopicPartition
from tests.chaos.oracle import Tally, compare, compare_positions
from tests.proof.eyes import Record

PART = TopicPartition("orders", 0)
ALL = [Record(b"%d" % number, b"v", (), 0) for number in range(6)]
FOREIGN = Record(b"x", b"v", (), 0)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (ALL, Tally(seen=6)),
        (ALL[:4], Tally(seen=6, lost=2)),
        (ALL[1:], Tally(seen=6, lost=1)),
        ([*ALL, ALL[2]], Tally(seen=6, repeated=1)),
        ([*ALL, FOREIGN], Tally(seen=6, foreign=1)),
        ([ALL[1], ALL[0], *ALL[2:]], Tally(seen=6, reordered=1)),
        ([ALL[0]._replace(value=None), *ALL[1:]], Tally(seen=6, lost=1, foreign=1)),
        ([], Tally(seen=6, lost=6)),
    ],
)
def test_records(found: Sequence[Record], told: Tally) -> None:
    """Each kind of fault is counted as what it is."""
    tally = compare(found, ALL)
    assert tally == told
    assert tally.clean == (found == ALL)


@pytest.mark.parametrize(
    ("position", "translated", "told"),
    [
        (14, 103, Tally(positions=1)),  # 10, 11, 13 are behind it, so are 100, 101, 102
        (12, 102, Tally(positions=1)),  # in a gap
        (13, 101, Tally(positions=1, repeated=1)),
        (11, 104, Tally(positions=1, skipped=2)),
        (30, 104, Tally(positions=1)),  # ahead of what is mirrored: at its end
        (14, None, Tally(positions=1, repeated=3)),
        (10, None, Tally(positions=1)),
    ],
)
def test_positions(position: int, translated: int | None, told: Tally) -> None:
    """A group that would skip or repeat is told with the number of records."""
    moved = {} if translated is None else {PART: translated}
    assert compare_positions({PART: position}, moved, {PART: [10, 11, 13, 15, 17]}, {PART: [100, 101, 102]}) == told


def test_added_up() -> None:
    """Tallies are summed by what they count, and say so."""
    total = Tally(seen=1)
    total.add(Tally(seen=2, lost=3, skipped=1))
    assert str(total) == "3 seen, 0 positions, 3 lost, 0 repeated, 1 skipped, 0 foreign, 0 reordered"
