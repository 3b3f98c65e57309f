"""What became of numbered records: which were lost, and which a group read twice, never, or out of order. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.model import TopicPartition

Numbers = Mapping[TopicPartition, Sequence[int]]
"""Numbers of records by the partition of the source that they were written to, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTally:
    """What one group made of the records.

    :param lost: acknowledged records that it never read and that are not on the target.
    :param repeated: how often it read a record that it had read before.
    :param skipped: records that are on the target and that it never read.
    :param reordered: records that came behind one with a higher number, read for the first time.
    """

    group: str
    read_before: int
    read_after: int
    lost: int
    repeated: int
    skipped: int
    reordered: int


def tally_group(group: str, written: Numbers, mirrored: Numbers, before: Numbers, after: Numbers) -> GroupTally:
    """Hold what a group read, before the cut and after it, against what was written and what is on the target."""
    lost = repeated = skipped = reordered = 0
    for part, numbers in written.items():
        there = set(mirrored.get(part, ()))
        read = [*before.get(part, ()), *after.get(part, ())]
        seen = set(read)
        lost += sum(1 for number in numbers if number not in there and number not in seen)
        skipped += sum(1 for number in numbers if number in there and number not in seen)
        repeated += sum(count - 1 for count in Counter(read).values())
        reordered += _out_of_order(read)
    return GroupTally(
        group=group,
        read_before=count(before),
        read_after=count(after),
        lost=lost,
        repeated=repeated,
        skipped=skipped,
        reordered=reordered,
    )


def missing(written: Numbers, mirrored: Numbers) -> dict[TopicPartition, list[int]]:
    """Numbers that were acknowledged and are not on the target."""
    found: dict[TopicPartition, list[int]] = {}
    for part, numbers in written.items():
        there = set(mirrored.get(part, ()))
        left = [number for number in numbers if number not in there]
        if left:
            found[part] = left
    return found


def count(numbers: Numbers) -> int:
    """How many."""
    return sum(map(len, numbers.values()))


def _out_of_order(read: Iterable[int]) -> int:
    highest, seen, found = -1, set[int](), 0
    for number in read:
        if number not in seen and number < highest:
            found += 1
        seen.add(number)
        highest = max(highest, number)
    return found
