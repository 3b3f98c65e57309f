"""Numbered records: what was lost, repeated, skipped, reordered."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.drill.tally import GroupTally, missing, tally_group
from airflow_provider_mm2.mirror.model import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("a", 1)


@pytest.mark.parametrize(
    ("mirrored", "before", "after", "found"),
    [
        ([1, 2, 3, 4], [1, 2], [3, 4], (0, 0, 0, 0)),
        ([1, 2, 3], [1, 2], [3], (1, 0, 0, 0)),
        ([1, 2, 3], [1, 2, 3, 4], [], (0, 0, 0, 0)),
        ([1, 2, 3, 4], [1, 2], [2, 3, 4], (0, 1, 0, 0)),
        ([1, 2, 3, 4], [1, 2], [4], (0, 0, 1, 0)),
        ([1, 2, 3, 4], [1, 2], [4, 3], (0, 0, 0, 1)),
        ([1, 2, 3, 4], [], [1, 2, 3, 4, 1, 2, 3, 4], (0, 4, 0, 0)),
        ([], [], [], (4, 0, 0, 0)),
    ],
)
def test_one_group(mirrored: list[int], before: list[int], after: list[int], found: tuple[int, int, int, int]) -> None:
    """What is read again is not out of order as well; what was read before it was lost is not lost to the group."""
    written = {A: [1, 2, 3, 4], B: [1]}
    both = {A: mirrored, B: [1]}
    tally = tally_group("app", written, both, {A: before, B: [1]}, {A: after})
    assert (tally.lost, tally.repeated, tally.skipped, tally.reordered) == found
    assert (tally.group, tally.read_before, tally.read_after) == ("app", len(before) + 1, len(after))
    assert isinstance(tally, GroupTally)


def test_what_is_missing() -> None:
    """By partition, in order; partitions without a loss are not named."""
    assert missing({A: [1, 2, 3], B: [1]}, {A: [2], B: [1]}) == {A: [1, 3]}
