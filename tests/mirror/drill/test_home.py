"""What came home, judged by numbers and offsets."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.drill.home import judge_home
from airflow_provider_mm2.mirror.model import TopicPartition

A = TopicPartition("a", 0)


@pytest.mark.parametrize(
    ("home", "read", "stand", "found"),
    [
        ([(7, 1), (8, 2), (9, 3)], [1, 2], 9, (0, 0)),
        ([(7, 1), (8, 2), (9, 3)], [], 2, (0, 0)),
        ([(7, 1), (8, 2), (9, 3)], [1, 2, 3], 10, (0, 0)),
        ([(7, 1), (8, 2), (9, 3)], [1, 2], 8, (0, 1)),
        ([(7, 1), (8, 2), (9, 3)], [1, 2], 10, (0, 1)),
        ([(7, 1), (8, 2), (9, 3)], [1, 2], None, (0, 1)),
        ([(7, 1), (8, 2)], [1, 2], 9, (1, 0)),
        ([(7, 1), (8, 2), (9, 3), (10, 3)], [1, 2, 3], 11, (1, 0)),
        ([(7, 1), (8, 3), (9, 2)], [1, 2, 3], 10, (1, 0)),
    ],
)
def test_one_partition(home: list[tuple[int, int]], read: list[int], stand: int | None, found: tuple[int, int]) -> None:
    """Every record once and in order, and each group where it goes on; what is wrong is told."""
    places = {} if stand is None else {A: stand}
    judged = judge_home({A: [1, 2, 3]}, {A: home}, {"app": {A: read}}, {"app": places})
    assert (judged.records, judged.positions) == (3, 1)
    assert (judged.records_wrong, judged.positions_wrong) == found
    assert len(judged.told) == sum(found)
